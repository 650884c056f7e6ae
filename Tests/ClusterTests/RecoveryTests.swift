import LocalStack
import TestKit
import Testing

/// Single promises, each with the one thing happening that could break it.
extension MistreatedCluster {
    /// A router's successor sends its unacknowledged mail again, on the existing connection.
    @Test func unacknowledgedMailOutlivesTheRouterThatSentIt() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let id = try await alice.text(bob)
        _ = try await bob.received(id)
        for number in [1, 2] { await stack.kill(.router(number)) }
        for number in [1, 2] { try await stack.start(.router(number)) }
        _ = try await bob.received(id, within: .seconds(30))
        bob.acknowledge(id, from: alice.id)
        #expect(try await alice.client.next("message_delivered").payload.id == id)
    }

    /// Mail that was read as a page is no different: whatever Redis forgets is asked for again.
    @Test(arguments: Prove.all([true, false], butInShort: [true])) func aReceiptThatRedisForgotIsAskedForAgain(
        isPaged: Bool
    ) async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let alice = try await Cluster.phone(gateway: 1)
        var bob = try await Cluster.phone(gateway: 2)
        let id: String
        if isPaged {
            bob.client.cut()
            id = try await alice.text(bob)
            bob = try await Cluster.reconnected(bob, gateway: 2)
            #expect(try await bob.fetch().ids == [id])
        } else {
            id = try await alice.text(bob)
            _ = try await bob.received(id)
        }
        try await Cluster.whileRoutersStandStill {
            bob.acknowledge(id, from: alice.id)
            // Goes the same way to Redis, behind the receipt.
            try await bob.ask("update_tokens").expecting("tokens_updated")
            try await stack.flushRedis()
        }
        _ = try await bob.received(id, within: .seconds(30))
        bob.acknowledge(id, from: alice.id)
        #expect(try await alice.client.next("message_delivered").payload.id == id)
        #expect(try await bob.pending().isEmpty)
    }

    /// Contract §4: Postgres knows the sessions; Redis is a cache.
    @Test func aSessionOutlivesRedisAndEveryGateway() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let phone = try await Cluster.phone(gateway: 1)
        for number in [1, 2] { await stack.kill(.gateway(number)) }
        try await stack.restart(.redis)
        for number in [1, 2] { try await stack.start(.gateway(number)) }
        _ = try await phone.client.end()
        let back = try await Cluster.reconnected(phone, gateway: 2)
        try await waitUntil("it is let in", within: .seconds(20), every: .milliseconds(200)) {
            let answer = try await back.ask("fetch_pending")
            #expect(["pending_messages", "error"].contains(answer.type))
            #expect(answer.errorCode == nil || answer.errorCode == "INTERNAL_ERROR")
            return answer.type == "pending_messages"
        }
    }

    /// An uncommitted message is not acknowledged; a message that was refused so may be sent again.
    @Test func withoutPostgresNothingIsAccepted() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let message = alice.message(to: bob.id)
        await stack.kill(.postgres)
        let refused = try await alice.ask("send_message", message, within: .seconds(20))
        #expect(refused.errorCode == "INTERNAL_ERROR")
        try await stack.start(.postgres)
        try await waitUntil("it is accepted", within: .seconds(30), every: .milliseconds(200)) {
            try await alice.send(message).type == "message_accepted"
        }
        _ = try await bob.received(message["messageId"]!.json.string!)
        try await alice.text(bob)
        #expect(try await bob.pending().count == 2)
    }

    /// Contract §3: 1001 with a delay in milliseconds, so that not everybody comes back at once.
    @Test func aDrainingGatewaySaysWhenToComeBack() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let phones = [try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 1)]
        #expect(await stack.stop(.gateway(1)) == .exited(0))
        for phone in phones {
            guard case .closed(1001, let reason) = try await phone.client.end() else {
                Issue.record("\(String(describing: phone.client.ending))")
                continue
            }
            #expect((0...60_000).contains(try #require(Int(reason))))
        }
        // Clients that connect through the balancer reach the other gateway.
        try await Cluster.reconnected(phones[0]).ask("fetch_pending").expecting("pending_messages")
        try await stack.start(.gateway(1))
    }
}
