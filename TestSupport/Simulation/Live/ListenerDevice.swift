import ClusterContract
import Contract

@testable import WhisperClient

/// A device that listens: the client core's machines, driven like in the client core's engine (`HeardStreams.swift`).
final class ListenerDevice: LiveDevice {
    let conversation: SharedConversation
    /// Claims to know the stream and to have no line of it: no listener may get more by that.
    let isCurious: Bool
    /// The user wants to listen.
    private(set) var isListening = false
    private var course = ListeningMachine(isAdmitted: false)
    private(set) var ears: ListenerMachine
    private var keys: PacketKeys
    private var generation = 0
    private var lastContent: UUIDText?
    private var isAsking = false
    /// Answers to questions up to this one belong to an earlier visit.
    private var askedBefore = 0
    /// The newest generation that `live_joined` named on this connection.
    private var joinedGeneration: Int?

    init(_ person: Identities.Person, of conversation: SharedConversation, isCurious: Bool, in world: World) {
        self.conversation = conversation
        self.isCurious = isCurious
        self.ears = ListenerMachine(listener: .identity(person.identity))
        self.keys = PacketKeys(conversation: conversation.id, publicKeys: conversation.own.keys.publicKeys)
        super.init(person, in: world)
    }

    private var record: LiveRecord { self.world.scene!.record }
    private var mutation: Mutation? { self.world.mutation }

    var hasJoined: Bool { self.course.state == .joined }

    // MARK: What its user does

    /// Without a conversation there is no link.
    func listen() {
        guard !self.isListening, self.conversation.isCreated else { return }
        self.world.trace("\(self.person.name) wants to listen")
        self.isListening = true
        (self.askedBefore, self.isAsking) = (self.questions, false)
        self.course = ListeningMachine(isAdmitted: self.generation > 0)
        if self.isOnline, let step = self.course.connected() { self.ask(step) }
    }

    /// Leaves the conversation. An admitted listener may rejoin without a knock.
    func leave() {
        guard self.isListening else { return }
        self.world.trace("\(self.person.name) leaves")
        self.isListening = false
        self.ears.disconnected()
        guard self.isOnline else { return }
        self.ask(LiveLeave(self.conversation.id)) { _ in }
    }

    /// The app dies, and loses its text and lines.
    func loseMemory() {
        self.world.trace("\(self.person.name) loses its memory")
        self.ears = ListenerMachine(listener: self.id)
        self.record.forgets(self)
        self.hangUp(rest: .milliseconds(300))
    }

    // MARK: Asking

    override func bound() {
        self.joinedGeneration = nil
        self.isAsking = false
        self.course.disconnected()
        self.ears.disconnected()
        guard self.isListening, let step = self.course.connected() else { return }
        self.ask(step)
    }

    override func disconnected() {
        self.joinedGeneration = nil
        self.isAsking = false
        self.course.disconnected()
        self.ears.disconnected()
    }

    private func ask(_ step: ListeningMachine.Step) {
        guard self.isListening, self.isOnline, !self.isAsking, self.course.state == .asking(step) else { return }
        self.isAsking = true
        let visit = self.askedBefore
        let answered: (Answer) -> Void = { [unowned self] answer in
            guard visit == self.askedBefore else { return }
            self.isAsking = false
            switch answer {
            case .lost: break
            case .frame:
                // The answer may have started the next step.
                if case .asking(let next) = self.course.state { self.ask(next) }
            case .refused(let code, let pause):
                guard let next = self.course.failed(step, code, retryAfter: .nanoseconds(pause), at: .now) else {
                    // The listener may be admitted meanwhile. The engine takes the next step by itself.
                    if case .asking(let queued) = self.course.state { return self.ask(queued) }
                    return self.isOver()
                }
                self.after(max(next.after.nanoseconds, .milliseconds(1))) { [unowned self] in self.ask(next.0) }
            }
        }
        switch step {
        case .join:
            self.record.joins(self)
            self.ask(LiveJoin(self.conversation.id, after: self.joining()), answered)
        case .knock:
            let (now, link) = (Timestamp.now, self.conversation.own.link)
            let note = KnockNote(
                name: self.person.name, passcode: nil, note: nil, by: self.id, on: self.conversation.id, at: now,
                link: link)
            // Our own keys are not weak.
            let knock = try! note.sealed(
                for: self.conversation.id, keys: self.conversation.own.keys.publicKeys, from: self.id, at: now,
                signer: self.pair)
            self.ask(
                LiveKnock(self.conversation.id, link: link, keys: self.pair.publicKeys, knock: knock), answered)
        }
    }

    private func joining() -> ListenerMachine.After? {
        guard self.isCurious else { return self.ears.joining() }
        let content = self.lastContent
        self.ears = ListenerMachine(listener: self.id)
        self.record.forgets(self)
        return content.map { .init(content: $0, position: LivePosition(epoch: 1, seq: 0), line: 0) }
    }

    /// The listener was removed, or never admitted.
    private func isOver() {
        guard case .over(let end) = self.course.state else { return }
        self.world.trace("\(self.person.name) listens no longer: \(end)")
        self.isListening = false
        self.generation = 0
        self.ears = ListenerMachine(listener: self.id)
        self.record.forgets(self)
        switch end {
        case .refused: break
        default: self.world.record.fault("\(self.person.name) is sent away: \(end)")
        }
    }

    // MARK: Hearing

    override func take(_ frame: any ServerFrame) {
        switch frame {
        case is LiveWaiting: _ = self.course.waiting(at: .now)
        case let admitted as LiveAdmitted:
            guard self.takeKey(admitted.grant, generation: admitted.generation) else { return }
            if let step = self.course.admitted() { self.ask(step) }
        case let refused as LiveRefused:
            self.course.refused(refused.reason)
            self.isOver()
        case let joined as LiveJoined: self.take(joined)
        case let state as LiveState: self.take(state)
        case let packet as LivePacket: self.take(packet)
        default: break
        }
    }

    private func takeKey(_ grant: LiveSigned, generation: Int) -> Bool {
        guard generation >= self.generation,
            let bytes = grant.opened(
                as: .grant(to: self.id), of: self.conversation.id,
                signedBy: self.conversation.own.keys.publicKeys, reader: self.pair),
            let key = GrantNote.contentKey(bytes, generation: generation)
        else { return false }
        self.keys.add(key)
        self.generation = generation
        self.perform(self.ears.keyArrived(generation: generation, at: .now))
        return true
    }

    private func take(_ joined: LiveJoined) {
        guard self.answered.map({ $0 > self.askedBefore }) ?? true else { return }
        if let grant = joined.grant, let signed = grant.signed {
            _ = self.takeKey(signed, generation: grant.generation)
        }
        guard self.isListening else { return }
        _ = self.course.joined()
        self.joinedGeneration = max(self.joinedGeneration ?? 0, joined.generation)
        self.lastContent = joined.content ?? self.lastContent
        self.world.trace("\(self.person.name) has joined, line \(joined.line.map { "\($0)" } ?? "unknown")")
        let state: ListenerMachine.Stream.State =
            switch joined.state {
            case .idle: .idle
            case .live: .live
            case .paused: .paused
            }
        let stream = ListenerMachine.Stream(state, content: joined.content, epoch: self.seen(joined.epoch))
        self.perform(self.ears.joined(stream, seq: joined.seq, line: joined.line ?? 0, at: .now))
        self.record.joined(self)
        if self.mutation == .keepsOlderGeneration, let old = self.record.snapshot(olderThan: joined.generation) {
            self.take(old)
        }
    }

    private func take(_ changed: LiveState) {
        self.lastContent = changed.content ?? self.lastContent
        let state: ListenerMachine.Stream.State =
            switch changed.state {
            case .live: .live
            case .paused: .paused
            case .ended: .ended
            }
        let stream = ListenerMachine.Stream(state, content: changed.content, epoch: self.seen(changed.epoch))
        self.perform(self.ears.changed(stream, at: .now))
    }

    private func take(_ packet: LivePacket) {
        self.record.gets(packet, self, joinedGeneration: self.joinedGeneration)
        guard let content = self.ears.content else { return }
        let opened = self.keys.open(
            SealedBytes(nonce: packet.nonce, ciphertext: packet.ciphertext), as: packet.header, content: content)
        if case .content = opened { self.record.reads(packet.header, self) }
        var header = packet.header
        header.position.epoch = self.seen(header.position.epoch)
        if self.mutation == .addressedMovesPosition, header.to != nil {
            header.to = nil
            header.position.seq += 1
        }
        self.perform(self.ears.received(header, opened, at: .now))
    }

    /// The epoch as seen by a listener that does not compare epochs.
    private func seen(_ epoch: Int64) -> Int64 { self.mutation == .comparesNoEpochs ? min(epoch, 1) : epoch }

    override func refused(_ request: String, _ code: ErrorCode, retryAfter: Duration?) {
        self.ears.refused(retryAfter: retryAfter, at: .now)
    }

    override func pump() -> ContinuousClock.Instant? {
        self.perform(self.ears.timerFired(at: .now))
        if self.isListening, let step = self.course.timerFired(at: .now) { self.ask(step) }
        return [self.ears.nextWake, self.course.nextWake].compactMap { $0 }.min()
    }

    private func perform(_ actions: [ListenerMachine.Action]) {
        for action in actions {
            switch action {
            case .resync(let position, let line):
                self.world.trace(
                    "\(self.person.name) asks for what is behind \(position.epoch)-\(position.seq), line \(line)")
                self.write(LiveResync(self.conversation.id, behind: position, line: line), request: "resync")
            case .join:
                guard let step = self.course.keyIsMissing() else { continue }
                self.world.trace("\(self.person.name) misses a key")
                self.ask(step)
            case .began, .text, .line, .missing, .cue: self.record.shows(action, self)
            }
        }
        self.record.compares(self)
    }

    /// The position of the last packet that is part of the text.
    var position: LivePosition? {
        var ears = self.ears
        return ears.joining()?.position
    }
}
