import Contract
import LocalStack
import TestKit

extension LiveTraffic {
    private static let openAtOnce = 20
    private static let timeout = Duration.seconds(60)
    /// Bytes of text in a packet, as a sealed one of contract §14.9 holds them.
    static let payload = 120

    /// Identities that whisper and guests who have joined, spread over the gateways.
    /// - Parameter count: how many conversations.
    static func open(
        _ count: Int, _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions
    ) async throws -> LiveTraffic {
        let traffic = try await self.prepare(count, listeners: options.listeners, fleet, stack)
        say("· connecting \(count * options.listeners) listeners")
        try await fleet.connectAll(traffic.conversations.flatMap { $0.listeners.map(\.number) })
        fleet.listener = traffic
        say("· opening \(count) conversations")
        for (place, conversation) in traffic.conversations.enumerated() {
            traffic.open(conversation, on: fleet)
            // A few at a time: how fast strangers are let in is another measurement.
            try await waitUntil("some have joined", within: Self.timeout) { traffic.ready + Self.openAtOnce > place }
        }
        try await fleet.expect("all have joined", within: Self.timeout) { traffic.ready == count }
        return traffic
    }

    /// Identities that whisper, with a profile each, and guests that are not connected yet.
    /// - Parameter transcriptDays: how long lines are kept; 0: they are not.
    static func prepare(
        _ count: Int, listeners: Int, transcriptDays: Int = 0, _ fleet: isolated Fleet, _ stack: LocalStack
    ) async throws -> LiveTraffic {
        say("· registering \(count) whisperers")
        let whisperers = try await fleet.register(count)
        var conversations: [LiveConversation] = []
        for whisperer in whisperers {
            let profile = try await stack.makeProfile(of: whisperer.token)
            let conversation = LiveConversation(
                LiveFrames(profile: profile, transcriptDays: transcriptDays), whisperer: whisperer,
                listeners: (0..<listeners).map { _ in fleet.enlist() })
            conversation.prepare(payload: Self.payload)
            conversations.append(conversation)
        }
        return LiveTraffic(conversations)
    }
}

extension Fleet {
    /// Waits, and says what went wrong if the time is up.
    func expect(_ what: String, within timeout: Duration, _ condition: () -> Bool) async throws {
        do {
            try await waitUntil(what, within: timeout) { condition() }
        } catch {
            for (what, times) in self.troubles { say("  \(what): \(times)") }
            throw error
        }
    }
}

extension LocalStack {
    /// A profile with this member alone (contract §14.4).
    fileprivate func makeProfile(of token: String) async throws -> UUIDText {
        let profile = UUIDText.random()
        let hash = base64(SigningKeys.random(LiveLimits.secretBytes))
        let answer = try await HTTPCall(
            "PUT", self.publicURL + "/profiles/\(profile)",
            headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
            body: Array(#"{"protocolVersion":1,"cryptoVersion":1,"joinHash":"\#(hash)"}"#.utf8)
        ).answer()
        guard answer.status == 200 else { throw LoadError.refused("a profile: status \(answer.status)") }
        return profile
    }
}
