package import ClusterContract
import Contract

extension AnswerAddress {
    /// Names a client's question in the log of each service that it passes. It travels in the question's Job and comes back with
    /// the answer. A message has its id for that, and a wake-up its own.
    package var trace: String { "\(self.node)-\(self.question)" }
}

extension ServiceRequest {
    /// The caller and the request, for the line of the service that has answered.
    package func facts(since start: ContinuousClock.Instant) -> Facts {
        var facts: Facts = [
            .trace: "\(self.answer.trace)", .connId: .number(self.connection.value), .frame: "\(self.frameType)",
            .latencyMs: .number((ContinuousClock.now - start).milliseconds),
        ]
        if let session {
            facts[.whisperId] = "\(session.caller.identity)"
            facts[.deviceId] = "\(session.device)"
        }
        return facts
    }

    private var frameType: String {
        switch self.body {
        case .frame(let type, _): type
        case .session: "session"
        case .guest: "guest"
        case .sessionUsed: "session_used"
        case .guestMoved: "guest_moved"
        }
    }
}
