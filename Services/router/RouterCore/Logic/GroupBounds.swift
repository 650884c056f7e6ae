package import Contract

/// An identity's use of groups before a change.
package struct GroupUsage: Hashable, Sendable {
    /// Groups that it owns.
    package var owned = 0
    /// Groups that it is in.
    package var joined = 0
    /// Groups that it is in because somebody added it who was not its peer.
    package var byStrangers = 0
    /// Group events that it has not confirmed.
    package var unheard = 0
    /// It is a peer of the actor (contract §7).
    package var isPeer = false

    package init(owned: Int = 0, joined: Int = 0, byStrangers: Int = 0, unheard: Int = 0, isPeer: Bool = false) {
        self.owned = owned
        self.joined = joined
        self.byStrangers = byStrangers
        self.unheard = unheard
        self.isPeer = isPeer
    }
}

/// The figures by which a change is judged.
package struct GroupUsages: Sendable {
    package var byIdentity: [WhisperID: GroupUsage]
    /// The actor's additions of strangers that still count: milliseconds until each counts no more, the least first.
    package var additions: [Int64]

    package init(byIdentity: [WhisperID: GroupUsage] = [:], additions: [Int64] = []) {
        self.byIdentity = byIdentity
        self.additions = additions
    }
}

/// Bounds on groups that an identity owns, is in, and adds others to (contract §13a). A change that passes one bound is
/// refused as a whole.
package enum GroupBounds {
    /// Identities whose usage the change may raise, or in whose lists of groups it moves the group forward. They are
    /// locked before their usage is read, so that two changes at once cannot pass a bound together.
    package static func concerned(by change: GroupChange, insteadOf old: Group?) -> Set<WhisperID> {
        var concerned = Set(change.added)
        if old == nil || !change.added.isEmpty { concerned.insert(change.actor) }
        concerned.formUnion(change.group.risen(since: old))
        if change.group.lacksOwner { concerned.formUnion(change.group.members.map(\.identity)) }
        return concerned
    }

    /// - Parameter usages: of all identities that `concerned` names. A missing identity has no usage yet.
    /// - Returns: the change with an owner, and with the strangers among the added, who are stored.
    package static func judge(
        _ change: GroupChange, _ usages: GroupUsages, _ configuration: GroupConfiguration
    ) throws(Refusal) -> GroupChange {
        var change = change
        if change.event == .created {
            let own = usages.byIdentity[change.actor] ?? GroupUsage()
            guard own.owned < configuration.ownedMax else {
                throw Refusal(.forbidden, "you own \(configuration.ownedMax) groups already; leave one first")
            }
            guard own.joined < configuration.joinedMax else {
                throw Refusal(.forbidden, "you are in \(configuration.joinedMax) groups already; leave one first")
            }
        }
        for identity in change.added {
            let usage = usages.byIdentity[identity] ?? GroupUsage()
            guard usage.joined < configuration.joinedMax else {
                throw Refusal(.forbidden, "a new member is in \(configuration.joinedMax) groups already")
            }
            if usage.isPeer { continue }
            // Nobody can make somebody's events pile up either, by adding and removing.
            guard usage.byStrangers < configuration.byStrangersMax, usage.unheard < configuration.joinedMax else {
                throw Refusal(
                    .forbidden,
                    "strangers have added a new member to too many groups; exchange messages with it before you add it")
            }
            change.strangers.append(identity)
        }
        try Self.checkStrangers(count: change.strangers.count, usages.additions, configuration)
        if change.group.lacksOwner { try Self.passOwnershipOn(in: &change.group, usages, configuration) }
        return change
    }

    private static func checkStrangers(
        count: Int, _ additions: [Int64], _ configuration: GroupConfiguration
    ) throws(Refusal) {
        guard count > 0 else { return }
        let excess = additions.count + count - configuration.strangersPerDayMax
        guard excess > 0 else { return }
        // More than a whole day's worth fits at no time.
        let wait = excess <= additions.count ? additions[excess - 1] : RouterLimits.groupStrangersWindow.milliseconds
        throw Refusal(
            .rateLimited,
            "you can add at most \(configuration.strangersPerDayMax) identities a day that are not your peers; exchange messages with them first",
            retryAfterMilliseconds: wait)
    }

    /// The oldest admin, else the oldest member, takes the place of an owner who has left. Members who own too many
    /// groups are passed over.
    private static func passOwnershipOn(
        in group: inout Group, _ usages: GroupUsages, _ configuration: GroupConfiguration
    ) throws(Refusal) {
        let mayOwn = { (member: Group.Member) in
            (usages.byIdentity[member.identity]?.owned ?? 0) < configuration.ownedMax
        }
        guard
            let heir = group.members.firstIndex(where: { $0.role == .admin && mayOwn($0) })
                ?? group.members.firstIndex(where: mayOwn)
        else {
            throw Refusal(
                .forbidden,
                "every other member owns \(configuration.ownedMax) groups already; remove them in the same frame to end the group"
            )
        }
        group.members[heir].role = .owner
        group.owner = group.members[heir].identity
    }
}
