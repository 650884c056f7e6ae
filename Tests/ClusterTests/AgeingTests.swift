import LocalStack
import TestKit
import Testing

/// A cluster in a hurry: unacknowledged mail is sent again after 2 s, and lives for 8.
@Suite(
    .cluster { $0.environment[.router] = ["RESEND_AFTER_SECONDS": "2", "PENDING_TTL_SECONDS": "8"] })
struct HastyCluster {
    @Test func liveMailThatIsNotAcknowledgedComesAgainOnTheSameConnection() async throws {
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let sentAt = ContinuousClock.now
        let id = try await alice.text(bob)
        let first = try await bob.received(id)
        let second = try await bob.received(id, within: .seconds(20))
        #expect(second.text == first.text)
        #expect(second.arrivedAt - sentAt > .seconds(1))
        bob.acknowledge(id, from: alice.id)
        _ = try await alice.client.next("message_delivered")
    }

    /// Only what is missing, in its order.
    @Test func acknowledgedMailDoesNotComeAgain() async throws {
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        var ids: [String] = []
        for _ in 0..<4 { ids.append(try await alice.text(bob)) }
        for id in ids { _ = try await bob.received(id) }
        bob.acknowledge(ids[0], from: alice.id)
        bob.acknowledge(ids[2], from: alice.id)
        for id in [ids[0], ids[2]] { _ = try await alice.client.next("message_delivered") { $0.payload.id == id } }
        // On a slow machine they may have come again before; from here on they must not.
        try await bob.client.settle()
        let early = bob.client.frames("message_received").count
        for id in [ids[1], ids[3]] { _ = try await bob.received(id, within: .seconds(20)) }
        try await bob.client.settle()
        let late = bob.client.frames("message_received").dropFirst(early).map(\.payload.id)
        #expect(!late.contains(ids[0]) && !late.contains(ids[2]))
        for id in ids { bob.acknowledge(id, from: alice.id) }
    }

    @Test func undeliveredMailExpiresAndItsSenderIsTold() async throws {
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        bob.client.cut()
        let id = try await alice.text(bob)
        let told = try await alice.client.next("message_expired", within: .seconds(20))
        #expect(told.payload.members == ["messageId": .string(id), "to": .string(bob.id)])
        let back = try await Cluster.reconnected(bob)
        #expect(try await back.pending().isEmpty)
        // Too late: it is not delivered any more.
        back.acknowledge(id, from: alice.id)
        _ = try await back.pending()
        try await alice.client.settle()
        #expect(alice.client.frames("message_delivered").isEmpty)
    }

    @Test func aSenderWhoWasAwayIsToldWhenItBinds() async throws {
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        bob.client.cut()
        let id = try await alice.text(bob)
        alice.client.cut()
        let watcher = try await Cluster.reconnected(bob)
        try await waitUntil("it has expired", within: .seconds(20), every: .milliseconds(250)) {
            try await watcher.pending().isEmpty
        }
        let back = try await Cluster.reconnected(alice, gateway: 2)
        try await back.ask("update_tokens").expecting("tokens_updated")
        #expect(try await back.client.next("message_expired").payload.id == id)
    }

    @Test func deliveredMailDoesNotExpire() async throws {
        let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
        let (kept, lost) = (try await alice.text(bob), newUUID())
        bob.acknowledge(kept, from: alice.id)
        _ = try await alice.client.next("message_delivered")
        bob.client.cut()
        try await alice.text(bob, id: lost)
        #expect(try await alice.client.next("message_expired", within: .seconds(20)).payload.id == lost)
        #expect(alice.client.frames("message_expired").isEmpty)
    }
}
