import Contract

/// The bounds of this service. Those that clients can see are `Limits`.
package enum CallLimits {
    /// Between two looks at how many Jobs wait.
    package static let streamsMeasuredEvery = Duration.seconds(5)
    /// A frame of which its gateway says nothing is sent again after this.
    package static let resendAfter = Duration.seconds(2)
    /// How long operators may have a call ring, in seconds: longer than it takes to find out that a callee is away, and shorter
    /// than an unanswered call is remembered.
    package static let ringSeconds = 6...59
    /// A callee who seems connected and has not been reached after this is woken all the same.
    package static let wakeUnreachedAfter = Duration.seconds(3)
    /// Between two looks for sides that a call has just lost.
    package static let locatePause = Duration.milliseconds(50)
    /// How long a gateway that did not hear a Notice counts as gone. Presence keys outlive their gateway.
    package static let silenceRemembered = Duration.seconds(5)
    /// Candidates on their way to a connected side.
    package static let candidatesUnderWayMax = 256
    /// Candidates kept for one side, in bytes.
    package static let candidateBytesMax = 1_048_576
    /// Signatures remembered of one call, to know a repeated candidate by.
    package static let marksMax = 256
    /// How long the end of an answered call is remembered.
    package static let endedTTL = Duration.seconds(60)
    /// A side of an answered call that has not been connected for this long can be called by others.
    package static let slotLostAfter = Duration.seconds(60)
    /// Between two notes of who of the answered calls is connected, and looks for such calls that have lost a slot.
    package static let slotSeenInterval = Duration.seconds(20)
    /// An answered call in which nobody has said anything for this long keeps no candidates: who changes networks is back by then.
    package static let quietAfter = Duration.seconds(60)
    /// The devices of a conversation are woken because of knocks no more often than this (contract §14.7).
    package static let knockWakePause = Duration.seconds(300)
    /// A wake-up because of a knock is worth nothing after this (contract §14.14).
    package static let knockWorth = Duration.seconds(600)
    /// Wake-ups of either kind whose time is remembered. Beyond it the oldest is forgotten.
    package static let wakesRememberedMax = 10_000
    /// A conversation whose stream is paused leaves the memory after this, if nobody listens or waits (contract §13b).
    package static let pausedKeptFor = Duration.seconds(60)
    /// Streams that have been paused for too long, and that one look ends.
    package static let streamsEndedAtOnce = 1_000
    /// From one read of Jobs of live conversations to the next, while several come within it.
    package static let liveReadInterval = Duration.milliseconds(8)
    /// Jobs expected within `liveReadInterval` for which a read waits, and over how long their rate is measured.
    package static let liveJobsWorthWaiting = 3.0
    package static let liveRateWindow = Duration.milliseconds(200)
    /// Lines wait for others so long before they are stored, and no more of them (contract §14.11: 250 ms).
    package static let linesGatheredFor = Duration.milliseconds(200)
    package static let linesGatheredMax = 512
    /// Between two reads while lines wait for others. What is not a line is read so late at most, and ends the wait.
    package static let linesReadEvery = Duration.milliseconds(50)
    /// Expired lines that one statement deletes, and transcripts that go behind them. Each may have had one line only.
    package static let linesSweptAtOnce = 4_000
    package static let transcriptsSweptAtOnce = 4_000
    /// How long one look goes on with such statements. The next look, after `leaseInterval`, continues.
    package static let linesSweptFor = Duration.milliseconds(500)
    /// Bytes of a stored line besides its ciphertext: row and key entry. The bounds count them (contract §13b).
    static let lineRowBytes: Int64 = 160
    /// Between two counts of what all identities without a peer keep. With `OwnerLimits.sweepInterval` the count lags by a minute at most.
    package static let strangersCountedEvery = Duration.seconds(30)
    /// Lines of one answer, in bytes of JSON. What stands around them is less than the rest of `Limits.pageBytesMax`.
    package static let linesBytesMax = Limits.pageBytesMax - 256
    /// The longest body of a share, in bytes, and of a request to read one.
    package static let shareBodyBytesMax = 32_768
    package static let shareReadBytesMax = 1_024
    /// The longest body of a look, in bytes.
    package static let lookBytesMax = 1_024
    /// How long keys of a refused call linger in Redis.
    package static let engagedMin = Duration.seconds(60)
    /// Calls named in one answer to "is it still ringing?".
    package static let ringingMax = 16
}
