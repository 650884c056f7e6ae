import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §6 and §13.
    @Suite struct Groups {
        // MARK: Changing

        @Test func everybodyHearsOfANewGroup() async throws {
            let (alice, bob, carol) = (
                try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2),
                try await Cluster.phone(gateway: 1)
            )
            let answer = try await alice.ask("group_create", ["title": "Hiking ⛰", "memberIds": [bob.id, carol.id]])
                .expecting("group_event")
            #expect(answer.payload["event"]?.string == "created" && answer.payload["actor"]?.string == alice.id)
            #expect(answer.payload["added"] == [bob.id, carol.id].json && answer.payload["removed"] == .array([]))
            let group = try #require(answer.payload["group"])
            #expect(group["title"]?.string == "Hiking ⛰" && group["ownerId"]?.string == alice.id)
            #expect(group["revision"]?.integer == 1 && group["members"]?.elements.count == 3)
            #expect(group.role(of: alice.id) == "owner" && group.role(of: bob.id) == "member")
            for phone in [bob, carol] {
                let event = try await phone.client.next("group_event")
                #expect(event.payload == answer.payload && event.requestID == nil)
            }
            #expect(try await bob.groups() == [group])
        }

        @Test func rolesDecideWhoMayChangeWhat() async throws {
            let (alice, bob, carol, dave) = (
                try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone(),
                try await Cluster.phone()
            )
            let id = try await alice.makeGroup(with: [bob, carol])
            #expect(try await bob.change(id, ["title": "Mine"]).errorCode == "FORBIDDEN")
            #expect(try await bob.change(id, ["addMembers": [dave.id]]).errorCode == "FORBIDDEN")
            #expect(try await bob.change(id, ["removeMembers": [carol.id]]).errorCode == "FORBIDDEN")
            #expect(try await dave.change(id, ["removeMembers": [dave.id]]).errorCode == "FORBIDDEN")
            let admin: Fields = ["whisperId": bob.id, "role": "admin"]
            #expect(try await bob.change(id, ["roleChanges": [admin]]).errorCode == "FORBIDDEN")
            try await alice.change(id, ["roleChanges": [admin]]).expecting("group_event")

            let renamed = try await bob.change(
                id, ["title": "Ours", "addMembers": [dave.id], "removeMembers": [carol.id]]
            )
            .expecting("group_event")
            let group = try #require(renamed.payload["group"])
            #expect(group["title"]?.string == "Ours" && group["revision"]?.integer == 3)
            #expect(group.role(of: dave.id) == "member" && group.role(of: carol.id) == nil)
            for phone in [alice, carol, dave] {
                let event = try await phone.client.next("group_event") {
                    $0.payload["group"]?["revision"]?.integer == 3
                }
                #expect(event.payload["removed"] == [carol.id].json && event.payload["added"] == [dave.id].json)
            }
            #expect(try await bob.change(id, ["removeMembers": [alice.id]]).errorCode == "FORBIDDEN")
            #expect(try await carol.groups().isEmpty)
        }

        @Test func whatDoesNotExistIsNotFound() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let nobody = "WSP-AAAA-AAAA-AAAA"
            let create: Fields = ["title": "Ghosts", "memberIds": [bob.id, nobody]]
            #expect(try await alice.ask("group_create", create).errorCode == "NOT_FOUND")
            #expect(try await alice.change("grp-" + newUUID(), ["title": "None"]).errorCode == "NOT_FOUND")
            let id = try await alice.makeGroup(with: [bob])
            #expect(try await alice.change(id, ["addMembers": [nobody]]).errorCode == "NOT_FOUND")
            #expect(try await alice.change(id, ["removeMembers": [nobody]]).errorCode == "NOT_FOUND")
            #expect(bob.client.frames("group_event").count <= 1)
        }

        @Test func theOwnersLeavingPassesTheGroupOnAndTheLastOnesEndsIt() async throws {
            let (alice, bob, carol) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
            let id = try await alice.makeGroup(with: [bob, carol])
            let admin: Fields = ["whisperId": carol.id, "role": "admin"]
            try await alice.change(id, ["roleChanges": [admin]]).expecting("group_event")
            try await alice.change(id, ["removeMembers": [alice.id]]).expecting("group_event")
            let event = try await bob.client.next("group_event") { $0.payload["group"]?["revision"]?.integer == 3 }
            #expect(event.payload["group"]?["ownerId"]?.string == carol.id)
            #expect(event.payload["group"]?.role(of: carol.id) == "owner")
            try await carol.change(id, ["removeMembers": [carol.id]]).expecting("group_event")
            #expect(try await bob.groups().map { $0["ownerId"]?.string } == [bob.id])
            let end = try await bob.change(id, ["removeMembers": [bob.id]]).expecting("group_event")
            #expect(end.payload["group"]?["members"] == .array([]))
            #expect(try await bob.change(id, ["title": "Ghost"]).errorCode == "NOT_FOUND")
            #expect(try await bob.groups().isEmpty)
        }

        @Test func wrongFormsAreRefused() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let noMembers: [String] = []
            #expect(
                try await alice.ask("group_create", ["title": "", "memberIds": noMembers]).errorCode
                    == "INVALID_PAYLOAD")
            let long = String(repeating: "x", count: 65)
            #expect(
                try await alice.ask("group_create", ["title": long, "memberIds": noMembers]).errorCode
                    == "INVALID_PAYLOAD")
            let id = try await alice.makeGroup(with: [bob])
            let system = alice.groupMessage(to: bob.id, in: id) { $0["msgType"] = "system" }
            #expect(try await alice.ask("group_send_message", system).errorCode == "INVALID_PAYLOAD")
        }

        // MARK: Hearing later

        @Test func whoWasAwayHearsTheLatestWhenBinding() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let first = try await alice.makeGroup(with: [bob])
            _ = try await bob.client.next("group_event")
            bob.client.cut()
            for title in ["Second", "Third"] {
                try await alice.change(first, ["title": title]).expecting("group_event")
            }
            let other = try await alice.makeGroup(with: [bob])
            let back = try await Cluster.reconnected(bob, gateway: 1)
            _ = try await back.pending()
            let events = [try await back.client.next("group_event"), try await back.client.next("group_event")]
            #expect(Set(events.map { $0.payload["group"]?["groupId"]?.string }) == [first, other])
            #expect(
                events.first { $0.payload["group"]?["groupId"]?.string == first }?.payload["group"]?["title"]?.string
                    == "Third")
            // Confirmed by its own pong, it is not told again.
            try await waitUntil("the news is confirmed", within: .seconds(10), every: .milliseconds(100)) {
                let ids = [first, other].map { "'\($0.dropFirst(4))'" }.joined(separator: ", ")
                return try await Cluster.database("SELECT count(*) FROM router.group_news WHERE group_id IN (\(ids))")
                    == "0"
            }
            let again = try await Cluster.reconnected(back)
            _ = try await again.pending()
            try await again.client.settle()
            #expect(again.client.frames("group_event").isEmpty)
        }

        @Test func whatASilentClientDidNotConfirmIsToldAgain() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.answersPings = false
            let id = try await alice.makeGroup(with: [bob])
            _ = try await bob.client.next("group_event")
            bob.client.cut()
            let back = try await Cluster.reconnected(bob)
            _ = try await back.pending()
            #expect(try await back.client.next("group_event").payload["group"]?["groupId"]?.string == id)
        }

        // MARK: Group mail

        @Test func eachEnvelopeIsAcceptedDeliveredAndReceiptedByItself() async throws {
            let (alice, bob, carol) = (
                try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2),
                try await Cluster.phone(gateway: 1)
            )
            let group = try await alice.makeGroup(with: [bob, carol])
            let id = newUUID()
            for phone in [bob, carol] {
                let message = alice.groupMessage(to: phone.id, in: group, id: id)
                let accepted = try await alice.ask("group_send_message", message).expecting("message_accepted")
                #expect(
                    accepted.payload.members
                        == ["messageId": .string(id), "status": .string("sent"), "to": .string(phone.id)])
                let received = try await phone.received(id)
                #expect(received.payload["groupId"]?.string == group && received.payload["from"]?.string == alice.id)
                for name in ["to", "timestamp", "nonce", "ciphertext", "sig", "msgType"] {
                    #expect(received.payload[name] == message[name]?.json)
                }
                phone.acknowledge(id, from: alice.id)
                let told = try await alice.client.next("message_delivered") { $0.payload["from"]?.string == phone.id }
                #expect(told.payload["groupId"]?.string == group && told.payload.id == id)
                // The same again: the same acknowledgement, and nothing is delivered twice.
                try await alice.ask("group_send_message", message).expecting("message_accepted")
                try await phone.client.settle()
                #expect(phone.client.frames("message_received").isEmpty)
            }
        }

        @Test func onlyMembersWriteAndAreWrittenTo() async throws {
            let (alice, bob, eve) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
            let group = try await alice.makeGroup(with: [bob])
            func send(_ from: Phone, _ to: String, _ group: String) async throws -> String? {
                try await from.ask("group_send_message", from.groupMessage(to: to, in: group)).errorCode
            }
            #expect(try await send(alice, eve.id, group) == "FORBIDDEN")
            #expect(try await send(eve, bob.id, group) == "FORBIDDEN")
            #expect(try await send(alice, bob.id, "grp-" + newUUID()) == "NOT_FOUND")
            #expect(try await send(alice, "WSP-AAAA-AAAA-AAAA", group) == "NOT_FOUND")
            #expect(try await send(alice, bob.id, group) == nil)
            #expect(try await send(alice, bob.id, group.uppercased().replacingPrefix("GRP-", "grp-")) == nil)
            try await alice.change(group, ["removeMembers": [bob.id]]).expecting("group_event")
            #expect(try await send(alice, bob.id, group) == "FORBIDDEN")
            #expect(try await send(bob, alice.id, group) == "FORBIDDEN")
            #expect(try await bob.pending().count == 2)
        }

        @Test func theSignatureNamesTheGroup() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let group = try await alice.makeGroup(with: [bob])
            // Signed like a message of its own, or for another group.
            let message = alice.groupMessage(to: bob.id, in: group)
            let lone = alice.signed(message)
            #expect(try await alice.ask("group_send_message", lone).errorCode == "AUTH_FAILED")
            let moved = message.with(["groupId": try await alice.makeGroup(with: [bob])])
            #expect(try await alice.ask("group_send_message", moved).errorCode == "AUTH_FAILED")
            #expect(try await bob.pending().isEmpty)
        }

        @Test func aMemberWhoWasAwayFetchesGroupMail() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            let group = try await alice.makeGroup(with: [bob])
            bob.client.cut()
            let message = alice.groupMessage(to: bob.id, in: group)
            try await alice.ask("group_send_message", message).expecting("message_accepted")
            let back = try await Cluster.reconnected(bob)
            let pending = try await back.pending()
            #expect(pending.map { $0["groupId"]?.string } == [group])
            back.acknowledge(pending[0].id, from: alice.id)
            #expect(try await alice.client.next("message_delivered").payload["groupId"]?.string == group)
        }
    }
}

extension Phone {
    /// A new group of its own.
    fileprivate func makeGroup(with others: [Phone]) async throws -> String {
        let event = try await self.ask("group_create", ["title": "Group", "memberIds": others.map(\.id)])
            .expecting("group_event")
        return try #require(event.payload["group"]?["groupId"]?.string)
    }

    @discardableResult
    fileprivate func change(_ group: String, _ fields: Fields) async throws -> JSONFrame {
        try await self.ask("group_update", fields.with(["groupId": group]))
    }

    fileprivate func groups() async throws -> [JSON] {
        try await self.ask("group_list").expecting("groups").payload["groups"]?.elements ?? []
    }
}

extension JSON {
    /// Role of a member of this group.
    fileprivate func role(of identity: String) -> String? {
        self["members"]?.elements.first { $0["whisperId"]?.string == identity }?["role"]?.string
    }
}

extension String {
    fileprivate func replacingPrefix(_ prefix: String, _ other: String) -> String {
        other + self.dropFirst(prefix.count)
    }
}
