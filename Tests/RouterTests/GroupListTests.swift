import Contract
import Testing

@testable import RouterCore

/// Contract §6: `group_list`, against a real Postgres.
@Suite(.serialized) struct GroupListTests {
    private let alice = person(1), bob = person(2), carol = person(3)

    @Test func ownGroupsComeFirstThenThoseOfAnAdminThenTheOldest() async throws {
        try await GroupBench.run { bench in
            let first = try await bench.create("A member, old", [alice], by: bob)
            _ = try await bench.create("A member, young", [alice], by: bob)
            let admin = try await bench.create("An admin", [alice], by: bob)
            _ = await bench.update(admin.id, by: bob, roles: [(alice, .admin)])
            _ = try await bench.create("An owner, old", [carol], by: alice)
            _ = try await bench.create("An owner, young", [], by: alice)
            _ = try await bench.create("Not hers", [carol], by: bob)
            _ = await bench.update(first.id, by: bob, add: [carol])
            let seen = try await bench.list(of: alice).groups()
            #expect(
                seen.map(\.title) == [
                    "An owner, old", "An owner, young", "An admin", "A member, old", "A member, young",
                ])
            #expect(Set(seen[3].members.map(\.whisperId)) == Set([bob, alice, carol].map { "\($0)" }))
            #expect(try await bench.list(of: alice).nextCursor() == nil)
        }
    }

    @Test func twoHundredGroupsOfAStrangerHideNoneOfOnesOwn() async throws {
        try await GroupBench.run { bench in
            let own = try await bench.create("My own", [bob], by: alice)
            try await bench.fill(200, of: carol, with: alice, members: 256)
            #expect(try await bench.list(of: alice).groups().map(\.id).contains(own.id))
            let all = try await bench.wholeList(of: alice, limit: 100)
            #expect(all.first?.id == own.id && all.count == 201 && Set(all.map(\.id)).count == 201)
        }
    }

    @Test func aPageEndsBefore480000Bytes() async throws {
        try await GroupBench.run { bench in
            try await bench.fill(50, of: bob, with: alice, members: 256)
            let page = await bench.list(of: alice)
            #expect(page.bytes > 450_000 && page.bytes < Limits.pageBytesMax - 300)
            #expect(try await bench.wholeList(of: alice, limit: 100).count == 50)
        }
    }

    @Test func pagesOfAnySizeMakeTheSameList() async throws {
        try await GroupBench.run { bench in
            for number in 0..<7 { _ = try await bench.create("Own \(number)", [], by: alice) }
            try await bench.fill(6, of: bob, with: alice)
            let whole = try await bench.list(of: alice).groups().map(\.id)
            #expect(whole.count == 13)
            for limit in [1, 2, 5, 6, 7, 12, 13, 14] {
                #expect(try await bench.wholeList(of: alice, limit: limit).map(\.id) == whole)
            }
        }
    }

    @Test func noGroupIsSkippedWhoseRoleRisesOrFallsBetweenPages() async throws {
        try await GroupBench.run { bench in
            var groups: [UUIDText] = []
            for number in 0..<12 {
                groups.append(try await bench.create("Group \(number)", [alice, carol], by: bob).id)
            }
            for group in groups[0..<4] { _ = await bench.update(group, by: bob, roles: [(alice, .admin)]) }
            // In the list: admin of 0 to 3, member of 4 to 11.
            let seen = try await bench.wholeList(of: alice, limit: 1) { page in
                switch page {
                // Up, behind the place that has been reached.
                case 1: _ = await bench.update(groups[11], by: bob, roles: [(alice, .admin)])
                // Down, from there.
                case 2: _ = await bench.update(groups[3], by: bob, roles: [(alice, .member)])
                // Up to the owner, who has left.
                case 6: _ = await bench.update(groups[9], by: bob, remove: [bob])
                case 7: _ = await bench.update(groups[10], by: bob, roles: [(alice, .admin)])
                default: break
                }
            }
            #expect(Set(seen.map(\.id)) == Set(groups))
        }
    }
}
