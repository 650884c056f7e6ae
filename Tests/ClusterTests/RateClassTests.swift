import LocalStack
import TestKit
import Testing

/// Waiting for one recipient from one sender who is not its peer.
private let messagesOfStranger = 40

/// A class of rates (contract §20.7), beside people without one. It is smaller than the usual one, so that its end is reached in seconds.
@Suite(
    .serialized,
    .cluster {
        $0.rateLimitScale = 1
        for service in [ServiceName.gateway, .auth] {
            $0.environment[service] = ["RATE_CLASSES": "bot: send_message=300/300"]
        }
        $0.environment[.router] = ["MAILBOX_STRANGER_MESSAGES_MAX": "\(messagesOfStranger)"]
    }) struct RateClassTests
{
    private static let usual = 120
    private static let ofBots = 300
    /// A lease at everybody's rate, in uses of bots: 10 uses of 500 ms each are 25 of 200 ms.
    private static let ofLease = 25

    /// Sends until a message is refused, and paces itself to the 100 frames a second of a connection.
    /// - Returns: how many were accepted, and how the next was refused.
    private func fill(_ sender: Phone, to recipient: Phone) async throws -> (accepted: Int, refusal: JSONFrame) {
        for accepted in 0..<1_000 {
            let answer = try await sender.send(sender.message(to: recipient.id))
            if answer.type != "message_accepted" { return (accepted, answer) }
        }
        throw Unrefused()
    }

    private struct Unrefused: Error {}

    private func choose(_ name: String, for phone: Phone) async throws {
        try await Operators.tool("rate-class", phone.id, name, "--reason", "a test")
    }

    @Test func aBotSendsMoreThanOthersUntilItsClassIsTaken() async throws {
        let (bot, bob) = try await Cluster.friends()
        let alice = try await Cluster.stranger(gateway: 1)
        try await alice.becomesPeer(of: bob)
        try await self.choose("bot", for: bot)
        // The gateway has heard of it, for the connection there is.
        let start = ContinuousClock.now
        let (accepted, refusal) = try await self.fill(bot, to: bob)
        #expect(refusal.errorCode == "RATE_LIMITED")
        // A lease of 10 uses or two were taken at everybody's rate before, and some uses come back meanwhile.
        let back = Int((ContinuousClock.now - start) / .milliseconds(200)) + 1
        #expect((Self.ofBots - 2 * Self.ofLease...Self.ofBots + back).contains(accepted), "\(accepted) of \(back)")
        let others = ContinuousClock.now
        let usual = try await self.fill(alice, to: bob)
        #expect(usual.refusal.errorCode == "RATE_LIMITED")
        let usualBack = Int((ContinuousClock.now - others) / .milliseconds(500)) + 1
        #expect((Self.usual - 10...Self.usual + usualBack).contains(usual.accepted), "\(usual.accepted)")

        // It has used the whole minute of others: without the class it waits for as long as they do.
        try await self.choose("none", for: bot)
        for gateway in [1, 2] {
            let phone = try await bot.elsewhere(gateway: gateway)
            try await phone.ask("fetch_pending").expecting("pending_messages")
            try await waitUntil("it is refused as others are", within: .seconds(30), every: .milliseconds(50)) {
                var waits: [Int64] = []
                for _ in 0..<3 {
                    let answer = try await phone.send(phone.message(to: bob.id))
                    if let wait = answer.payload["retryAfterMs"]?.integer { waits.append(wait) }
                }
                // The class has 200 ms at most.
                return waits.contains { $0 > 200 }
            }
        }
    }

    /// A class makes faster. It fills nobody's mailbox.
    @Test func strangersAreAsWellProtectedFromABot() async throws {
        let (bot, alice, carol) = (
            try await Cluster.stranger(), try await Cluster.stranger(), try await Cluster.stranger()
        )
        try await self.choose("bot", for: bot)
        let ofBot = try await self.fill(bot, to: carol)
        let ofAlice = try await self.fill(alice, to: carol)
        #expect(ofBot.accepted == messagesOfStranger && ofBot.refusal.isFull)
        #expect(ofAlice.accepted == messagesOfStranger && ofAlice.refusal.isFull)
    }
}
