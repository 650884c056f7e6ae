import Contract
import TestKit

@testable import WhisperClient

/// The server's volatile state, in memory: logout, leaving, push tokens, typing, presence.
extension FakeServer {
    private static let noted: Set<String> = [
        "logout", "update_tokens", "typing", "report", "get_turn_credentials", "live_join", "live_leave",
        "group_send_message", "account_delete_begin", "account_delete",
    ]

    func note(_ text: [UInt8]) {
        guard let frame = try? JSON(parsing: text), let type = frame["type"]?.string, let payload = frame["payload"],
            Self.noted.contains(type) || type.hasPrefix("call_")
        else { return }
        self.state.withLock { $0.frames[type, default: []].append(payload) }
    }

    /// Payloads of a type, as they came.
    func frames(_ type: String) -> [JSON] { self.state.withLock { $0.frames[type] ?? [] } }

    /// The next frame of the type is refused.
    func refuseNext(_ type: String, _ code: String) { self.state.withLock { $0.signalRefusals[type] = code } }

    func tell(_ type: String, _ payload: String, to id: String) {
        self.state.withLock { $0.links[id] }?.answer(type, payload)
    }

    func takeSignal(_ frame: Frame, of id: String, from link: Link) {
        let refusal = self.state.withLock { $0.signalRefusals.removeValue(forKey: frame.type) }
        if let refusal {
            return link.answer("error", #"{"code":"\#(refusal)","message":"no"}"#, frame.requestId)
        }
        switch frame.type {
        case "logout":
            self.state.withLock { $0.tokens[frame.payload.sessionToken ?? ""] = nil }
            link.answer("logout_ack", #"{"success":true}"#, frame.requestId)
            link.end(1000, "")
        case "account_delete_begin":
            let challenge = base64(self.state.withLock { $0.faults.erasureChallenge })
            link.answer(
                "account_delete_challenge",
                #"{"challengeId":"\#(UUIDText.random())","challenge":"\#(challenge)","expiresAt":1730000300000}"#,
                frame.requestId)
        case "account_delete":
            self.state.withLock { $0.tokens[frame.payload.sessionToken ?? ""] = nil }
            link.answer(
                "account_deleted", #"{"success":true,"erasureId":"\#(UUIDText.random())"}"#, frame.requestId)
            link.end(1000, "")
        case "update_tokens": link.answer("tokens_updated", #"{"success":true}"#, frame.requestId)
        case "typing":
            guard let payload = self.frames("typing").last, let to = payload["to"]?.string,
                let isTyping = payload["isTyping"]
            else { return }
            self.tell(
                "typing_notification", #"{"from":"\#(id)","isTyping":\#(isTyping.text),"timestamp":1730000000000}"#,
                to: to)
        case "call_initiate":
            self.relay(frame, as: "call_incoming")
            if let call = self.frames("call_initiate").last, let id = call["callId"]?.string {
                link.answer(
                    "call_ringing",
                    #"{"callId":"\#(id)","from":"\#(frame.payload.to!)","timestamp":1730000000000}"#, frame.requestId)
            }
        case "call_answer", "call_ice_candidate", "call_end": self.relay(frame, as: frame.type)
        case "report":
            link.answer("report_ack", #"{"reportId":"\#(UUIDText.random())"}"#, frame.requestId)
        case "get_turn_credentials":
            link.answer(
                "turn_credentials",
                #"{"urls":["turn:x"],"username":"u","credential":"AAECAwQFBgcICQoLDA0ODxAREhM=","ttl":43200}"#,
                frame.requestId)
        default: break
        }
    }

    private func relay(_ frame: Frame, as type: String) {
        guard var members = self.frames(frame.type).last?.members else { return }
        for name in ["sessionToken", "protocolVersion", "cryptoVersion"] { members[name] = nil }
        self.tell(type, JSON.object(members).text, to: frame.payload.to!)
    }
}
