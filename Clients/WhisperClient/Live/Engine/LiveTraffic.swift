import Contract

/// Connects live conversations and rooms to the client's connection.
extension WhisperClient: LiveHost {
    /// Gives a frame to the feature that it concerns, and then to the caller that waits for it.
    func take(live frame: (any ServerFrame)?, answering number: UInt64?) {
        let isTaken = self.heard.take(frame, answering: number, self) || self.streams.take(frame, self)
        if !isTaken { self.rooms.take(frame, answering: number, self) }
        if let number { self.questions.answered(number, .success(frame)) }
    }

    func liveRefused(_ tag: RequestTag?, _ code: ErrorCode?, retryAfter: Duration?) {
        switch tag {
        case .question(let number):
            self.questions.answered(number, .failure(.refused(code, retryAfter: retryAfter)))
        case .packet(let id, let position):
            self.streams.refused(position, of: id, code, retryAfter: retryAfter, self)
        case .room(let id): self.rooms.signalRefused(in: id, code)
        case .resync(let id): self.heard.resyncRefused(of: id, retryAfter: retryAfter)
        default: break
        }
    }

    func liveBound() {
        self.streams.bound(self)
        self.heard.bound(self)
        self.rooms.bound(self)
    }

    func liveDisconnected() {
        self.questions.fail()
        self.streams.disconnected()
        self.heard.disconnected()
        self.rooms.disconnected()
    }

    var liveWake: ContinuousClock.Instant? {
        guard self.session.isBound else { return nil }
        return [self.streams.nextWake, self.heard.nextWake, self.rooms.nextWake].compactMap { $0 }.min()
    }

    func liveTick() {
        self.heard.tick(self)
        self.rooms.tick(self)
    }
}
