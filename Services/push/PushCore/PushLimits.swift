package import Contract

/// The bounds of the push service. `WakePlan` has the bounds of mail's pace, `HTTP2Limits` of connections.
package enum PushLimits {
    /// Least time between two pushes to one identity.
    package static let window = Duration.seconds(5)
    /// Identities with an open window; further ones are woken for each message.
    package static let windowsMax = 50_000
    /// Jobs that wait for the end of a window; at the bound no more are taken from the bus.
    package static let jobsHeldMax = 50_000
    /// Jobs taken from the bus in one go, and recipients in one statement.
    package static let takeMax = 256
    /// Longest wait at the bus; also how late a drain is noticed.
    package static let takeBlockMax = Duration.seconds(2)
    /// Pushes under way at the providers, of mail; more than any of them may have (`HTTP2Limits.givingWayMax`, `webPushInFlightMax`), so
    /// that one that hangs leaves room for the others. At the bound no round is begun.
    package static let sendsInFlightMax = 2_048
    /// A round's slow pushes are waited for this long; then the next round begins beside them. Also how often what came of them
    /// is written down.
    package static let roundTimeout = Duration.milliseconds(500)
    /// Between two looks whether a round may begin.
    package static let roomPause = Duration.milliseconds(50)
    /// One request to a provider, from its making to its answer.
    package static let requestMax = Duration.seconds(8)
    /// A Job that its consumer has not acknowledged for this long is another's: longer than a window and a slow
    /// provider that is asked twice.
    package static let claimIdle = Duration.seconds(30)
    /// Operators may choose more than this.
    package static let claimIdleAbove = window + requestMax * 2
    /// The same for calls: longer than one request.
    package static let callClaimIdle = Duration.seconds(20)
    /// Time between two looks for such Jobs.
    package static let claimEvery = Duration.seconds(5)
    /// Wait after the bus or the store has failed.
    package static let retryDelay = Duration.seconds(1)

    /// Calls being pushed at a time; further ones wait in their stream.
    package static let callsInFlightMax = 1_024
    /// Between two tries of a call: it rings for less than a minute.
    package static let callRetry = Backoff(first: .milliseconds(250), longest: .seconds(4))
    /// Time that one taking of a call's Job is tried for; then it is put on the stream again, as long as it rings. With one
    /// more request shorter than `callClaimIdle`.
    package static let callHeldMax = Duration.seconds(8)
    /// From here on this process's clock counts as another than the database's.
    package static let clockOffMin = Duration.seconds(1)
    /// How long a call's mark outlives its ring.
    package static let callMarkSpare = Duration.seconds(120)

    /// Between two looks for recipients whose time has come.
    package static let lookEvery = Duration.seconds(1)
    /// The same after a look that found nobody, while nobody is watched.
    package static let quietLookEvery = Duration.seconds(2)
    /// Time that a process has for the recipients it took. Longer than a round of slow pushes.
    package static let lookLease = Duration.seconds(60)
    /// A present recipient with mail is checked again after this: its gateway may have died a moment ago.
    package static let lookAgain = Duration.seconds(15)
    /// For this long after a push a recipient's coming is looked for every `lookEvery`: until its first reminder.
    package static let watchLength = Duration.seconds(120)
    package static let watchedMax = 10_000

    /// Push services of Web Push that connections are kept to.
    package static let webPushServicesMax = 64
    /// Pushes under way at all of them, of mail, and again of calls. Less than `sendsInFlightMax`: clients choose these services, and
    /// the other providers' pushes have the rest.
    package static let webPushInFlightMax = 1_024
    /// The same at one of them.
    package static let webPushInFlightOfOneMax = 256
    /// A push to one of them is slow after this long, and so many slow ones each may have; more are tried later.
    package static let webPushSlowAfter = Duration.seconds(1)
    package static let webPushSlowMax = 16
    /// How long operators can see the result of the last push to a recipient.
    package static let lastPushKept = KeptRecord.lastPush.usual!
    /// Between two removals of older ones, and rows removed by one.
    package static let sweepEvery = Duration.seconds(600)
    package static let sweepRowsMax = 5_000
    /// Database connections of one process.
    package static let connectionsMax = 4
    /// The file of a key or a service account, in bytes.
    package static let keyFileBytesMax = 64 * 1_024
}
