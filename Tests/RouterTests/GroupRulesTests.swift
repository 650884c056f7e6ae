import Contract
import RouterCore
import Testing
import TestKit

@Suite struct GroupRulesTests {
    private let now = Timestamp(milliseconds: 1_730_000_000_000)
    private let alice = person(1), bob = person(2), carol = person(3), dave = person(4)

    private let unbounded = GroupConfiguration(
        ownedMax: .max, joinedMax: .max, byStrangersMax: .max, strangersPerDayMax: .max)

    private func known(_ banned: WhisperID...) -> GroupRules.Known {
        Dictionary(uniqueKeysWithValues: (0..<400).map { (person($0), banned.contains(person($0))) })
    }

    /// Alice's group with Bob and Carol, who came in this order.
    private func group() throws -> Group {
        let created = try GroupRules.create(
            createFrame("Hiking", [bob]), as: .random(), by: alice, known: self.known(), at: self.now)
        return try self.update(created.group, by: alice, add: [carol], at: self.now + .seconds(1)).group
    }

    private func update(
        _ group: Group?, by caller: WhisperID, title: String? = nil, add: [WhisperID] = [], remove: [WhisperID] = [],
        roles: [(WhisperID, GroupRole)] = [], known: GroupRules.Known? = nil, at time: Timestamp? = nil
    ) throws(Refusal) -> GroupChange {
        let change = try GroupRules.update(
            group, updateFrame(title: title, add: add, remove: remove, roles: roles), by: caller,
            known: known ?? self.known(), at: time ?? self.now + .seconds(10))
        return try GroupBounds.judge(change, GroupUsages(), self.unbounded)
    }

    private func code(_ body: () throws(Refusal) -> GroupChange) -> ErrorCode? {
        do throws(Refusal) {
            _ = try body()
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: Making

    @Test func theCallerOwnsANewGroupAndDoublesCountOnce() throws {
        let change = try GroupRules.create(
            createFrame("Hiking", [bob, alice, bob, carol]), as: .random(), by: alice, known: self.known(), at: self.now
        )
        #expect(change.event == .created && change.added == [bob, carol] && change.removed.isEmpty)
        #expect(change.group.revision == 1 && change.group.owner == alice)
        #expect(change.group.members.map(\.role) == [.owner, .member, .member])
        #expect(Set(change.audience) == [alice, bob, carol])
    }

    /// A change is kept and handed on as its actor has signed it, doubles and all.
    @Test func whatTheActorSignedIsHandedOnAsItWasSpelled() throws {
        let signature = String(decoding: Base64.encode([UInt8](repeating: 7, count: 64)), as: UTF8.self)
        let json = createJSON("Hiking", [bob, bob]).dropLast() + #","actorSig":"\#(signature)","timestamp":7}"#
        let frame = try GroupCreate(
            FrameDecoder.payload(bare: Array(json.utf8), schema: GroupCreate.definition.schema))
        let change = try GroupRules.create(frame, as: .random(), by: alice, known: self.known(), at: self.now)
        #expect(change.added == [bob] && change.signed?.added == [bob, bob] && change.signed?.title == "Hiking")
        #expect(change.signed?.timestamp == Timestamp(milliseconds: 7))
        #expect(try self.update(change.group, by: alice, add: [carol]).signed == nil)
    }

    @Test func nobodyCanBeAddedWhoDoesNotExistOrIsBanned() throws {
        let stranger = person(9_999)
        #expect(
            self.code { () throws(Refusal) in
                try GroupRules.create(
                    createFrame("Hiking", [bob, stranger]), as: .random(), by: alice, known: self.known(), at: self.now)
            } == .notFound)
        #expect(
            self.code { () throws(Refusal) in
                try GroupRules.create(
                    createFrame("Hiking", [bob]), as: .random(), by: alice, known: self.known(bob), at: self.now)
            } == .forbidden)
        let group = try self.group()
        #expect(self.code { () throws(Refusal) in try self.update(group, by: alice, add: [stranger]) } == .notFound)
        #expect(
            self.code { () throws(Refusal) in try self.update(group, by: alice, add: [dave], known: self.known(dave)) }
                == .forbidden)
    }

    // MARK: Who may do what

    @Test func ownerAndAdminsAddRemoveAndRename() throws {
        let group = try self.update(self.group(), by: alice, roles: [(bob, .admin)]).group
        for manager in [alice, bob] {
            let change = try self.update(group, by: manager, title: "Climbing", add: [dave], remove: [carol])
            #expect(change.group.title == "Climbing" && change.added == [dave] && change.removed == [carol])
            #expect(change.group.revision == group.revision + 1)
            #expect(Set(change.audience) == [alice, bob, carol, dave])
        }
        #expect(self.code { () throws(Refusal) in try self.update(group, by: carol, title: "Mine") } == .forbidden)
        #expect(self.code { () throws(Refusal) in try self.update(group, by: carol, add: [dave]) } == .forbidden)
        #expect(self.code { () throws(Refusal) in try self.update(group, by: carol, remove: [bob]) } == .forbidden)
        #expect(self.code { () throws(Refusal) in try self.update(group, by: dave, title: "Mine") } == .forbidden)
        #expect(self.code { () throws(Refusal) in try self.update(nil, by: alice, title: "Mine") } == .notFound)
    }

    @Test func onlyTheOwnerGivesRolesAndNotToItself() throws {
        let group = try self.update(self.group(), by: alice, roles: [(bob, .admin)]).group
        #expect(group.members.map(\.role) == [.owner, .admin, .member])
        #expect(
            self.code { () throws(Refusal) in try self.update(group, by: bob, roles: [(carol, .admin)]) } == .forbidden)
        #expect(
            self.code { () throws(Refusal) in try self.update(group, by: alice, roles: [(alice, .member)]) }
                == .forbidden)
        #expect(
            self.code { () throws(Refusal) in try self.update(group, by: alice, roles: [(dave, .admin)]) } == .notFound)
        #expect(
            try self.update(group, by: alice, roles: [(bob, .member)]).group.members.map(\.role) == [
                .owner, .member, .member,
            ])
        let both = try self.update(group, by: alice, add: [dave], roles: [(dave, .admin)]).group
        #expect(both.members.first { $0.identity == dave }?.role == .admin)
    }

    @Test func theOwnerCannotBeRemovedByOthers() throws {
        let group = try self.update(self.group(), by: alice, roles: [(bob, .admin)]).group
        #expect(self.code { () throws(Refusal) in try self.update(group, by: bob, remove: [alice]) } == .forbidden)
    }

    @Test func contradictionsAreInvalid() throws {
        let group = try self.group()
        #expect(
            self.code { () throws(Refusal) in try self.update(group, by: alice, add: [bob], remove: [bob]) }
                == .invalidPayload)
        #expect(
            self.code { () throws(Refusal) in try self.update(group, by: alice, remove: [bob], roles: [(bob, .admin)]) }
                == .invalidPayload)
        #expect(self.code { () throws(Refusal) in try self.update(group, by: alice, remove: [dave]) } == .notFound)
    }

    // MARK: Leaving

    @Test func anybodyMayLeave() throws {
        let change = try self.update(self.group(), by: carol, remove: [carol])
        #expect(change.removed == [carol] && change.group.members.map(\.identity) == [alice, bob])
        #expect(change.audience.contains(carol))
    }

    @Test func ownershipPassesToTheOldestAdminElseToTheOldestMember() throws {
        let group = try self.group()
        let toMember = try self.update(group, by: alice, remove: [alice]).group
        #expect(toMember.owner == bob && toMember.members.map(\.role) == [.owner, .member])
        let withAdmin = try self.update(group, by: alice, roles: [(carol, .admin)]).group
        let toAdmin = try self.update(withAdmin, by: alice, remove: [alice]).group
        #expect(toAdmin.owner == carol && toAdmin.members.map(\.role) == [.member, .owner])
    }

    @Test func theLastOnesLeavingEndsTheGroup() throws {
        var group = try self.group()
        for leaver in [alice, bob] { group = try self.update(group, by: leaver, remove: [leaver]).group }
        let end = try self.update(group, by: carol, remove: [carol])
        #expect(end.group.members.isEmpty && end.group.owner == carol && end.audience == [carol])
    }

    // MARK: Bounds

    @Test func aGroupHasAtMost256Members() throws {
        let others = (2..<257).map { person($0) }
        let full = try GroupRules.create(
            createFrame("All", others), as: .random(), by: alice, known: self.known(), at: self.now
        ).group
        #expect(full.members.count == 256)
        let newcomer = person(300)
        #expect(
            self.code { () throws(Refusal) in try self.update(full, by: alice, add: [newcomer]) } == .invalidPayload)
        #expect(try self.update(full, by: alice, add: [newcomer], remove: [person(2)]).group.members.count == 256)
    }

    @Test func askingForWhatIsSoAlreadyChangesNothing() throws {
        let group = try self.group()
        let change = try self.update(group, by: alice, title: "Hiking", add: [bob], roles: [(bob, .member)])
        #expect(change.isEmpty && change.group == group && change.added.isEmpty)
    }

    @Test func aClockThatRunsBackwardsMakesNobodyOlder() throws {
        let group = try self.group()
        let change = try self.update(group, by: alice, add: [dave], at: self.now - .seconds(60))
        #expect(change.group.members.last?.identity == dave && change.group.updatedAt >= group.updatedAt)
    }

    // MARK: Whatever happens

    @Test(arguments: Prove.seeds(0..<100)) func invariantsHoldWhateverIsAsked(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let people = (0..<12).map { person($0) }
        func some(_ most: Int) -> [WhisperID] {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in people.randomElement(using: &random)! }
        }
        var time = self.now
        var group = try GroupRules.create(
            createFrame("Any", some(6)), as: .random(), by: people[0], known: self.known(), at: time
        ).group
        for _ in 0..<80 {
            time = time + .milliseconds(Int64.random(in: -5...50, using: &random))
            let caller = people.randomElement(using: &random)!
            let roles = some(1).map { ($0, Bool.random(using: &random) ? GroupRole.admin : .member) }
            let before = group
            let change: GroupChange
            do {
                change = try self.update(
                    group, by: caller, title: Bool.random(using: &random) ? "T\(seed)" : nil,
                    add: Bool.random(using: &random) ? some(3) : [], remove: Bool.random(using: &random) ? some(2) : [],
                    roles: Bool.random(using: &random) ? roles : [], at: time)
            } catch {
                continue
            }
            group = change.group
            #expect(group.revision == before.revision + (change.isEmpty ? 0 : 1))
            #expect(Set(group.members.map(\.identity)).count == group.members.count)
            #expect(
                group.members
                    == group.members.sorted { ($0.joinedAt, $0.identity.bits) < ($1.joinedAt, $1.identity.bits) })
            let (old, new) = (Set(before.members.map(\.identity)), Set(group.members.map(\.identity)))
            #expect(Set(change.added) == new.subtracting(old) && Set(change.removed) == old.subtracting(new))
            #expect(old.contains(caller))
            guard !group.members.isEmpty else { return }
            #expect(group.members.filter { $0.role == .owner }.map(\.identity) == [group.owner])
        }
    }
}
