import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §5, and the order of §3, between two or three people.
    @Suite struct Messages {
        @Test func aMessageIsAcceptedDeliveredAndRead() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let message = alice.message(to: bob.id)
            let id = message["messageId"]!.json.string!
            let ack = try await alice.send(message).expecting("message_accepted")
            #expect(ack.payload.members == ["messageId": .string(id), "status": .string("sent")])

            let received = try await bob.received(id)
            #expect(received.requestID == nil)
            let sent = message.json.members
            #expect(received.payload.members == sent.merging(["reactions": .object([:]), "attachment": .null]) { $1 })

            for (status, time) in [("delivered", nowMilliseconds() - 2_000), ("read", nowMilliseconds() - 1_000)] {
                bob.acknowledge(id, from: alice.id, status: status, at: time)
                // At least once: what the client has not confirmed is told again.
                let told = try await alice.client.next("message_delivered") { $0.payload["status"]?.string == status }
                #expect(
                    told.payload.members == [
                        "messageId": .string(id), "status": .string(status), "timestamp": .integer(time),
                        "from": .string(bob.id),
                    ])
            }
            #expect(try await bob.pending().isEmpty)
        }

        /// The owner of a key can give R a part of small order. A check with the cofactor takes such a signature,
        /// libsodium does not: recipients could never verify what the server had accepted.
        @Test func signaturesThatRecipientsRefuseAreRefusedInAnyCompany() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let messages = (0..<40).map { index in
                let message = alice.message(to: bob.id)
                guard index % 2 == 1 else { return message }
                let (signature, _) = alice.person.keys.sign(
                    Phone.digest(of: message), torsionOfR: Torsion.points[1 + index / 2 % 7])
                return message.with(["sig": signature.base64])
            }
            // In one write, so that routers check many of them together.
            alice.client.send(
                texts: messages.enumerated().map { index, message in
                    TestClient.text("send_message", alice.privileges.with(message), requestID: "\(index)")
                })
            for index in messages.indices {
                let answer = try await alice.client.frame("answer \(index)") { $0.requestID == "\(index)" }
                if index % 2 == 0 {
                    try answer.expecting("message_accepted")
                } else {
                    #expect(answer.errorCode == "AUTH_FAILED", "message \(index)")
                }
            }
            #expect(try await bob.pending().count == 20)
        }

        @Test func whatTheContractDoesNotNameIsNotRelayed() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let message = alice.message(to: bob.id).with([
                "secret": "x", "nested": ["deep": [1, 2]], "replyTo": JSON.null,
            ])
            try await alice.send(message).expecting("message_accepted")
            let received = try await bob.received(message["messageId"]!.json.string!)
            #expect(
                Set(received.payload.members.keys) == [
                    "messageId", "from", "to", "msgType", "timestamp", "nonce", "ciphertext", "sig", "reactions",
                    "attachment",
                ])
        }

        @Test func repliesAndReactionsAreRelayed() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let extra: Fields = [
                "replyTo": newUUID().uppercased(), "reactions": ["👍": [alice.id], "\u{1F44E}": [bob.id, alice.id]],
            ]
            let message = alice.message(to: bob.id).with(extra)
            try await alice.send(message).expecting("message_accepted")
            let received = try await bob.received(message["messageId"]!.json.string!).payload
            #expect(received["replyTo"] == extra["replyTo"]!.json)
            #expect(received["reactions"] == extra["reactions"]!.json)
        }

        @Test(arguments: ["text", "image", "voice", "file", "system"])
        func everyKindOfMessageArrives(kind: String) async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let bytes = kind == "text" ? 12_288 : 256 * 1_024
            let largest = alice.message(to: bob.id, bytes: bytes) { $0["msgType"] = kind }
            try await alice.send(largest).expecting("message_accepted")
            let received = try await bob.received(largest["messageId"]!.json.string!)
            #expect(received.payload["ciphertext"] == largest["ciphertext"]!.json)
            let larger = alice.message(to: bob.id, bytes: bytes + 1) { $0["msgType"] = kind }
            #expect(try await alice.send(larger).errorCode == "INVALID_PAYLOAD")
        }

        @Test func uuidsAreRelayedAsSpelledAndComparedWithoutCase() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let spelled = "ABCDEFab-cdef-4ABC-8def-" + newUUID().suffix(12).uppercased()
            try await alice.text(bob, id: spelled)
            _ = try await bob.received(spelled)
            bob.acknowledge(spelled.lowercased(), from: alice.id)
            #expect(try await alice.client.next("message_delivered").payload["messageId"]?.string == spelled)
            #expect(try await bob.pending().isEmpty)
        }

        @Test func mailForSomebodyAwayWaitsUntilItIsFetched() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.cut()
            let ids = [try await alice.text(bob), try await alice.text(bob), try await alice.text(bob)]
            let back = try await Cluster.reconnected(bob)
            // Binding alone brings no pending mail (contract §13).
            try await back.ask("update_tokens").expecting("tokens_updated")
            try await back.ask("update_tokens").expecting("tokens_updated")
            #expect(back.client.frames("message_received").isEmpty)
            #expect(try await back.fetch().ids == ids)
            // It waits for a receipt, not for a reader.
            #expect(try await back.fetch().ids == ids)
            for id in ids { back.acknowledge(id, from: alice.id) }
            #expect(try await back.fetch().ids.isEmpty)
        }

        // MARK: The order of the checks

        @Test func theFirstCheckThatFailsAnswers() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let nobody = "WSP-AAAA-AAAA-AAAA"
            let stale: (inout Fields) -> Void = { $0["timestamp"] = nowMilliseconds() - 660_000 }
            let good = alice.message(to: bob.id)
            let id = good["messageId"]!.json.string!
            let accepted = alice.message(to: bob.id)
            try await alice.send(accepted).expecting("message_accepted")
            let broken = [UInt8](repeating: 1, count: 64).base64
            let unknownToken: Fields = ["sessionToken": String(repeating: "A", count: 43)]

            let cases: [(what: String, message: Fields, answer: String)] = [
                ("schema before session", good.with(unknownToken).with(["nonce": "x"]), "INVALID_PAYLOAD"),
                ("version before session", good.with(unknownToken).with(["cryptoVersion": 2]), "INVALID_PAYLOAD"),
                (
                    "session before from", good.with(unknownToken).with(["from": bob.id, "to": nobody]),
                    "NOT_REGISTERED"
                ),
                ("from before signature", good.with(["from": nobody, "sig": broken]), "FORBIDDEN"),
                ("signature before duplicate", accepted.with(["sig": broken]), "AUTH_FAILED"),
                (
                    "signature before time", alice.message(to: bob.id, id: id, change: stale).with(["sig": broken]),
                    "AUTH_FAILED"
                ),
                ("signature before recipient", alice.message(to: nobody).with(["sig": broken]), "AUTH_FAILED"),
                ("time before recipient", alice.message(to: nobody, change: stale), "INVALID_TIMESTAMP"),
                ("recipient", alice.message(to: nobody), "NOT_FOUND"),
                ("to self", alice.message(to: alice.id), "INVALID_PAYLOAD"),
            ]
            for (what, message, answer) in cases {
                let reply = try await alice.send(message)
                #expect(reply.errorCode == answer, "\(what): \(reply)")
            }
            // Each was refused for good: nothing of it reaches anybody.
            _ = try await bob.received(accepted["messageId"]!.json.string!)
            #expect(try await bob.pending().map(\.id) == [accepted["messageId"]!.json.string!])
        }

        @Test(arguments: ["messageId", "to", "timestamp", "nonce", "ciphertext"])
        func theSignatureCovers(field: String) async throws {
            let (alice, bob, carol) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
            let (message, other) = (
                alice.message(to: bob.id), alice.message(to: carol.id) { $0["timestamp"] = nowMilliseconds() + 1 }
            )
            #expect(try await alice.send(message.with([field: other[field]!])).errorCode == "AUTH_FAILED")
        }

        @Test(
            arguments: [
                (-660_000, "INVALID_TIMESTAMP"), (-540_000, nil), (540_000, nil), (660_000, "INVALID_TIMESTAMP"),
            ] as [(Int64, String?)])
        func clocksMayDifferByTenMinutes(offset: Int64, answer: String?) async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let message = alice.message(to: bob.id) { $0["timestamp"] = nowMilliseconds() + offset }
            #expect(try await alice.send(message).errorCode == answer)
        }

        @Test func aBannedSenderIsToldSo() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            try await Cluster.ban(alice.id)
            #expect(try await alice.send(alice.message(to: bob.id)).errorCode == "USER_BANNED")
            #expect(try await alice.client.end().code == 4003)
        }

        // MARK: Once

        @Test func aRepeatedMessageIsAcknowledgedAgainAndDeliveredOnce() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let id = newUUID()
            let message = alice.message(to: bob.id, id: id)
            try await alice.send(message).expecting("message_accepted")
            let now = nowMilliseconds()
            let repeats = [
                message,
                alice.message(to: bob.id, id: id.uppercased()),
                alice.message(to: bob.id, id: id) { $0["timestamp"] = now - 3_600_000 },
                alice.message(to: bob.id, id: id.uppercased()) { $0["timestamp"] = now + 3_600_000 },
            ]
            for again in repeats {
                let ack = try await alice.send(again).expecting("message_accepted")
                #expect(ack.payload["messageId"]?.string?.lowercased() == id)
                #expect(ack.payload["status"]?.string == "sent")
            }
            _ = try await bob.received(id)
            bob.acknowledge(id, from: alice.id)
            _ = try await alice.client.next("message_delivered")
            try await alice.send(message).expecting("message_accepted")
            // A second copy would have arrived before this message.
            _ = try await bob.received(try await alice.text(bob))
            #expect(bob.client.frames("message_received").isEmpty)
            #expect(try await bob.pending().count == 1)
        }

        @Test func aMessageSentTwiceAtOnceIsDeliveredOnce() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let message = alice.message(to: bob.id)
            for number in 0..<10 {
                alice.client.send("send_message", alice.privileges.with(message), requestID: "again-\(number)")
            }
            for number in 0..<10 {
                let answer = try await alice.client.frame("answer \(number)") { $0.requestID == "again-\(number)" }
                #expect(answer.type == "message_accepted")
            }
            _ = try await bob.received(try await alice.text(bob))
            #expect(bob.client.frames("message_received").count == 1)
        }

        @Test func anIdIsTheSendersForEachRecipient() async throws {
            let (alice, bob, carol) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
            let id = newUUID()
            try await alice.text(bob, id: id)
            try await alice.text(carol, id: id)
            try await carol.text(bob, id: id)
            for phone in [bob, carol] { _ = try await phone.received(id) }
            #expect(try await bob.pending().map { $0["from"]?.string } == [alice.id, carol.id])
        }

        // MARK: Order

        /// Two senders at different gateways, each with everything under way at once. One message of each goes ahead. The
        /// gateways lease uses of the rates for it, and let only so many frames of a connection wait for a lease.
        @Test func messagesOfEachSenderArriveInTheirOrderUnderLoad() async throws {
            let bob = try await Cluster.phone(gateway: 2)
            let senders = [try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2)]
            for sender in senders {
                let first = try await sender.text(bob)
                _ = try await bob.received(first)
                bob.acknowledge(first, from: sender.id)
                _ = try await sender.client.next("message_delivered")
            }
            let ids = senders.map { _ in (0..<300).map { _ in newUUID() } }
            for position in 0..<300 {
                for (sender, ids) in zip(senders, ids) {
                    let message = sender.message(to: bob.id, id: ids[position])
                    sender.client.send("send_message", sender.privileges.with(message))
                }
            }
            var arrived: [String: [String]] = [:]
            for _ in 0..<600 {
                let message = try await bob.client.next("message_received").payload
                let from = try #require(message["from"]?.string)
                arrived[from, default: []].append(message.id)
                bob.acknowledge(message.id, from: from)
            }
            try await bob.client.settle()
            #expect(bob.client.frames("error").map(\.description) == [], "receipts were refused")
            for (sender, ids) in zip(senders, ids) {
                #expect(arrived[sender.id] == ids)
                var (accepted, delivered): (Set<String>, Set<String>) = ([], [])
                for _ in ids {
                    accepted.insert(try await sender.client.next("message_accepted").payload.id)
                    delivered.insert(try await sender.client.next("message_delivered").payload.id)
                }
                #expect(accepted == Set(ids))
                #expect(delivered == Set(ids))
            }
            #expect(try await bob.pending().isEmpty)
            #expect(bob.client.frames("message_received").isEmpty)
        }
    }
}
