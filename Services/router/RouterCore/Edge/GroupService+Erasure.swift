import ClusterContract
package import Contract
package import Store

// An erased identity leaves its groups (contract §20.2).
extension GroupService {
    /// Lets an erased identity leave some of its groups.
    /// - Returns: how many.
    package func leaveGroups(of identity: WhisperID) async throws(StoreError) -> Int {
        let groups = try await self.pool.query(
            GroupTable.groups(of: identity, limit: RouterLimits.groupsLeftAtOnce))
        for group in groups { try await self.erase(identity, from: group) }
        return groups.count
    }

    /// Takes an erased identity out of some kept events. Reads all of them. An event that names nobody else goes.
    /// - Returns: how many.
    package func forgetInEvents(_ identity: WhisperID) async throws(StoreError) -> Int {
        let events = try await self.pool.query(
            GroupNewsTable.naming(identity, limit: RouterLimits.groupsLeftAtOnce))
        for event in events {
            guard let payload = Self.without(identity, event.payload) else {
                for removal in GroupNewsTable.remove(event.event) { try await self.pool.execute(removal) }
                continue
            }
            try await self.pool.execute(GroupNewsTable.rewrite(.init(event: event.event, payload: payload)))
        }
        return events.count
    }

    /// The members who are connected hear who has gone. The event that is kept for the others names nobody.
    private func erase(_ identity: WhisperID, from id: UUIDText) async throws(StoreError) {
        let now = self.clock()
        // Nobody has asked: the number of the question is one that no gateway uses.
        let question = AnswerAddress(node: .random(), question: .random(in: .min ... .max))
        let told = try await self.pool.persistently {
            transaction throws(StoreError) -> (payload: [UInt8], unheard: [GroupNews])? in
            var reading = Pipeline()
            let locked = reading.add(GroupTable.lock(id))
            let members = reading.add(GroupTable.members(of: id))
            let found = try await transaction.pipeline(reading)
            guard var old = try found[locked] else { return nil }
            old.members = try found[members]
            guard old.role(of: identity) != nil else { return nil }
            let change = try await self.judged(old.leaving(identity, at: now), insteadOf: old, in: transaction)
            let event = GroupNews.Event(group: id, revision: change.group.revision)
            var writing = Pipeline()
            writing.add(GroupTable.store(change, insteadOf: old))
            guard !change.group.members.isEmpty else {
                _ = try await transaction.pipeline(writing)
                return nil
            }
            let kept = Self.without(identity, change.payload) ?? change.payload
            writing.add(GroupNewsTable.store(event, payload: kept, answering: question))
            let unheard = writing.add(GroupNewsTable.tell(change.group.members.map(\.identity), of: event))
            return (change.payload, try await transaction.pipeline(writing)[unheard])
        }
        guard let told else { return }
        for (node, events) in await self.notices(told.payload, to: told.unheard) { self.publish(node, events) }
    }

    /// Passes the ownership on, if the owner has gone.
    private func judged(
        _ change: GroupChange, insteadOf old: Group, in transaction: borrowing Transaction
    ) async throws(StoreError) -> GroupChange {
        guard change.group.lacksOwner else { return change }
        let concerned = GroupBounds.concerned(by: change, insteadOf: old).sorted { $0.bits < $1.bits }
        var counting = Pipeline()
        counting.add(GroupQuotaTable.make(concerned))
        counting.add(GroupQuotaTable.lock(concerned))
        let usage = counting.add(GroupQuotaTable.usage(of: concerned))
        let usages = GroupUsages(byIdentity: try await transaction.pipeline(counting)[usage], additions: [])
        do throws(Refusal) {
            return try GroupBounds.judge(change, usages, self.configuration)
        } catch {
            var change = change
            change.group.passOn()
            return change
        }
    }

    /// - Returns: `nil` if the event names nobody else, or cannot be read.
    private static func without(_ identity: WhisperID, _ payload: [UInt8]) -> [UInt8]? {
        guard let event = try? GroupEvent(payload: payload).without(identity), event.group.ownerID != identity else {
            return nil
        }
        return event.json
    }
}
