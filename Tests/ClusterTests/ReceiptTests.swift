import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §5 and §13: what a receipt does, and whose does nothing.
    @Suite struct Receipts {
        @Test func readImpliesDelivered() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let id = try await alice.text(bob)
            bob.acknowledge(id, from: alice.id, status: "read")
            #expect(try await alice.client.next("message_delivered").payload["status"]?.string == "read")
            #expect(try await bob.pending().isEmpty)
        }

        @Test func theSameAndALowerStatusAreIgnored() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let id = try await alice.text(bob)
            for status in ["delivered", "delivered", "read", "read", "delivered"] {
                bob.acknowledge(id, from: alice.id, status: status)
            }
            let marker = try await alice.text(bob)
            bob.acknowledge(marker, from: alice.id)
            _ = try await alice.client.next("message_delivered") { $0.payload.id == marker }
            func told() -> [String?] {
                alice.client.frames("message_delivered").map { $0.payload["status"]?.string }
            }
            // The marker may come first: statuses of different messages have no order. Either may be told again before the
            // client has confirmed it.
            try await waitUntil("both statuses are told", within: .seconds(20)) {
                Set(told()).isSuperset(of: ["delivered", "read"])
            }
            #expect(told().first == "delivered")
            #expect(Set(told()) == ["delivered", "read"])
        }

        @Test func aReceiptOfAStrangerIsIgnored() async throws {
            let (alice, bob, eve) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
            let id = try await alice.text(bob)
            // About mail that is not eve's; and bob's own, as if somebody else had sent it.
            eve.acknowledge(id, from: alice.id)
            bob.acknowledge(id, from: eve.id)
            bob.acknowledge(newUUID(), from: alice.id)
            // Her receipts go through her own mailbox, his through his: both are through when these are answered.
            _ = try await eve.pending()
            #expect(try await bob.pending().map(\.id) == [id])
            try await alice.client.settle()
            #expect(alice.client.frames("message_delivered").isEmpty)
            #expect(eve.client.frames.isEmpty)
        }

        @Test func aReceiptInSomebodyElsesNameIsForbidden() async throws {
            let (alice, bob, eve) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
            let id = try await alice.text(bob)
            let forged = bob.receipt(id, from: alice.id).with(["sessionToken": eve.token])
            #expect(try await eve.client.ask("delivery_receipt", forged).errorCode == "FORBIDDEN")
            #expect(try await bob.pending().map(\.id) == [id])
        }

        @Test func receiptsForASenderWhoIsAwayComeWhenItBinds() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let ids = [try await alice.text(bob), try await alice.text(bob)]
            alice.client.cut()
            for id in ids { bob.acknowledge(id, from: alice.id) }
            bob.acknowledge(ids[1], from: alice.id, status: "read")
            #expect(try await bob.pending().isEmpty)
            let back = try await Cluster.reconnected(alice, gateway: 2)
            try await back.ask("update_tokens").expecting("tokens_updated")
            for (id, status) in [(ids[0], "delivered"), (ids[1], "delivered"), (ids[1], "read")] {
                let receipt = try await back.client.next("message_delivered") {
                    $0.payload.id == id && $0.payload["status"]?.string == status
                }
                #expect(receipt.payload["from"]?.string == bob.id)
            }
        }

        /// A socket that takes bytes proves nothing: receipts that the client's WebSocket layer has not confirmed come again.
        @Test func receiptsThatDidNotReachTheClientComeAgain() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            alice.client.answersPings = false
            let id = try await alice.text(bob)
            bob.acknowledge(id, from: alice.id)
            _ = try await alice.client.next("message_delivered")
            alice.client.cut()
            let back = try await Cluster.reconnected(alice, gateway: 2)
            try await back.ask("update_tokens").expecting("tokens_updated")
            #expect(try await back.client.next("message_delivered").payload.id == id)
        }

        /// The sweep has removed the message and has not committed yet when the receipt comes: its sender hears of one end, not of two.
        @Test func aReceiptThatMeetsTheExpiryOfItsMessageIsIgnored() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let id = try await alice.text(bob)
            _ = try await bob.received(id)
            try await Cluster.collide(
                with: """
                    DELETE FROM router.mailbox WHERE message_id = '\(id)';
                    UPDATE router.ledger SET status = 3 WHERE message_id = '\(id)'
                    """
            ) { bob.acknowledge(id, from: alice.id) }
            let marker = try await alice.text(bob)
            bob.acknowledge(marker, from: alice.id)
            _ = try await alice.client.next("message_delivered") { $0.payload.id == marker }
            #expect(!alice.client.frames("message_delivered").map(\.payload.id).contains(id))
            #expect(try await Cluster.database("SELECT status FROM router.ledger WHERE message_id = '\(id)'") == "3")
        }

        @Test func aReceiptOfAnEndedSessionChangesNothing() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let id = try await alice.text(bob)
            let new = try await Cluster.phone(bob.person.onAnotherDevice())
            let late = bob.moved(to: try await Cluster.client())
            #expect(
                try await late.client.ask("delivery_receipt", late.receipt(id, from: alice.id)).errorCode
                    == "NOT_REGISTERED")
            #expect(try await new.pending().map(\.id) == [id])
        }
    }
}
