import Contract

/// Group settings that operators may change (contract §13a).
package struct GroupConfiguration: Sendable {
    /// Groups that one identity owns.
    package var ownedMax: Int
    /// Groups that one identity is in.
    package var joinedMax: Int
    /// Groups that one identity is in because somebody added it who was not its peer.
    package var byStrangersMax: Int
    /// Additions of identities that are not its peers, by one identity in `RouterLimits.groupStrangersWindow`.
    package var strangersPerDayMax: Int
    /// How long a group event waits for somebody who is away.
    package var eventTTL: Duration

    package init(
        ownedMax: Int = Limits.groupsOwnedMax, joinedMax: Int = Limits.groupsJoinedMax,
        byStrangersMax: Int = Limits.groupsByStrangersMax, strangersPerDayMax: Int = Limits.groupStrangersPerDayMax,
        eventTTL: Duration = Limits.groupEventTTL
    ) {
        self.ownedMax = ownedMax
        self.joinedMax = joinedMax
        self.byStrangersMax = byStrangersMax
        self.strangersPerDayMax = strangersPerDayMax
        self.eventTTL = eventTTL
    }
}
