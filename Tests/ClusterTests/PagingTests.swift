import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §5: reading a queue that somebody is filling and emptying.
    @Suite struct Paging {
        /// Nothing is skipped and nothing comes twice, although mail is added and acknowledged between the pages.
        @Test func aQueueThatGrowsAndShrinksIsReadWhole() async throws {
            let (alice, carol, bob) = (
                try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2), try await Cluster.phone()
            )
            bob.client.cut()
            var queued: [String] = []
            for part in 0..<5 {
                queued += try await self.fill(100, from: alice, for: bob, bytes: part == 2 ? 12_288 : 60)
            }
            var back = try await Cluster.reconnected(bob, gateway: 2)
            var added: [String] = []
            var read: [JSON] = []
            var page = try await back.fetch(limit: 37)
            while true {
                #expect(page.frame.text.utf8.count < 480_000)
                #expect(page.messages.count <= 37)
                read += page.messages
                // Every other one goes, some of them from pages before this.
                for (index, message) in read.enumerated().suffix(60) where index.isMultiple(of: 2) {
                    back.acknowledge(message.id, from: message["from"]!.string!)
                }
                guard let cursor = page.nextCursor else { break }
                if added.count < 40 { added += try await self.fill(5, from: carol, for: bob) }
                page = try await back.fetch(cursor: cursor, limit: 37)
            }
            // Mail that came behind the last page is live.
            let live = back.client.frames("message_received").map(\.payload)
            let all = (read + live).map(\.id)
            #expect(Set(all).count == all.count)
            #expect(all.filter { !added.contains($0) } == queued)
            #expect(Set(all) == Set(queued + added))

            // Receipts and this go through the same mailbox, one behind the other.
            _ = try await back.fetch(limit: 1)
            back = try await Cluster.reconnected(bob, gateway: 1)
            let left = Set(queued + added).subtracting(
                read.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element.id))
            #expect(Set(try await back.pending().map(\.id)) == left)
        }

        @Test func aPageEndsBefore480000Bytes() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.cut()
            let ids = try await self.fill(60, from: alice, for: bob, bytes: 12_288)
            let back = try await Cluster.reconnected(bob)
            var page = try await back.fetch(limit: 100)
            var read = page.ids
            #expect(page.frame.text.utf8.count > 440_000)
            while let cursor = page.nextCursor {
                #expect(page.frame.text.utf8.count < 480_000)
                page = try await back.fetch(cursor: cursor, limit: 100)
                read += page.ids
            }
            #expect(read == ids)
        }

        @Test func theLargestMessagesHaveAPageEach() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.cut()
            var ids: [String] = []
            for _ in 0..<3 {
                let message = alice.message(to: bob.id, bytes: 256 * 1_024) { $0["msgType"] = "file" }
                try await alice.send(message).expecting("message_accepted")
                ids.append(message["messageId"]!.json.string!)
            }
            let back = try await Cluster.reconnected(bob)
            var pages: [[String]] = []
            var cursor: String?
            repeat {
                let page = try await back.fetch(cursor: cursor)
                pages.append(page.ids)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(pages == ids.map { [$0] })
        }

        @Test func fiftyUnlessAskedOtherwise() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.cut()
            let ids = try await self.fill(101, from: alice, for: bob)
            let back = try await Cluster.reconnected(bob)
            for (limit, count) in [(nil, 50), (1, 1), (100, 100)] as [(Int?, Int)] {
                let page = try await back.fetch(limit: limit)
                #expect(page.ids == Array(ids.prefix(count)))
                #expect(page.nextCursor != nil)
            }
            let nulls = try await back.ask("fetch_pending", ["cursor": JSON.null, "limit": JSON.null])
            #expect(Page(frame: nulls).messages.count == 50)
        }

        @Test func aCursorSurvivesTheMessagesItStandsOn() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.cut()
            let ids = try await self.fill(6, from: alice, for: bob)
            let back = try await Cluster.reconnected(bob)
            let page = try await back.fetch(limit: 3)
            let cursor = try #require(page.nextCursor)
            for id in ids.prefix(4) { back.acknowledge(id, from: alice.id) }
            let rest = try await back.fetch(cursor: cursor)
            #expect(rest.ids == Array(ids.suffix(2)))
            #expect(rest.nextCursor == nil)
            for id in ids { back.acknowledge(id, from: alice.id) }
            let none = try await back.fetch(cursor: cursor)
            #expect(none.ids.isEmpty)
            #expect(none.nextCursor == nil)
        }

        @Test(arguments: [
            JSON.integer(0), .integer(101), .integer(-1), .number(1.5), .string("5"), .bool(true), .array([]),
        ])
        func aLimitIsAnIntegerFrom1To100(limit: JSON) async throws {
            #expect(try await Cluster.phone().ask("fetch_pending", ["limit": limit]).errorCode == "INVALID_PAYLOAD")
        }

        @Test(arguments: [JSON.string(""), .string("made up"), .string(String(repeating: "1", count: 65)), .integer(7)])
        func aCursorIsTheServers(cursor: JSON) async throws {
            #expect(try await Cluster.phone().ask("fetch_pending", ["cursor": cursor]).errorCode == "INVALID_PAYLOAD")
        }

        /// Sends without waiting for each answer.
        private func fill(
            _ count: Int, from sender: Phone, for recipient: Phone, bytes: Int = 60
        ) async throws -> [String] {
            let ids = (0..<count).map { _ in newUUID() }
            for id in ids {
                sender.client.send(
                    "send_message", sender.privileges.with(sender.message(to: recipient.id, id: id, bytes: bytes)))
            }
            for _ in ids { _ = try await sender.client.next("message_accepted") }
            return ids
        }
    }
}
