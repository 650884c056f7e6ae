/// A correspondent's behaviour.
package struct Habits: Sendable {
    /// When it is there.
    package enum Presence: Sendable, Equatable {
        case always
        /// Goes and comes back, after about this long each.
        case commuting(Duration)
        /// Goes after about this long, and comes back when a push says so.
        case sleeping(Duration)
        /// Goes after about this long, and comes back when everything is over. Its mail waits.
        case absent(after: Duration)
    }

    package var presence = Presence.always
    /// Between two messages, on average.
    package var pause = Duration.milliseconds(10)
    /// Most bytes of ciphertext.
    package var ciphertextMax = 2_000
    /// Messages that wait for their acknowledgement before it writes another.
    package var underWayMax = 4
    /// Between two looks at what there is to do.
    package var look = Duration.milliseconds(5)
    /// One message of so many carries an attachment; none if 0.
    package var attachmentsOneIn = 0
    /// Renews its session now and then.
    package var refreshes = false
    /// Waits as long as a gateway says that is being stopped, and ever longer when nobody answers.
    package var isPolite = true

    package init() {}

    var isAbsent: Bool { if case .absent = self.presence { true } else { false } }
}

/// How long clients here wait. Their timeouts are a little shorter than those of a real client.
enum CorrespondentLimits {
    /// How long it waits for an answer before it says the same again.
    static let silenceMax = Duration.seconds(4)
    /// Silence after which it asks whether anybody is there, and after which it takes the connection for dead.
    static let pingAfter = Duration.seconds(4)
    static let deadAfter = Duration.seconds(10)
    /// For the TCP connection and the upgrade.
    static let connectMax = Duration.seconds(5)
    static let backoffMin = 50
    static let backoffMax = 1_000
    /// Between two renewals of a session, about.
    static let refreshEvery = 20_000
    /// Size of each upload.
    static let uploadBytes = 3_000
}
