import LocalStack
import TestKit
import Testing

extension StrangerCluster {
    // MARK: Groups

    @Test func aStrangerAddsFiftyStrangersADay() async throws {
        let (mallory, friend) = try await Cluster.friends()
        let others = try await Cluster.strangers(StrangerBounds.additionsADay + 1).map(\.id)
        let group = try await mallory.group(of: Array(others.dropLast()))
        // By no frame, in no group.
        for member in [others.last!, others[0]] {
            let again: Fields = ["title": "Again", "memberIds": [member]]
            #expect(try await mallory.ask("group_create", again).errorCode == "RATE_LIMITED")
        }
        let more: Fields = ["groupId": group, "addMembers": [others.last!]]
        #expect(try await mallory.ask("group_update", more).errorCode == "RATE_LIMITED")
        // Peers are not counted.
        _ = try await mallory.group(of: [friend.id])
    }

    @Test func strangersPutNobodyIntoMoreThanAHundredGroups() async throws {
        let (alice, friend) = try await Cluster.friends()
        let (each, all) = (StrangerBounds.additionsADay, StrangerBounds.groupsOfStrangers)
        let strangers = try await Cluster.strangers(1 + (all + each - 1) / each)
        var made = 0
        for stranger in strangers.dropLast() {
            let frames = (0..<min(each, all - made)).map { _ in
                (type: "group_create", fields: ["title": "Join", "memberIds": [alice.id]] as Fields)
            }
            made += await stranger.asks(atOnce: frames).count(of: "group_event")
        }
        #expect(made == all)
        let oneMore: Fields = ["title": "Join", "memberIds": [alice.id]]
        #expect(try await strangers.last!.ask("group_create", oneMore).errorCode == "FORBIDDEN")
        _ = try await friend.group(of: [alice.id])

        // Her own stand first, however new; and each comes once.
        let own = try await alice.group(of: [friend.id])
        var fields: Fields = ["limit": 30]
        var listed: [String] = []
        repeat {
            let page = try await alice.ask("group_list", fields).expecting("groups")
            let groups = page.payload["groups"]?.elements ?? []
            #expect(groups.count <= 30)
            listed += groups.compactMap { $0["groupId"]?.string }
            fields["cursor"] = page.payload["nextCursor"]?.string
        } while fields["cursor"] != nil && listed.count <= all + 2
        #expect(listed.first == own && listed.count == all + 2 && Set(listed).count == listed.count)
    }

    @Test func whoComesBackIsGreetedWithFewGroupEvents() async throws {
        let (alice, friend) = try await Cluster.friends()
        let own = try await alice.group(of: [friend.id])
        let admin: Fields = ["whisperId": friend.id, "role": "admin"]
        try await alice.ask("group_update", ["groupId": own, "roleChanges": [admin]]).expecting("group_event")
        alice.client.cut()
        // As long as a title may be.
        let title = String(repeating: "🦉", count: 64)
        let frames = Array(
            repeating: (type: "group_create", fields: ["title": title, "memberIds": [alice.id]] as Fields), count: 150)
        #expect(await friend.asks(atOnce: frames).count(of: "group_event") == frames.count)
        // Her own is the last of which there is news.
        try await friend.ask("group_update", ["groupId": own, "title": "News"]).expecting("group_event")

        let back = try await alice.elsewhere(gateway: 2)
        // More events come when its client has confirmed these.
        back.client.answersPings = false
        _ = try await back.fetch()
        // The mail may come before the events, which are read behind it.
        let first = try await back.client.next("group_event")
        try await back.client.settle()
        let events = [first] + back.client.frames("group_event")
        let bytes = events.reduce(0) { $0 + $1.payload.text.utf8.count }
        #expect((1...StrangerBounds.groupEventBytes).contains(bytes), "\(bytes) bytes in \(events.count) events")
        #expect(first.payload["group"]?["groupId"]?.string == own)
    }
}

extension Phone {
    /// Makes a group.
    /// - Returns: its id.
    fileprivate func group(of members: [String]) async throws -> String {
        let event = try await self.ask("group_create", ["title": "Group", "memberIds": members])
            .expecting("group_event")
        return try #require(event.payload["group"]?["groupId"]?.string)
    }
}
