package import Contract

/// Events of a call.
package enum CallNews: Sendable, Equatable {
    /// - Parameter offer: for the host's WebRTC, as `answer` and `candidate` are.
    case incoming(UUIDText, from: WhisperID, isVideo: Bool, offer: String)
    case ringing(UUIDText)
    case answered(UUIDText, answer: String)
    case candidate(UUIDText, String)
    case ended(UUIDText, with: WhisperID, PeerCalls.EndReason)
}

/// Why a call was not made, or not changed.
package enum CallError: Error, Equatable {
    case refused(PeerCalls.Refusal)
    case send(SendError)
    case offline
}

/// Signalling of calls: signed, sealed, and decided by `PeerCalls`. The media are the host's.
extension WhisperClient {
    /// - Returns: the id of the call.
    package func call(_ peer: WhisperID, isVideo: Bool, offer: String) throws(CallError) -> UUIDText {
        let contact = try self.callable(peer)
        let id = UUIDText.random()
        do throws(PeerCalls.Refusal) {
            try self.calls.start(id, to: peer, isVideo: isVideo, at: .now)
        } catch {
            throw .refused(error)
        }
        self.send(CallInitiate.self, offer, of: id, to: contact, isVideo: isVideo)
        self.offers[id] = offer
        self.rearm()
        return id
    }

    package func answer(_ id: UUIDText, _ answer: String) throws(CallError) {
        let contact = try self.partner(of: id)
        do throws(PeerCalls.Refusal) { try self.calls.answer(id, at: .now) } catch { throw .refused(error) }
        self.send(CallAnswer.self, answer, of: id, to: contact)
        self.rearm()
    }

    package func tell(candidate: String, of id: UUIDText) throws(CallError) {
        let contact = try self.partner(of: id)
        do throws(PeerCalls.Refusal) { try self.calls.tellCandidate(of: id) } catch { throw .refused(error) }
        self.send(CallICECandidate.self, candidate, of: id, to: contact)
    }

    /// It is over here at once, with or without a connection.
    package func end(_ id: UUIDText, _ reason: PeerCalls.EndReason?) throws(CallError) {
        do throws(PeerCalls.Refusal) { self.perform(try self.calls.end(id, reason)) } catch { throw .refused(error) }
    }

    private func callable(_ peer: WhisperID) throws(CallError) -> Contact {
        guard peer != self.id else { throw .send(.toSelf) }
        guard self.session.isBound else { throw .offline }
        do throws(SendError) { return try self.writable(peer) } catch { throw .send(error) }
    }

    private func partner(of id: UUIDText) throws(CallError) -> Contact {
        guard let call = self.calls[id] else { throw .refused(.unknown) }
        return try self.callable(call.peer)
    }

    // MARK: From the server

    func take(call frame: (any ServerFrame)?) {
        switch frame {
        case let incoming as CallIncoming:
            let call = incoming.call
            guard let offer = self.opened(call) else { return }
            self.perform(
                self.calls.incoming(call.callID, from: call.from, isVideo: call.isVideo, at: .now), text: offer)
        case let ringing as CallRinging: self.perform(self.calls.ringsThere(ringing.callID, from: ringing.from))
        case let answered as CallAnswered:
            let call = answered.call
            guard let answer = self.opened(call) else { return }
            self.perform(self.calls.answered(call.callID, from: call.from, at: .now), text: answer)
        case let candidate as CallCandidate:
            let call = candidate.call
            guard let text = self.opened(call), self.calls.heardCandidate(of: call.callID, from: call.from) else {
                return
            }
            self.publish(.passing(.call(.candidate(call.callID, text))))
        case let ended as CallEnded:
            if let call = ended.call, self.opened(call) == nil { return }
            let reason = ended.reason.flatMap { PeerCalls.EndReason(rawValue: $0) } ?? .ended
            self.perform(self.calls.ended(ended.callID, from: ended.call?.from, reason))
        default: return
        }
        self.rearm()
    }

    /// Calls of strangers and of blocked people do not ring, nor does what was signed long ago: the server could repeat it.
    private func opened(_ call: SignedCall) -> String? {
        do {
            guard call.to == self.id, let contact = try self.store.contacts.contact(call.from), !contact.isBlocked,
                !contact.isStranger
            else { return nil }
            guard call.timestamp.isWithinSkew(of: self.serverNow),
                let text = call.opened(writer: contact.keys, keys: self.keys)
            else {
                self.logger.warning("a frame of a call is not trusted; it was dropped")
                return nil
            }
            return text
        } catch {
            self.storeFailed(error)
            return nil
        }
    }

    /// The server does not take the call, or the answer to one.
    func callRefused(_ id: UUIDText, _ code: ErrorCode?) {
        self.perform(self.calls.ended(id, from: nil, code == .forbidden ? .declined : .failed))
    }

    /// Repeats the offers of our calls that do not ring yet: the connection may have lost them. The server takes each
    /// once.
    func callsBound() {
        for call in self.calls.all where call.isOurs && call.stage == .calling {
            guard let offer = self.offers[call.id], let contact = (try? self.store.contacts.contact(call.peer)) ?? nil
            else {
                continue
            }
            self.send(CallInitiate.self, offer, of: call.id, to: contact, isVideo: call.isVideo)
        }
    }

    /// Ends our own calls and those in progress. A call that rings here rings again at the next connection, if it still
    /// rings.
    func endCalls() {
        for call in self.calls.all where call.isOurs || call.stage == .talking {
            self.perform((try? self.calls.end(call.id, nil)) ?? [])
        }
    }

    func callTick() { self.perform(self.calls.timerFired(at: .now)) }

    // MARK: Acting

    private func perform(_ actions: [PeerCalls.Action], text: String = "") {
        for action in actions {
            switch action {
            case .rings(let id):
                guard let call = self.calls[id] else { continue }
                self.publish(.passing(.call(.incoming(id, from: call.peer, isVideo: call.isVideo, offer: text))))
            case .ringsThere(let id):
                self.offers[id] = nil
                self.publish(.passing(.call(.ringing(id))))
            case .answered(let id):
                self.offers[id] = nil
                self.publish(.passing(.call(.answered(id, answer: text))))
            case .over(let id, let peer, let reason):
                self.offers[id] = nil
                self.publish(.passing(.call(.ended(id, with: peer, reason))))
            case .sendEnd(let id, let peer, let reason):
                guard self.session.isBound, let contact = (try? self.store.contacts.contact(peer)) ?? nil else {
                    continue
                }
                self.send(CallEnd.self, "", of: id, to: contact, reason: reason.rawValue)
            }
        }
    }

    private func send<Frame: SignedCallFrame>(
        _ kind: Frame.Type, _ text: String, of id: UUIDText, to contact: Contact, isVideo: Bool = false,
        reason: String? = nil
    ) {
        guard let from = self.id, self.token != nil else { return }
        let call: SignedCall
        do throws(KeyError) {
            call = try SignedCall(
                sealing: text, as: Frame.type, callID: id, from: from, to: contact, timestamp: self.serverNow,
                isVideo: isVideo, reason: reason, keys: self.keys)
        } catch {
            return self.logger.warning("a frame of a call cannot be sealed for the keys of the contact")
        }
        // The call is over if the server refuses one of these two.
        let isDecisive = kind is CallInitiate.Type || kind is CallAnswer.Type
        self.write(Frame(call), isDecisive ? .call(id) : .callSignal)
    }

    // MARK: Relays

    /// Relays for media, and credentials for them. They are asked for again when little is left of them.
    package func relays() async throws(InquiryError) -> TurnCredentialsFrame {
        if let known = self.turn, known.expiresAt - .now > ClientLimits.turnLeftMin {
            let frame = known.frame
            let left = Int64((known.expiresAt - .now).components.seconds)
            return TurnCredentialsFrame(
                urls: frame.urls, username: frame.username, credential: frame.credential, ttl: left)
        }
        guard let frame = try await self.inquire(GetTurnCredentials()) as? TurnCredentialsFrame else {
            throw .noAnswer
        }
        self.turn = (frame, .now + .seconds(frame.ttl))
        return frame
    }
}
