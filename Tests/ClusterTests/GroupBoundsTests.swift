import TestKit
import Testing

extension CalmCluster {
    /// Contract §6 and §13a: many groups of others.
    @Suite struct GroupBounds {
        @Test func aListOf300GroupsIsReadWholeWhileOthersComeAndGo() async throws {
            let (alice, bob, reader) = (
                try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2),
                try await Cluster.phone(gateway: 1)
            )
            for peer in [alice, bob] { try await self.befriend(peer, reader) }
            let own = try await reader.makeGroup("Own", with: [])
            let groups = try await Cluster.each(of: Array(0..<300)) { number in
                try await (number.isMultiple(of: 2) ? alice : bob).makeGroup("Group \(number)", with: [reader])
            }
            var (read, left): ([String], Set<String>) = ([], [])
            var page = try await reader.listGroups(limit: 37)
            while true {
                let ids = page.groups.compactMap { $0["groupId"]?.string }
                #expect(ids.count <= 37)
                read += ids
                guard let cursor = page.nextCursor else { break }
                // One that has been read, and one that has not if there is any.
                for group in [ids[0], groups.first { !read.contains($0) && !left.contains($0) }] {
                    guard let group, group != own else { continue }
                    left.insert(group)
                    try await reader.ask("group_update", ["groupId": group, "removeMembers": [reader.id]]).expecting(
                        "group_event")
                }
                _ = try await alice.makeGroup("Added", with: [reader])
                page = try await reader.listGroups(cursor: cursor, limit: 37)
            }
            #expect(read.first == own && Set(read).count == read.count)
            #expect(Set(read).isSuperset(of: Set(groups).subtracting(left)))
        }

        @Test func whoBindsIsToldOfItsOwnGroupsFirstAnd64kBAtATime() async throws {
            let (alice, reader) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let own = try await reader.makeGroup("Own", with: [alice])
            let admin: Fields = ["whisperId": alice.id, "role": "admin"]
            try await reader.ask("group_update", ["groupId": own, "roleChanges": [admin]]).expecting("group_event")
            reader.client.cut()
            var groups: [String] = []
            for number in 0..<12 { groups.append(try await alice.makeGroup("Group \(number)", with: [reader])) }
            try await alice.ask("group_update", ["groupId": own, "title": "Still her own"]).expecting("group_event")
            // As long as those of large groups are.
            let ids = (groups + [own]).map { "'\($0.dropFirst("grp-".count))'" }.joined(separator: ",")
            _ = try await Cluster.database(
                """
                UPDATE router.group_events SET payload =
                    substring(payload FROM 1 FOR octet_length(payload) - 1) || convert_to(repeat(' ', 20000) || '}', 'UTF8')
                WHERE group_id IN (\(ids))
                """)

            let silent = try await Cluster.reconnected(reader, gateway: 1)
            silent.client.answersPings = false
            _ = try await silent.pending()
            let first = try await silent.client.next("group_event")
            #expect(first.payload["group"]?["groupId"]?.string == own)
            for _ in 0..<2 { _ = try await silent.client.next("group_event") }
            try await silent.client.settle()
            #expect(silent.client.frames("group_event").isEmpty)

            let back = try await Cluster.reconnected(reader, gateway: 2)
            _ = try await back.pending()
            var told: [String] = []
            while Set(told) != Set(groups + [own]) {
                let event = try await back.client.next("group_event", within: .seconds(30))
                told.append(event.payload["group"]?["groupId"]?.string ?? "")
            }
            #expect(told.first == own)
        }

        /// They write to each other, which makes them peers.
        private func befriend(_ one: Phone, _ other: Phone) async throws {
            try await one.text(other)
            try await other.text(one)
        }
    }
}

extension Phone {
    fileprivate func makeGroup(_ title: String, with others: [Phone]) async throws -> String {
        let event = try await self.ask("group_create", ["title": title, "memberIds": others.map(\.id)]).expecting(
            "group_event")
        return try #require(event.payload["group"]?["groupId"]?.string)
    }

    fileprivate func listGroups(cursor: String? = nil, limit: Int) async throws -> (groups: [JSON], nextCursor: String?)
    {
        var fields: Fields = ["limit": limit]
        fields["cursor"] = cursor
        let answer = try await self.ask("group_list", fields).expecting("groups")
        return (answer.payload["groups"]?.elements ?? [], answer.payload["nextCursor"]?.string)
    }
}
