/// The limits that several services rely on and clients need not know. Each stands here once, so that no two differ.
package enum ClusterLimits {
    /// How long a gateway waits for a service before the client gets INTERNAL_ERROR. Longer than a router's
    /// partitions take to find a new owner, or Postgres to come back.
    package static let answerMax = Duration.seconds(10)
    /// A client's frame older than this is not begun any more: its client has been told INTERNAL_ERROR by then, or will be,
    /// and may have asked again. Carried out late, a login would end the one that came after it.
    /// A second less than `answerMax`: for what the age by the clock of Redis leaves out.
    package static let frameAgeMax = Duration.seconds(9)
    /// Outcomes that a client may leave unconfirmed: a router sends no more to a client that binds, a gateway counts to
    /// the same number. Further outcomes wait in the store until the client confirms some.
    package static let outcomesPerBindMax = 1_000
    /// Peers of one identity that a router tells of it, and that a gateway remembers as online for one client.
    package static let peersMax = 500
    /// Presence keys of one question to the bus.
    package static let presencesPerReadMax = 1_000
}
