/// How fast presence may change and how often it is told.
package struct PresenceConfiguration: Sendable {
    /// An identity is offline after this time without a connection; a return before is silent (contract §7: 15 s).
    package var offlineAfter: Duration
    /// A peer hears about another at most once in this time (contract §7: 30 s).
    package var pause: Duration
    /// A peer sees another typing at most once in this time (contract §7: 2 s).
    package var typingPause: Duration

    package init(
        offlineAfter: Duration = .seconds(15), pause: Duration = .seconds(30), typingPause: Duration = .seconds(2)
    ) {
        self.offlineAfter = offlineAfter
        self.pause = pause
        self.typingPause = typingPause
    }
}

/// Bounds of what one router does for presence and typing.
package enum PresenceLimits {
    /// How many recipients of an identity's messages, the latest first, are checked to find its peers. An identity that
    /// writes to everybody must not cost more than others.
    package static let correspondentsMax: Int64 = 2_000
    /// Pairs remembered as written down today.
    package static let pairsWrittenMax = 500_000
    /// Between two rounds of telling. Also how late presence may be.
    package static let roundPause = Duration.milliseconds(250)
    /// The same while nobody is connected whose mailbox is this router's.
    package static let quietRoundPause = Duration.seconds(1)
    /// Identities whose peers one round looks up; the others wait for the next.
    package static let identitiesPerRoundMax = 500
    /// Pending transitions of one router. Above it changes are not told.
    package static let pendingTransitionsMax = 200_000
    /// Clients that have just connected and are to learn which peers are online. Beyond it they learn only of changes.
    package static let newcomersMax = 100_000
    /// Pairs told lately. Beyond it nobody is told.
    package static let pairsToldMax = 500_000
    /// News in one Job for another router.
    package static let newsPerJobMax = 200
    /// Pairs one of which is typing.
    package static let typingPairsMax = 100_000
    /// How long it is remembered that two are peers, and that they are not.
    package static let peerKnownFor = Duration.seconds(60)
    package static let strangerKnownFor = Duration.seconds(5)
    /// After a partition is taken over, news for those of whom no gateway has told us yet are kept for this long: longer
    /// than the gateways need to announce everybody. And how many are kept.
    package static let earlyNewsHeldFor = Duration.seconds(10)
    package static let earlyNewsMax = 100_000
    /// After a partition is taken over, a connection that went away in between may still be reported for this long.
    package static let unsettledFor = Duration.seconds(60)
}
