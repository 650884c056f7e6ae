import Contract

extension ServerLink {
    /// Whether a server of Whisper answers: it takes a WebSocket, and says `pong` to a `ping`.
    package func answersPing() async throws(LinkError) -> Bool {
        let link = try await self.open()
        defer { link.close() }
        let overdue = Task {
            try await Task.sleep(for: ClientLimits.pongTimeout)
            link.close()
        }
        defer { overdue.cancel() }
        link.send(Ping(at: .now).text(requestID: "1", token: nil))
        for await case .text(let text) in link.events {
            guard case .object(let members) = JSONText(text) else { continue }
            if members.string("type") == Pong.definition.type { return true }
        }
        return false
    }
}
