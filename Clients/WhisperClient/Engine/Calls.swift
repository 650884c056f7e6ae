package import Contract

/// What an application is told of a call.
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
        self.send(CallFrames.Initiate.self, offer, of: id, to: contact, isVideo: isVideo)
        self.offers[id] = offer
        self.rearm()
        return id
    }

    package func answer(_ id: UUIDText, _ answer: String) throws(CallError) {
        let contact = try self.partner(of: id)
        do throws(PeerCalls.Refusal) { try self.calls.answer(id, at: .now) } catch { throw .refused(error) }
        self.send(CallFrames.Answer.self, answer, of: id, to: contact)
        self.rearm()
    }

    package func tell(candidate: String, of id: UUIDText) throws(CallError) {
        let contact = try self.partner(of: id)
        do throws(PeerCalls.Refusal) { try self.calls.tellCandidate(of: id) } catch { throw .refused(error) }
        self.send(CallFrames.Candidate.self, candidate, of: id, to: contact)
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
            guard call.to == self.id, let contact = try self.store.contact(call.from), !contact.isBlocked,
                !contact.isStranger
            else { return nil }
            guard call.timestamp.isWithinSkew(of: self.serverNow),
                let text = SealedCall.open(call, writer: contact.keys, keys: self.keys)
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

    /// Whoever has not rung yet may not have been called: the connection may have lost it. The server takes it once.
    func callsBound() {
        for call in self.calls.all where call.isOurs && call.stage == .calling {
            guard let offer = self.offers[call.id], let contact = (try? self.store.contact(call.peer)) ?? nil else {
                continue
            }
            self.send(CallFrames.Initiate.self, offer, of: call.id, to: contact, isVideo: call.isVideo)
        }
    }

    /// What rings here rings again at the next connection, if it still rings.
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
                guard self.session.isBound, let contact = (try? self.store.contact(peer)) ?? nil else { continue }
                self.send(CallFrames.End.self, "", of: id, to: contact, reason: reason.rawValue)
            }
        }
    }

    private func send<Kind: CallFrames.Kind>(
        _ kind: Kind.Type, _ text: String, of id: UUIDText, to contact: Contact, isVideo: Bool? = nil,
        reason: String? = nil
    ) {
        guard let from = self.id, let token else { return }
        let sealed: SealedCall
        do throws(KeyError) {
            sealed = try SealedCall(
                text, type: Kind.type, callID: id, from: from, to: contact, timestamp: self.serverNow,
                nonce: Sodium.random(Limits.nonceBytes), keys: self.keys)
        } catch {
            return self.logger.warning("a frame of a call cannot be sealed for the keys of the contact")
        }
        self.write(
            CallFrame<Kind>(sealed, token: token.token, isVideo: isVideo, reason: reason),
            Kind.isDecisive ? .call(id) : .callSignal)
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
        guard let frame = try await self.inquire({ TurnQuestion(sessionToken: $0) }) as? TurnCredentialsFrame else {
            throw .noAnswer
        }
        self.turn = (frame, .now + .seconds(frame.ttl))
        return frame
    }
}

/// Kinds of frames of a call.
enum CallFrames {
    protocol Kind: Sendable {
        static var type: String { get }
        /// Whether the call is over if the server refuses it.
        static var isDecisive: Bool { get }
    }

    enum Initiate: Kind {
        static let type = "call_initiate"
        static let isDecisive = true
    }
    enum Answer: Kind {
        static let type = "call_answer"
        static let isDecisive = true
    }
    enum Candidate: Kind {
        static let type = "call_ice_candidate"
        static let isDecisive = false
    }
    enum End: Kind {
        static let type = "call_end"
        static let isDecisive = false
    }
}

struct CallFrame<Kind: CallFrames.Kind>: ClientPayload {
    static var type: String { Kind.type }
    var protocolVersion = Version.protocolVersion
    var cryptoVersion = Version.cryptoVersion
    var sessionToken: String
    var callId: String
    var from: String
    var to: String
    var timestamp: Int64
    var nonce: String
    var ciphertext: String
    var sig: String
    var isVideo: Bool?
    var reason: String?

    init(_ call: SealedCall, token: String, isVideo: Bool? = nil, reason: String? = nil) {
        self.sessionToken = token
        self.callId = call.callID
        self.from = call.from
        self.to = call.to
        self.timestamp = call.timestamp
        self.nonce = call.nonce
        self.ciphertext = call.ciphertext
        self.sig = call.signature
        self.isVideo = isVideo
        self.reason = reason
    }
}

struct TurnQuestion: ClientPayload {
    static let type = "get_turn_credentials"
    var protocolVersion = Version.protocolVersion
    var cryptoVersion = Version.cryptoVersion
    var sessionToken: String
}
