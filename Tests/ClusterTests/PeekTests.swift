import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §5: `GET /mail` shows mail, and changes nothing.
    @Suite struct Peeking {
        @Test func whoLooksTwiceSeesTheSameAndGetsItOnceLater() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            bob.client.cut()
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await alice.text(bob)) }
            let looks = [try await bob.peek(), try await bob.peek()]
            for look in looks {
                #expect(look.ids == ids)
                #expect(look.json["more"] == .bool(false))
            }
            #expect(looks[0].json["messages"] == looks[1].json["messages"])
            // An answer to her comes through the routers that would have told her of a delivery.
            try await alice.client.settle()
            #expect(alice.client.frames("message_delivered").isEmpty)

            let back = try await Cluster.reconnected(bob)
            let pending = try await back.pending()
            #expect(pending == looks[0].messages)
            for id in ids { back.acknowledge(id, from: alice.id) }
            for _ in ids { _ = try await alice.client.next("message_delivered") }
            #expect(try await bob.peek().ids.isEmpty)
            #expect(try await back.pending().isEmpty)
            #expect(back.client.frames("message_received").isEmpty)
            #expect(alice.client.frames("message_delivered").isEmpty)
        }

        @Test func theConnectedPhoneStays() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            _ = try await bob.pending()
            for gateway in [1, 2, 1, 2] {
                let id = try await alice.text(bob)
                _ = try await bob.received(id)
                #expect(try await bob.peek(at: Self.origin(ofGateway: gateway)).ids == [id])
                bob.acknowledge(id, from: alice.id)
                _ = try await alice.client.next("message_delivered")
            }
            // A frame and its answer: nobody has said goodbye before.
            _ = try await bob.fetch()
            #expect(bob.client.ending == nil)
        }

        private static func origin(ofGateway number: Int) -> String {
            "http" + Cluster.stack.endpoint(ofGateway: number).dropFirst("ws".count).dropLast("/ws".count)
        }

        @Test func limitAndBytesCutTheAnswer() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.cut()
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await alice.text(bob, bytes: 1_000)) }
            let first = try await bob.peek("?limit=2")
            #expect(first.ids == Array(ids.prefix(2)) && first.json["more"] == .bool(true))
            // Base64 makes 1,336 of 1,000 bytes, and the other fields are less than 664.
            let second = try await bob.peek("?bytes=4000")
            #expect(second.ids == Array(ids.prefix(2)) && second.json["more"] == .bool(true))
            let none = try await bob.peek("?bytes=1000")
            #expect(none.ids.isEmpty && none.json["more"] == .bool(true))
            #expect(try await bob.http("GET", "/mail?limit=51").is(400, "INVALID_PAYLOAD"))
        }

        @Test func onlyALivingSessionLooks() async throws {
            let bob = try await Cluster.phone()
            #expect(try await bob.http("GET", "/mail", token: newUUID()).is(401, "NOT_REGISTERED"))
            // A newer login ends the older session everywhere, and the cache may know it later than the tables.
            _ = try await Cluster.phone(bob.person)
            #expect(try await bob.http("GET", "/mail").is(401, "NOT_REGISTERED"))
        }
    }
}

extension Phone {
    fileprivate func peek(
        _ query: String = "", at origin: String = Cluster.stack.publicURL
    ) async throws -> HTTPCall.Answer {
        try await self.http("GET", "/mail\(query)", at: origin).expecting(200)
    }
}

extension HTTPCall.Answer {
    fileprivate var messages: [JSON] { self.json["messages"]?.elements ?? [] }
    fileprivate var ids: [String] { self.messages.map(\.id) }
}
