import ClusterContract
import Contract
import LocalStack
import Store
import TestKit
import Testing

@testable import RouterCore

/// Contract §13a: what is judged where it is stored, against a real Postgres.
@Suite(.serialized) struct GroupBoundsServiceTests {
    private let alice = person(1), bob = person(2), carol = person(3)

    private func create(_ members: [WhisperID], by caller: WhisperID, _ bench: GroupBench) async -> Answer {
        await bench.service.handle(bench.request("group_create", createJSON("Group", members), by: caller)).answer
    }

    /// How many of these answers are events; the others are refused with this code.
    private func done(_ answers: [Answer], else code: ErrorCode) throws -> Int {
        let done = answers.filter { $0.refusal == nil }
        for answer in done { _ = try answer.event() }
        #expect(answers.allSatisfy { $0.refusal == nil || $0.refusal == code })
        return done.count
    }

    /// All at once.
    private func answers(_ count: Int, _ ask: @escaping @Sendable (Int) async -> Answer) async -> [Answer] {
        await withTaskGroup { tasks in
            for number in 0..<count { tasks.addTask { await ask(number) } }
            return await tasks.reduce(into: []) { $0.append($1) }
        }
    }

    // MARK: Strangers in a day

    @Test func the51stStrangerOfADayIsRefusedAndNothingIsStored() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", (100..<149).map { person($0) }, by: alice)
            // Two are one too many: neither is added.
            let refused = await bench.update(group.id, by: alice, add: [bob, carol]).answer
            #expect(refused.refusal == .rateLimited)
            let wait = try #require(refused.retryAfter)
            #expect((86_000_000...86_400_000).contains(wait))
            #expect(try await bench.list(of: alice).groups().map(\.revision) == [1])
            #expect(try await bench.sql("SELECT count(*) FROM router.group_news WHERE member = \(bob.bits)") == "0")
            _ = try await bench.update(group.id, by: alice, add: [bob]).answer.event()
            #expect(await self.create([carol], by: alice, bench).refusal == .rateLimited)

            // A peer is none, nor is who makes a group alone; another one's day is another's.
            try await bench.makePeers(alice, carol)
            _ = try await bench.update(group.id, by: alice, add: [carol]).answer.event()
            _ = try await self.create([], by: alice, bench).event()
            _ = try await self.create([carol], by: bob, bench).event()
        }
    }

    @Test func additionsAreForgottenAfterADayOfTheDatabases() async throws {
        try await GroupBench.run(GroupConfiguration(strangersPerDayMax: 3)) { bench in
            let group = try await bench.create("Hiking", [person(100), person(101), person(102)], by: alice)
            _ = try await bench.sql(
                """
                UPDATE router.group_quotas SET additions = ARRAY[now() - interval '25 hours', now() - interval '23 hours',
                    now() - interval '22 hours', now() + interval '3 years'] WHERE identity = \(alice.bits)
                """)
            // Years ahead, and nobody's peer by that clock either.
            let ahead = GroupService(
                pool: bench.pool, bus: bench.bus, configuration: GroupConfiguration(strangersPerDayMax: 3),
                clock: { .now + .seconds(10 * 365 * 86_400) }, logger: quiet)
            let two = bench.request("group_update", updateJSON(group.id, add: [bob, carol]), by: alice)
            let refused = await ahead.handle(two).answer
            #expect(refused.refusal == .rateLimited)
            let wait = try #require(refused.retryAfter)
            #expect((3_500_000...3_600_000).contains(wait))
            _ = try await bench.update(group.id, by: alice, add: [bob]).answer.event()
            // Additions that no longer count are not kept.
            let kept = "SELECT cardinality(additions) FROM router.group_quotas WHERE identity = \(alice.bits)"
            #expect(try await bench.sql(kept) == "3")
        }
    }

    // MARK: Owning, and being in

    @Test func the201stGroupOfOnesOwnIsRefused() async throws {
        try await GroupBench.run { bench in
            try await bench.fill(199, of: alice, with: bob)
            let last = try await self.create([], by: alice, bench).event().group
            #expect(await self.create([], by: alice, bench).refusal == .forbidden)
            #expect(try await bench.sql("SELECT count(*) FROM router.groups") == "200")
            _ = try await bench.update(last.id, by: alice, remove: [alice]).answer.event()
            _ = try await self.create([], by: alice, bench).event()
            // Nor does a group pass to somebody who owns so many.
            let another = try await bench.create("Bob's", [alice, carol], by: bob)
            #expect(
                try await bench.update(another.id, by: bob, remove: [bob]).answer.event().group.ownerId == "\(carol)")
            let both = try await bench.create("Theirs", [alice], by: bob)
            #expect(await bench.update(both.id, by: bob, remove: [bob]).answer.refusal == .forbidden)
            #expect(
                try await bench.update(both.id, by: bob, remove: [bob, alice]).answer.event().group.members.isEmpty)
        }
    }

    @Test func nobodyIsInMoreThanAThousandGroupsAndAllCanBeLeft() async throws {
        try await GroupBench.run { bench in
            try await bench.fill(999, of: carol, with: alice)
            try await bench.makePeers(alice, bob)
            let group = try await bench.create("The thousandth", [alice], by: bob)
            #expect(await self.create([alice], by: bob, bench).refusal == .forbidden)
            #expect(await self.create([], by: alice, bench).refusal == .forbidden)
            for group in try await bench.wholeList(of: alice, limit: 100) {
                _ = try await bench.update(group.id, by: alice, remove: [alice]).answer.event()
            }
            #expect(try await bench.list(of: alice).groups().isEmpty)
            #expect(await bench.update(group.id, by: alice, remove: [alice]).answer.refusal == .forbidden)
        }
    }

    @Test func strangersPutNobodyIntoThe101stGroup() async throws {
        try await GroupBench.run { bench in
            var groups: [UUIDText] = []
            for number in 100..<200 {
                groups.append(try await bench.create("Stranger's", [alice], by: person(number)).id)
            }
            #expect(await self.create([alice], by: bob, bench).refusal == .forbidden)
            let theirs = try await bench.create("Without her", [], by: bob)
            #expect(await bench.update(theirs.id, by: bob, add: [alice]).answer.refusal == .forbidden)
            // Her peers may, and it counts among these no more.
            try await bench.makePeers(carol, alice)
            let peers = try await bench.create("A peer's", [alice], by: carol)
            _ = try await bench.update(peers.id, by: alice, remove: [alice]).answer.event()
            #expect(await self.create([alice], by: bob, bench).refusal == .forbidden)
            // An identity that leaves, or is removed, is in fewer groups.
            _ = try await bench.update(groups[0], by: alice, remove: [alice]).answer.event()
            _ = try await self.create([alice], by: bob, bench).event()
            #expect(await self.create([alice], by: bob, bench).refusal == .forbidden)
            _ = try await bench.update(groups[1], by: person(101), remove: [alice]).answer.event()
            _ = try await self.create([alice], by: bob, bench).event()
        }
    }

    @Test func strangersWhoAddAndRemoveMakeNoEventsPileUp() async throws {
        try await GroupBench.run(GroupConfiguration(joinedMax: 5, strangersPerDayMax: 1_000)) { bench in
            for number in 100..<105 {
                let group = try await bench.create("Group", [alice], by: person(number))
                _ = try await bench.update(group.id, by: person(number), remove: [alice]).answer.event()
            }
            #expect(await self.create([alice], by: person(105), bench).refusal == .forbidden)
            _ = try await bench.sql("DELETE FROM router.group_news WHERE member = \(alice.bits)")
            _ = try await self.create([alice], by: person(105), bench).event()
        }
    }

    // MARK: At the same time

    @Test func twoAtOnceDoNotPassABoundTogether() async throws {
        let few = GroupConfiguration(ownedMax: 3, joinedMax: 6, byStrangersMax: 2, strangersPerDayMax: 4)
        try await GroupBench.run(few) { bench in
            let owned = await self.answers(12) { _ in await self.create([], by: alice, bench) }
            #expect(try self.done(owned, else: .forbidden) == 3)
            let byStrangers = await self.answers(12) { await self.create([bob], by: person(100 + $0), bench) }
            #expect(try self.done(byStrangers, else: .forbidden) == 2)
            for number in 120..<132 { try await bench.makePeers(person(number), carol) }
            let joined = await self.answers(12) { await self.create([carol], by: person(120 + $0), bench) }
            #expect(try self.done(joined, else: .forbidden) == 6)
            let group = try await bench.create("Hiking", [], by: person(4))
            let strangers = await self.answers(12) {
                await bench.update(group.id, by: person(4), add: [person(200 + $0)]).answer
            }
            #expect(try self.done(strangers, else: .rateLimited) == 4)
            // In groups of its own each, so that no group's lock keeps them apart.
            let groups = try await self.owned(3, by: person(5), bench)
            let apart = await self.answers(12) {
                await bench.update(groups[$0 % 3], by: person(5), add: [person(220 + $0)]).answer
            }
            #expect(try self.done(apart, else: .rateLimited) == 4)
        }
    }

    private func owned(_ count: Int, by owner: WhisperID, _ bench: GroupBench) async throws -> [UUIDText] {
        var groups: [UUIDText] = []
        for _ in 0..<count { groups.append(try await bench.create("Group", [], by: owner).id) }
        return groups
    }

    @Test func theSameQuestionTwiceAtTheBoundIsAnsweredAlike() async throws {
        try await GroupBench.run(GroupConfiguration(ownedMax: 1)) { bench in
            for number in 100..<130 {
                let make = bench.request("group_create", createJSON("Mine", [bob]), by: person(number))
                let answers = await self.answers(2) { _ in await bench.service.handle(make).answer }
                let groups = try answers.map { try $0.event().group.groupId }
                #expect(Set(groups).count == 1)
            }
        }
    }

    /// The order of additions must not matter: otherwise two transactions wait for each other, until Postgres ends one.
    @Test func peopleWhoAddEachOtherAtOnceDoNotWaitInACircle() async throws {
        try await GroupBench.run(GroupConfiguration(strangersPerDayMax: 10_000)) { bench in
            let people = (0..<8).map { person($0) }
            for _ in 0..<12 {
                let answers = await self.answers(8) { number in
                    await self.create(people.filter { $0 != people[number] }.shuffled(), by: people[number], bench)
                }
                #expect(try self.done(answers, else: .forbidden) == 8)
            }
            bench.pool.close()
            // A connection says what it has counted when it ends.
            try await waitUntil("the connections have ended", within: .seconds(10), every: .milliseconds(20)) {
                try await bench.sql(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE usename = 'whisper_router' AND datname = current_database()
                    """) == "0"
            }
            #expect(
                try await bench.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "0")
        }
    }
}

/// Group events that wait for absent members.
@Suite(.serialized) struct GroupNewsTests {
    private let alice = person(1), bob = person(2), carol = person(3)

    private func pending(of members: [WhisperID], _ bench: GroupBench) async throws -> [GroupNews] {
        try await bench.pool.query(GroupNewsTable.pending(of: members))
    }

    private func bytes(of news: [GroupNews], _ bench: GroupBench) async throws -> Int {
        let payloads = try await bench.pool.query(GroupNewsTable.payloads(of: news.map(\.event)))
        #expect(payloads.map(\.event) == news.map(\.event))
        return payloads.reduce(0) { $0 + $1.payload.count }
    }

    /// 255 others, 20 kB to tell.
    private var crowd: [WhisperID] { (100..<355).map { person($0) } }

    @Test func whoBindsIsToldA64kBAtATimeOwnGroupsFirst() async throws {
        try await GroupBench.run(GroupConfiguration(strangersPerDayMax: 10_000)) { bench in
            var strangers: [UUIDText] = []
            for _ in 0..<8 {
                strangers.append(try await bench.create("Stranger's", [alice] + crowd.dropLast(), by: bob).id)
            }
            let admin = try await bench.create("An admin", [alice], by: carol).id
            _ = await bench.update(admin, by: carol, roles: [(alice, .admin)])
            let own = try await bench.create("Her own", [], by: alice).id
            var told: [UUIDText] = []
            for round in 0..<10 {
                let news = try await self.pending(of: [alice, bob], bench).filter { $0.member == alice }
                if news.isEmpty { break }
                #expect(try await self.bytes(of: news, bench) <= 64_000)
                #expect(news.count >= (round == 0 ? 4 : 1))
                told += news.map(\.event.group)
                try await bench.pool.execute(GroupNewsTable.remove(news.map(\.number)))
            }
            #expect(told == [own, admin] + strangers)
        }
    }

    @Test func anEventLargerThanThatGoesAlone() async throws {
        try await GroupBench.run { bench in
            let first = try await bench.create("First", [alice], by: bob)
            let second = try await bench.create("Second", [alice], by: bob)
            _ = try await bench.sql("UPDATE router.group_events SET payload = convert_to(repeat('x', 70000), 'UTF8')")
            let news = try await self.pending(of: [alice], bench)
            #expect(news.map(\.event.group) == [first.id])
            try await bench.pool.execute(GroupNewsTable.remove(news.map(\.number)))
            #expect(try await self.pending(of: [alice], bench).map(\.event.group) == [second.id])
        }
    }

    @Test func newsWaitsFor30DaysOfTheDatabasesClock() async throws {
        try await GroupBench.run { bench in
            // By its clock everything was long ago.
            let behind = GroupService(
                pool: bench.pool, bus: bench.bus, clock: { .now - .seconds(20 * 365 * 86_400) }, logger: quiet)
            let old = try await behind.handle(bench.request("group_create", createJSON("Old", [bob]), by: alice)).answer
                .event().group
            let young = try await behind.handle(bench.request("group_create", createJSON("Young", [bob]), by: alice))
                .answer.event().group
            let expire = GroupNewsTable.expire(olderThan: Limits.groupEventTTL)
            #expect(try await bench.pool.execute(expire) == 0)
            _ = try await bench.sql(
                "UPDATE router.group_news SET created_at = now() - interval '30 days 1 minute' WHERE group_id = '\(old.id)'"
            )
            _ = try await bench.sql(
                "UPDATE router.group_news SET created_at = now() - interval '29 days 23 hours' WHERE group_id = '\(young.id)'"
            )
            #expect(try await bench.pool.execute(expire) == 2)
            #expect(try await self.pending(of: [bob], bench).map(\.event.group) == [young.id])
            // Nobody waits for it any more.
            try await bench.pool.execute(GroupNewsTable.forget(olderThan: .seconds(-60)))
            #expect(try await bench.sql("SELECT group_id FROM router.group_events") == "\(young.id)")
        }
    }
}
