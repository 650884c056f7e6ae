package import Contract
import Logging

/// Events of a call.
package enum CallNews: Sendable, Equatable {
    /// - Parameter offer: for the host's WebRTC, as `answer` and `candidate` are.
    case incoming(UUIDText, from: WhisperID, isVideo: Bool, offer: String)
    case ringing(UUIDText)
    case answered(UUIDText, answer: String)
    case candidate(UUIDText, String)
    /// A call that rang here was answered here.
    case taken(UUIDText)
    case ended(UUIDText, with: WhisperID, PeerCalls.EndReason)
    /// It stands in the history of the chat with them.
    case noted(ChatNote, with: WhisperID)
}

/// Why a call was not made, or not changed.
package enum CallError: Error, Equatable {
    case refused(PeerCalls.Refusal)
    case send(SendError)
    case offline
}

/// Signalling of calls: signed, sealed, and decided by `PeerCalls`. The media are the application's.
package final class Calls {
    private let keys: IdentityKeys
    private let store: ClientStore
    private let logger: Logger
    private var calls = PeerCalls()
    /// Offers of calls that may have to be made again.
    private var offers: [UUIDText: String] = [:]
    private var ringing: Ringing?
    /// The relays that were asked for last.
    private var turn: (frame: TurnCredentialsFrame, expiresAt: ContinuousClock.Instant)?

    /// The offer and the network paths of the call that rings here, for a host that comes later.
    package struct Ringing: Sendable {
        fileprivate let id: UUIDText
        package let offer: String
        package fileprivate(set) var candidates: [String] = []
        private var bytes = 0

        fileprivate init(id: UUIDText, offer: String) { (self.id, self.offer) = (id, offer) }

        fileprivate mutating func heard(_ candidate: String) {
            self.bytes += candidate.utf8.count
            if self.bytes <= ClientLimits.candidateBytesKeptMax { self.candidates.append(candidate) }
        }
    }

    init(keys: IdentityKeys, store: ClientStore, logger: Logger) {
        self.keys = keys
        self.store = store
        self.logger = logger
    }

    var nextWake: ContinuousClock.Instant? { self.calls.nextWake }

    /// In the order of their ids.
    package var all: [PeerCall] { self.calls.all }

    package subscript(id: UUIDText) -> PeerCall? { self.calls[id] }

    package func ringing(_ call: PeerCall) -> Ringing? { self.ringing?.id == call.id ? self.ringing : nil }

    /// - Returns: the id of the call.
    package func start(
        _ peer: WhisperID, isVideo: Bool, offer: String, _ host: isolated some ServerHost
    ) throws(CallError) -> UUIDText {
        let contact = try self.callable(peer, host)
        let id = UUIDText.random()
        do throws(PeerCalls.Refusal) {
            try self.calls.start(id, to: peer, isVideo: isVideo, at: .now)
        } catch {
            throw .refused(error)
        }
        self.send(CallInitiate.self, offer, of: id, to: contact, isVideo: isVideo, host)
        self.offers[id] = offer
        host.rearm()
        return id
    }

    package func answer(_ id: UUIDText, _ answer: String, _ host: isolated some ServerHost) throws(CallError) {
        let contact = try self.partner(of: id, host)
        do throws(PeerCalls.Refusal) { try self.calls.answer(id, at: .now) } catch { throw .refused(error) }
        self.ringing = nil
        self.send(CallAnswer.self, answer, of: id, to: contact, host)
        host.publish(.passing(.call(.taken(id))))
        host.rearm()
    }

    package func tell(candidate: String, of id: UUIDText, _ host: isolated some ServerHost) throws(CallError) {
        let contact = try self.partner(of: id, host)
        do throws(PeerCalls.Refusal) { try self.calls.tellCandidate(of: id) } catch { throw .refused(error) }
        self.send(CallICECandidate.self, candidate, of: id, to: contact, host)
    }

    /// It is over here at once, with or without a connection.
    package func end(
        _ id: UUIDText, _ reason: PeerCalls.EndReason?, _ host: isolated some ServerHost
    ) throws(CallError) {
        do throws(PeerCalls.Refusal) { self.perform(try self.calls.end(id, reason), host) } catch {
            throw .refused(error)
        }
    }

    private func callable(_ peer: WhisperID, _ host: isolated some ServerHost) throws(CallError) -> Contact {
        guard peer != host.id else { throw .send(.toSelf) }
        guard host.isOnline else { throw .offline }
        do throws(SendError) { return try self.store.contacts.writable(peer) } catch { throw .send(error) }
    }

    private func partner(of id: UUIDText, _ host: isolated some ServerHost) throws(CallError) -> Contact {
        guard let call = self.calls[id] else { throw .refused(.unknown) }
        return try self.callable(call.peer, host)
    }

    // MARK: From the server

    func take(_ frame: (any ServerFrame)?, _ host: isolated some ServerHost) {
        switch frame {
        case let incoming as CallIncoming:
            let call = incoming.call
            guard let offer = self.opened(call, host) else { return }
            self.perform(
                self.calls.incoming(call.callID, from: call.from, isVideo: call.isVideo, at: .now), text: offer, host)
        case let ringing as CallRinging: self.perform(self.calls.ringsThere(ringing.callID, from: ringing.from), host)
        case let answered as CallAnswered:
            let call = answered.call
            guard let answer = self.opened(call, host) else { return }
            self.perform(self.calls.answered(call.callID, from: call.from, at: .now), text: answer, host)
        case let candidate as CallCandidate:
            let call = candidate.call
            guard let text = self.opened(call, host), self.calls.heardCandidate(of: call.callID, from: call.from) else {
                return
            }
            if let id = self.ringing?.id, id == self.calls[call.callID]?.id { self.ringing?.heard(text) }
            host.publish(.passing(.call(.candidate(call.callID, text))))
        case let ended as CallEnded:
            if let call = ended.call, self.opened(call, host) == nil { return }
            let reason = ended.reason.flatMap { PeerCalls.EndReason(rawValue: $0) } ?? .ended
            self.perform(self.calls.ended(ended.callID, from: ended.call?.from, reason), host)
        default: return
        }
        host.rearm()
    }

    /// Calls of strangers and of blocked people do not ring, nor does what was signed long ago: the server could repeat it.
    private func opened(_ call: SignedCall, _ host: isolated some ServerHost) -> String? {
        host.withStore { () -> String? in
            guard call.to == host.id, let contact = try self.store.contacts.contact(call.from), !contact.isBlocked,
                !contact.isStranger
            else { return nil }
            guard call.timestamp.isWithinSkew(of: host.serverNow),
                let text = call.opened(writer: contact.keys, keys: self.keys)
            else {
                self.logger.warning("a frame of a call is not trusted; it was dropped")
                return nil
            }
            return text
        } ?? nil
    }

    /// The server does not take the call, or the answer to one.
    func refused(_ id: UUIDText, _ code: ErrorCode?, _ host: isolated some ServerHost) {
        self.perform(self.calls.ended(id, from: nil, code == .forbidden ? .declined : .failed), host)
    }

    /// Repeats the offers of our calls that do not ring yet: the connection may have lost them. The server takes each
    /// once.
    func bound(_ host: isolated some ServerHost) {
        for call in self.calls.all where call.isOurs && call.stage == .calling {
            guard let offer = self.offers[call.id], let contact = (try? self.store.contacts.contact(call.peer)) ?? nil
            else {
                continue
            }
            self.send(CallInitiate.self, offer, of: call.id, to: contact, isVideo: call.isVideo, host)
        }
    }

    /// Ends our own calls and those in progress. A call that rings here rings again at the next connection, if it still
    /// rings.
    func endAll(_ host: isolated some ServerHost) {
        for call in self.calls.all where call.isOurs || call.stage == .talking {
            self.perform((try? self.calls.end(call.id, nil)) ?? [], host)
        }
    }

    /// Ends all calls with a person who was blocked or removed.
    package func endAll(with peer: WhisperID, _ host: isolated some ServerHost) {
        for call in self.calls.all where call.peer == peer {
            self.perform((try? self.calls.end(call.id, nil)) ?? [], host)
        }
    }

    func tick(_ host: isolated some ServerHost) { self.perform(self.calls.timerFired(at: .now), host) }

    // MARK: Acting

    private func perform(_ actions: [PeerCalls.Action], text: String = "", _ host: isolated some ServerHost) {
        for action in actions {
            switch action {
            case .rings(let id):
                guard let call = self.calls[id] else { continue }
                self.ringing = Ringing(id: call.id, offer: text)
                host.publish(.passing(.call(.incoming(id, from: call.peer, isVideo: call.isVideo, offer: text))))
            case .ringsThere(let id):
                self.offers[id] = nil
                host.publish(.passing(.call(.ringing(id))))
            case .answered(let id):
                self.offers[id] = nil
                host.publish(.passing(.call(.answered(id, answer: text))))
            case .over(let call, let reason):
                self.offers[call.id] = nil
                if self.ringing?.id == call.id { self.ringing = nil }
                host.publish(.passing(.call(.ended(call.id, with: call.peer, reason))))
                // The other call has its own note.
                if call.isCrossed { continue }
                self.note(CallNote(call, reason, at: .now), with: call.peer, isOurs: call.isOurs, host)
            case .missed(let peer, let isVideo):
                self.note(CallNote(isVideo: isVideo, outcome: .missed), with: peer, isOurs: false, host)
            case .sendEnd(let id, let peer, let reason):
                guard host.isOnline, let contact = (try? self.store.contacts.contact(peer)) ?? nil else {
                    continue
                }
                self.send(CallEnd.self, "", of: id, to: contact, reason: reason.rawValue, host)
            }
        }
    }

    private func note(_ call: CallNote, with peer: WhisperID, isOurs: Bool, _ host: isolated some ServerHost) {
        guard let own = host.id else { return }
        let noted = host.withStore { () -> ChatNote? in
            guard try self.store.contacts.contact(peer) != nil else { return nil }
            let (person, time) = (isOurs ? own : peer, host.serverNow)
            return try self.store.write {
                try ChatNoteTable.note(.call(call), by: person, at: time, in: .direct(peer), in: $0)
            }
        }
        if let noted = noted ?? nil { host.publish(.passing(.call(.noted(noted, with: peer)))) }
    }

    private func send<Frame: SignedCallFrame>(
        _ kind: Frame.Type, _ text: String, of id: UUIDText, to contact: Contact, isVideo: Bool = false,
        reason: String? = nil, _ host: isolated some ServerHost
    ) {
        guard let from = host.id, host.token != nil else { return }
        let call: SignedCall
        do throws(KeyError) {
            call = try SignedCall(
                sealing: text, as: Frame.type, callID: id, from: from, to: contact, timestamp: host.serverNow,
                isVideo: isVideo, reason: reason, keys: self.keys)
        } catch {
            return self.logger.warning("a frame of a call cannot be sealed for the keys of the contact")
        }
        // The call is over if the server refuses one of these two.
        let isDecisive = kind is CallInitiate.Type || kind is CallAnswer.Type
        host.write(Frame(call), isDecisive ? .call(id) : .callSignal)
    }

    // MARK: Relays

    /// Relays for media, and credentials for them. They are asked for again when little is left of them.
    package func relays(_ host: isolated some ServerHost) async throws(InquiryError) -> TurnCredentialsFrame {
        if let known = self.turn, known.expiresAt - .now > ClientLimits.turnLeftMin {
            let frame = known.frame
            let left = Int64((known.expiresAt - .now).components.seconds)
            return TurnCredentialsFrame(
                urls: frame.urls, username: frame.username, credential: frame.credential, ttl: left)
        }
        guard let frame = try await host.inquire(GetTurnCredentials()) as? TurnCredentialsFrame else {
            throw .noAnswer
        }
        self.turn = (frame, .now + .seconds(frame.ttl))
        return frame
    }
}
