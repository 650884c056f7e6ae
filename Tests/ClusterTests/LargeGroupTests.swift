import TestKit
import Testing

extension CalmCluster {
    /// Contract §6: 256 people are a group.
    @Suite struct LargeGroups {
        private static let membersMax = 256
        /// Most members are away when something happens. So many are not.
        private static let stayingCount = 15

        @Test func aGroupOf256IsHeardByAllAndTakesNobodyElse() async throws {
            let owner = try await Cluster.phone(gateway: 1)
            let everybody = try await Cluster.phones(Self.membersMax)
            let (members, stranger) = (Array(everybody.dropLast()), everybody[Self.membersMax - 1])
            let (staying, leaving) = (members.prefix(Self.stayingCount), Array(members.dropFirst(Self.stayingCount)))
            for phone in leaving { phone.client.cut() }

            let (first, later) = (members.prefix(200).map(\.id), members.dropFirst(200).map(\.id))
            let created = try await owner.ask("group_create", ["title": "Everybody", "memberIds": first]).expecting(
                "group_event")
            let group = try #require(created.payload["group"]?["groupId"]?.string)
            let grown = try await owner.ask("group_update", ["groupId": group, "addMembers": later]).expecting(
                "group_event")
            let names = Set((grown.payload["group"]?["members"]?.elements ?? []).compactMap { $0["whisperId"]?.string })
            #expect(names == Set(members.map(\.id) + [owner.id]))
            let more = try await owner.ask("group_update", ["groupId": group, "addMembers": [stranger.id]])
            #expect(more.errorCode == "INVALID_PAYLOAD")
            let tooMany = try await owner.ask("group_create", ["title": "Too many", "memberIds": everybody.map(\.id)])
            #expect(tooMany.errorCode == "INVALID_PAYLOAD")

            let id = newUUID()
            for phone in members {
                let message = owner.groupMessage(to: phone.id, in: group, id: id)
                owner.client.send("group_send_message", owner.privileges.with(message), requestID: phone.id)
            }
            for recipient in members.map(\.id) {
                let answer = try await owner.client.frame("the answer about \(recipient)") { $0.requestID == recipient }
                #expect(try answer.expecting("message_accepted").payload["to"]?.string == recipient)
            }
            for phone in staying {
                let received = try await phone.received(id)
                #expect(received.payload["groupId"]?.string == group && received.payload["to"]?.string == phone.id)
                phone.acknowledge(id, from: owner.id)
                _ = try await phone.client.next("group_event") { Self.hasAllMembers($0) }
            }
            try await Cluster.each(of: leaving) { phone in
                let back = try await Cluster.reconnected(phone)
                let mail = try await back.pending()
                #expect(mail.map(\.id) == [id] && mail.first?["groupId"]?.string == group)
                let event = try await back.client.next("group_event")
                #expect(Self.hasAllMembers(event))
                back.acknowledge(id, from: owner.id)
                try await back.client.settle()
            }

            var told: Set<String> = []
            while told.count < members.count {
                let news = try await owner.client.next("message_delivered") { $0.payload.id == id }
                told.insert(news.payload["from"]?.string ?? "")
            }
            #expect(told == Set(members.map(\.id)))
            try await stranger.client.settle()
            #expect(stranger.client.frames("group_event").isEmpty)
        }

        private static func hasAllMembers(_ event: JSONFrame) -> Bool {
            event.payload["group"]?["members"]?.elements.count == Self.membersMax
        }
    }
}
