import Contract
import Testing

@testable import RouterCore

@Suite struct GroupBoundsTests {
    private let now = Timestamp(milliseconds: 1_730_000_000_000)
    private let alice = person(1), bob = person(2), carol = person(3), dave = person(4)
    private let few = GroupConfiguration(ownedMax: 2, joinedMax: 4, byStrangersMax: 1, strangersPerDayMax: 3)

    private var known: GroupRules.Known { Dictionary(uniqueKeysWithValues: (0..<10).map { (person($0), false) }) }

    private func created(with members: [WhisperID]) throws -> GroupChange {
        try GroupRules.create(createFrame("Hiking", members), as: .random(), by: alice, known: self.known, at: self.now)
    }

    /// Alice leaves a group of hers.
    private func left(by members: [WhisperID], admins: Set<WhisperID> = []) throws -> (Group, GroupChange) {
        var group = try self.created(with: members).group
        for index in group.members.indices where admins.contains(group.members[index].identity) {
            group.members[index].role = .admin
        }
        return (
            group,
            try GroupRules.update(group, updateFrame(remove: [alice]), by: alice, known: self.known, at: self.now)
        )
    }

    private func judge(
        _ change: GroupChange, _ usages: [WhisperID: GroupUsage] = [:], additions: [Int64] = []
    ) throws(Refusal) -> GroupChange {
        try GroupBounds.judge(change, GroupUsages(byIdentity: usages, additions: additions), self.few)
    }

    private func refusal(
        of change: GroupChange, _ usages: [WhisperID: GroupUsage] = [:], additions: [Int64] = []
    ) -> Refusal? {
        do throws(Refusal) {
            _ = try self.judge(change, usages, additions: additions)
            return nil
        } catch {
            return error
        }
    }

    @Test func whoOwnsOrIsInTooManyMakesNoGroup() throws {
        let change = try self.created(with: [])
        #expect(self.refusal(of: change, [alice: GroupUsage(owned: 1, joined: 3)]) == nil)
        #expect(self.refusal(of: change, [alice: GroupUsage(owned: 2, joined: 2)])?.code == .forbidden)
        #expect(self.refusal(of: change, [alice: GroupUsage(owned: 0, joined: 4)])?.code == .forbidden)
    }

    @Test func nobodyIsAddedToTooManyGroups() throws {
        let change = try self.created(with: [bob])
        #expect(self.refusal(of: change, [bob: GroupUsage(joined: 3, isPeer: true)]) == nil)
        #expect(self.refusal(of: change, [bob: GroupUsage(joined: 4, isPeer: true)])?.code == .forbidden)
    }

    @Test func strangersAddNobodyToTooManyGroupsAndPeersDo() throws {
        let change = try self.created(with: [bob])
        #expect(try self.judge(change, [bob: GroupUsage(joined: 1)]).strangers == [bob])
        #expect(self.refusal(of: change, [bob: GroupUsage(joined: 1, byStrangers: 1)])?.code == .forbidden)
        #expect(self.refusal(of: change, [bob: GroupUsage(unheard: 4)])?.code == .forbidden)
        let byPeer = try self.judge(change, [bob: GroupUsage(joined: 1, byStrangers: 1, unheard: 4, isPeer: true)])
        #expect(byPeer.strangers.isEmpty)
    }

    @Test func aDaysStrangersAreCountedAndTheWaitIsUntilEnoughAreForgotten() throws {
        let two = try self.created(with: [bob, carol])
        #expect(self.refusal(of: two, additions: [5]) == nil)
        #expect(self.refusal(of: two, additions: [5, 7])?.retryAfterMilliseconds == 5)
        #expect(self.refusal(of: two, additions: [5, 7, 9])?.retryAfterMilliseconds == 7)
        #expect(self.refusal(of: two, additions: [5, 7, 9])?.code == .rateLimited)
        #expect(self.refusal(of: two, [bob: GroupUsage(isPeer: true)], additions: [5, 7]) == nil)
        // More at once than a whole day takes.
        let four = try self.created(with: [bob, carol, dave, person(5)])
        #expect(self.refusal(of: four)?.retryAfterMilliseconds == 86_400_000)
    }

    @Test func ownershipPassesOverWhoOwnsTooMany() throws {
        let full = GroupUsage(owned: 2)
        let (_, change) = try self.left(by: [bob, carol, dave], admins: [carol])
        #expect(try self.judge(change).group.owner == carol)
        #expect(try self.judge(change, [carol: full]).group.owner == bob)
        #expect(try self.judge(change, [carol: full, bob: full]).group.owner == dave)
        #expect(self.refusal(of: change, [carol: full, bob: full, dave: full])?.code == .forbidden)
    }

    @Test func thoseAreLockedWhoseUsageOrPlaceMayChange() throws {
        let group = try self.created(with: [bob, carol]).group
        func concerned(_ frame: GroupUpdate, by caller: WhisperID) throws -> Set<WhisperID> {
            let change = try GroupRules.update(group, frame, by: caller, known: self.known, at: self.now)
            return GroupBounds.concerned(by: change, insteadOf: group)
        }
        #expect(GroupBounds.concerned(by: try self.created(with: [bob]), insteadOf: nil) == [alice, bob])
        #expect(try concerned(updateFrame(add: [dave]), by: alice) == [alice, dave])
        #expect(try concerned(updateFrame(roles: [(bob, .admin)]), by: alice) == [bob])
        #expect(try concerned(updateFrame(remove: [alice]), by: alice) == [bob, carol])
        #expect(try concerned(updateFrame(title: "Climbing", remove: [carol]), by: alice) == [])
        #expect(try concerned(updateFrame(remove: [bob]), by: bob) == [])
    }
}
