import Bus
import ClusterContract
import Contract
import Store
import TestKit
import Testing

@testable import RouterCore

@Suite(.serialized) struct GroupServiceTests {
    private let alice = person(1), bob = person(2), carol = person(3)

    @Test func aChangeIsStoredAnsweredAndToldToThoseWhoAreConnected() async throws {
        try await GroupBench.run { bench in
            bench.connect(bob, node: 8, connection: 80)
            let reply = await bench.service.handle(
                bench.request("group_create", createJSON("Hiking", [bob, carol]), by: alice))
            let event = try reply.answer.event()
            #expect(event.event == "created" && event.actor == "\(alice)" && event.added == ["\(bob)", "\(carol)"])
            #expect(event.group.revision == 1 && event.group.ownerId == "\(alice)" && event.group.title == "Hiking")
            #expect(event.group.role(alice) == "owner" && event.group.role(bob) == "member")
            guard case .groupEvent(_, let readers)? = reply.others[NodeID(value: 8)]?.first else {
                throw Unexpected(description: "\(reply.others)")
            }
            #expect(reply.others.count == 1 && readers.map(\.connection.value) == [80])
            #expect(try await bench.sql("SELECT count(*), count(DISTINCT number) FROM router.group_news") == "3|3")

            let id = event.group.id
            let second = await bench.update(id, by: alice, title: "Climbing", remove: [carol], roles: [(bob, .admin)])
            let changed = try second.answer.event()
            #expect(changed.event == "updated" && changed.removed == ["\(carol)"] && changed.group.revision == 2)
            #expect(changed.group.role(bob) == "admin" && changed.group.role(carol) == nil)
            // The latest one of each, also for whoever was removed.
            #expect(try await bench.sql("SELECT count(*), min(revision) FROM router.group_news") == "3|2")
            #expect(try await bench.list(of: alice).groups().map(\.title) == ["Climbing"])
            #expect(try await bench.list(of: carol).groups().isEmpty)
        }
    }

    @Test func theSameQuestionTwiceChangesAGroupOnce() async throws {
        try await GroupBench.run { bench in
            let make = bench.request("group_create", createJSON("Hiking", [bob]), by: alice, question: .max)
            async let one = bench.service.handle(make).answer
            async let two = bench.service.handle(make).answer
            let (first, second) = (await one, await two)
            #expect(try first.event().group.id == second.event().group.id)
            #expect(first.number == second.number && first.number != nil)
            let id = try first.event().group.id

            let change = bench.request("group_update", updateJSON(id, add: [carol]), by: alice, question: 17)
            _ = try await bench.service.handle(change).answer.event()
            _ = try await bench.update(id, by: alice, remove: [carol]).answer.event()
            // Taken again after a crash: it does not bring Carol back, and says what it said.
            let again = try await bench.service.handle(change).answer.event()
            #expect(again.added == ["\(carol)"] && again.group.revision == 2)
            let now = try await bench.list(of: alice).groups()
            #expect(now.map(\.revision) == [3] && now[0].role(carol) == nil)
        }
    }

    @Test func olderSessionsAndBannedPeopleChangeNothing() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [bob], by: alice)
            _ = try await bench.sql("UPDATE auth.identities SET epoch = 2 WHERE whisper_id = \(alice.bits)")
            #expect(await bench.update(group.id, by: alice, title: "Mine").answer.isStale)
            #expect(await bench.list(of: alice).isStale)
            #expect(try await bench.list(of: alice, epoch: 2).groups().map(\.title) == ["Hiking"])
            _ = try await bench.sql("UPDATE auth.identities SET is_banned = true WHERE whisper_id = \(bob.bits)")
            #expect(await bench.update(group.id, by: bob, remove: [bob]).answer.refusal == .userBanned)
            let request = bench.request("group_create", createJSON("With Bob", [bob]), by: carol)
            #expect(await bench.service.handle(request).answer.refusal == .forbidden)
            #expect(await bench.update(.random(), by: carol, title: "None").answer.refusal == .notFound)
            #expect(await bench.update(group.id, by: carol, title: "None").answer.refusal == .forbidden)
        }
    }

    @Test func whatChangesNothingIsAnsweredAndNotTold() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [bob], by: alice)
            let reply = await bench.update(group.id, by: alice, title: "Hiking", add: [bob])
            #expect(try reply.answer.event().group.revision == 1 && reply.answer.number == nil && reply.others.isEmpty)
        }
    }

    @Test func theLastOneToLeaveEndsTheGroupAndIsTold() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [bob, carol], by: alice)
            let passed = try await bench.update(group.id, by: alice, remove: [alice]).answer.event()
            #expect(passed.group.ownerId == "\(bob)" && passed.group.role(bob) == "owner")
            _ = await bench.update(group.id, by: carol, remove: [carol])
            let end = try await bench.update(group.id, by: bob, remove: [bob]).answer.event()
            #expect(end.group.members.isEmpty && end.removed == ["\(bob)"])
            #expect(try await bench.sql("SELECT count(*) FROM router.groups") == "0")
            #expect(try await bench.sql("SELECT count(*) FROM router.group_members") == "0")
            #expect(await bench.update(group.id, by: bob, title: "Ghost").answer.refusal == .notFound)
        }
    }

    @Test func changesAtTheSameTimeAreDoneOneAfterTheOther() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [], by: alice)
            await withTaskGroup { tasks in
                for number in 10..<30 {
                    tasks.addTask { _ = await bench.update(group.id, by: alice, add: [person(number)]) }
                }
            }
            let seen = try await bench.list(of: alice).groups()[0]
            #expect(seen.members.count == 21 && seen.revision == 21)
            #expect(try await bench.sql("SELECT count(*) FROM router.group_members WHERE role = 0") == "1")
        }
    }

    @Test func newsIsKeptUntilItsOwnNumberIsConfirmed() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [bob], by: alice)
            let first = try await pending(of: bob, bench)
            _ = await bench.update(group.id, by: alice, title: "Climbing")
            let second = try await pending(of: bob, bench)
            #expect(first.count == 1 && second.count == 1 && first[0].number < second[0].number)
            // The client has read the first one; the second replaced it meanwhile.
            try await bench.pool.execute(GroupNewsTable.remove(first.map(\.number)))
            #expect(try await pending(of: bob, bench).map(\.number) == second.map(\.number))
            try await bench.pool.execute(GroupNewsTable.remove(second.map(\.number)))
            #expect(try await pending(of: bob, bench).isEmpty)
        }
    }

    @Test func eventsThatEverybodyHasHeardOfAreForgotten() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [bob], by: alice)
            _ = await bench.update(group.id, by: alice, title: "Climbing")
            try await bench.pool.execute(GroupNewsTable.forget(olderThan: .seconds(60)))
            #expect(try await bench.sql("SELECT count(*) FROM router.group_events") == "2")
            try await bench.pool.execute(GroupNewsTable.forget(olderThan: .seconds(-60)))
            #expect(try await bench.sql("SELECT revision FROM router.group_events") == "2")
            let payloads = try await bench.pool.query(
                GroupNewsTable.payloads(of: [.init(group: group.id, revision: 2)]))
            #expect(payloads.count == 1)
        }
    }

    private func pending(of member: WhisperID, _ bench: GroupBench) async throws -> [GroupNews] {
        try await bench.pool.query(GroupNewsTable.pending(of: [member]))
    }
}

@Suite(.serialized) struct GroupMailTests {
    private let alice = person(1), bob = person(2), carol = person(3), dave = person(4)

    private func envelope(
        from sender: WhisperID, to recipient: WhisperID, in group: UUIDText?, id: UUIDText = .random(),
        at time: Timestamp = .now
    ) -> AcceptEnvelope {
        AcceptEnvelope(
            answer: AnswerAddress(node: NodeID(value: 1), question: 1),
            sender: Caller(identity: sender, epoch: Epoch(value: 1)),
            senderKey: Bytes32([UInt8](repeating: 0, count: 32))!,
            messageID: id, to: recipient, group: group, timestamp: time,
            signature: Bytes64([UInt8](repeating: 0, count: 64))!, digest: Bytes32([UInt8](repeating: 0, count: 32))!,
            payload: Array("{}".utf8), receivedAt: .now)
    }

    private func verdicts(_ envelopes: [AcceptEnvelope], _ bench: GroupBench) async throws -> [AcceptStatement.Verdict]
    {
        try await bench.pool.query(AcceptStatement.statement(for: envelopes)).map(\.verdict)
    }

    @Test func membershipIsJudgedWhereTheMailIsStored() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [bob, carol], by: alice).id
            let sent = envelope(from: alice, to: bob, in: group)
            let all = [
                sent, envelope(from: alice, to: carol, in: group, id: sent.messageID),
                envelope(from: alice, to: dave, in: group),
                envelope(from: dave, to: bob, in: group), envelope(from: alice, to: bob, in: .random()),
                envelope(from: alice, to: person(999), in: group), envelope(from: alice, to: dave, in: nil),
            ]
            #expect(
                try await verdicts(all, bench) == [
                    .accepted, .accepted, .notMembers, .notMembers, .unknownGroup, .unknownRecipient, .accepted,
                ])
            #expect(try await bench.sql("SELECT count(*), count(group_id) FROM router.ledger") == "3|2")
            // From the moment that a removal is answered nothing is accepted, in either direction; what was accepted
            // before is acknowledged again.
            _ = try await bench.update(group, by: alice, remove: [bob]).answer.event()
            let late = [sent, envelope(from: alice, to: bob, in: group), envelope(from: bob, to: carol, in: group)]
            #expect(try await verdicts(late, bench) == [.repeated, .notMembers, .notMembers])
        }
    }

    @Test func aReceiptForGroupMailNamesTheGroup() async throws {
        try await GroupBench.run { bench in
            let group = try await bench.create("Hiking", [bob], by: alice).id
            let (inGroup, alone) = (envelope(from: alice, to: bob, in: group), envelope(from: alice, to: bob, in: nil))
            _ = try await verdicts([inGroup, alone], bench)
            let reports = [inGroup, alone].map {
                ReceiptReport(
                    recipient: Caller(identity: bob, epoch: Epoch(value: 1)), sender: alice, messageID: $0.messageID,
                    status: .delivered, timestamp: .now)
            }
            let results = try await bench.pool.query(ReceiptStatement.statement(for: reports))
            let groups = results.sorted { $0.position < $1.position }.map(\.group)
            #expect(groups == [group, nil])
            let told = try await bench.pool.query(OutcomesTable.pending(of: [alice]))
            #expect(Set(told.map(\.outcome.group)) == [group, nil])
        }
    }

    /// 256 recipients are one statement.
    @Test func aFanOutIsStoredTogether() async throws {
        try await GroupBench.run(GroupConfiguration(strangersPerDayMax: 255)) { bench in
            let members = (2..<257).map { person($0) }
            let group = try await bench.create("All", members, by: alice).id
            let id = UUIDText.random()
            let all = members.map { envelope(from: alice, to: $0, in: group, id: id) }
            #expect(try await verdicts(all, bench) == [AcceptStatement.Verdict](repeating: .accepted, count: 255))
            #expect(try await verdicts(all, bench) == [AcceptStatement.Verdict](repeating: .repeated, count: 255))
        }
    }
}
