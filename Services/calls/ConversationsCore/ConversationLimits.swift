import Contract

/// The bounds of conversations' owners and routes. The bounds that clients can see are `LiveLimits`.
package enum ConversationLimits {
    /// The devices of a conversation are woken because of knocks no more often than this (contract §14.7).
    package static let knockWakePause = Duration.seconds(300)
    /// A wake-up because of a knock is worth nothing after this (contract §14.14).
    package static let knockWorth = Duration.seconds(600)
    /// Wake-ups whose time is remembered. Beyond it the oldest is forgotten.
    package static let wakesRememberedMax = 10_000
    /// A conversation whose stream is paused leaves the memory after this, if nobody listens or waits (contract §13b).
    package static let pausedKeptFor = Duration.seconds(60)
    /// Streams that have been paused for too long, and that one look ends.
    package static let streamsEndedAtOnce = 1_000
    /// From one read of Jobs of live conversations to the next, while several come within it.
    package static let readInterval = Duration.milliseconds(8)
    /// Jobs expected within `readInterval` for which a read waits, and over how long their rate is measured.
    package static let jobsWorthWaiting = 3.0
    package static let rateWindow = Duration.milliseconds(200)
    /// Lines wait for others so long before they are stored, and no more of them (contract §14.11: 250 ms).
    package static let linesGatheredFor = Duration.milliseconds(200)
    package static let linesGatheredMax = 512
    /// Between two reads while lines wait for others. A Job of another kind is read so late at most, and ends the wait.
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
    /// Lines of one answer, in bytes of JSON. The JSON around them is less than the rest of `Limits.pageBytesMax`.
    package static let linesBytesMax = Limits.pageBytesMax - 256
    /// The longest body of a share, in bytes, and of a request to read one.
    package static let shareBodyBytesMax = 32_768
    package static let shareReadBytesMax = 1_024
    /// The longest body of a look, in bytes.
    package static let lookBytesMax = 1_024
}
