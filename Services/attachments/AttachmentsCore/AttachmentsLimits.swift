/// The bounds of this service. `Limits` has the bounds that clients can see.
package enum AttachmentsLimits {
    /// The content type of every stored object: ciphertext.
    package static let storedContentType = "application/octet-stream"
    /// Body of a client's or operator's request, in bytes.
    package static let bodyBytesMax = 16 * 1_024
    /// Connections of the pool.
    package static let connectionsMax = 8

    /// How long a process goes by what it last knew of the store's free space, less what it has let in since.
    package static let spaceAge = Duration.seconds(5)
    /// When a client may try again that the store had no room for.
    package static let fullRetryAfter = Duration.seconds(600)

    // The collector.
    /// Attachments looked at in one statement.
    package static let pageRows = 1_000
    /// Attachments removed from the store at a time, and questions to it at once.
    package static let removalsPerRound = 200
    package static let storeCallsMax = 8
    /// Uploads asked about in one round of checks.
    package static let checksPerRound = 200
    /// How long after its URL has ended an upload may have taken before it is looked for, and between two looks.
    package static let checkDelay = Duration.seconds(60)
    package static let checkAgainAfter = Duration.seconds(3_600)
    /// An operator's run ends after this long, with what it has done by then. Shorter than the timeout of a balancer.
    package static let runMax = Duration.seconds(45)
    /// Age of an object without a row before it counts as leaked: its row may be on its way.
    package static let leakAge = Duration.seconds(3_600)

    // The store on disk.
    /// Uploads and downloads of one process at once: each holds a chunk, a file and a connection.
    package static let transfersMax = 256
    /// Uploads and downloads of one identity among these: several files, or one in parts. Settings; so is the number
    /// above.
    package static let uploadsOfOneIdentityMax = 32
    package static let downloadsOfOneIdentityMax = 16
    /// Shares of all places, in quarters. Uploads and downloads each leave one quarter to the other; and of one file there are downloads
    /// in half of the places at most: a whole group may want it at once, and yet it must not take all.
    package static let quartersOfOneDirection = 3
    package static let quartersOfOneFile = 2
    /// Bytes read from or written to a file at a time; all that one transfer holds.
    package static let chunkBytes = 128 * 1_024
    /// Time without a byte, after which a transfer is ended. A setting.
    package static let stallSecondsMax = 30.0
    /// After this long a transfer must have moved so many bytes a second on average. The rate is a setting.
    package static let paceGraceSeconds = 60.0
    package static let bytesPerSecondMin = 1_024.0
    /// And so many where no place is left: the slowest below that gives way to a new transfer. A setting.
    package static let crowdedBytesPerSecondMin = 32_768.0
    /// After this long a transfer is ended, however fast it is. Enough for the largest file at 5 kB a second.
    package static let transferSecondsMax = 3 * 3_600.0
    /// Between two looks at the pace of transfers.
    package static let paceLookEvery = Duration.seconds(1)
    /// Age of an unfinished file that belongs to no transfer any more. Longer than any upload may go on.
    package static let unfinishedAge = Duration.seconds(48 * 3_600)

    // The store that speaks S3.
    package static let s3Timeout = Duration.seconds(20)
    /// Longest answer taken, in bytes: a list of a thousand objects is half a megabyte.
    package static let s3AnswerBytesMax = 4 * 1_024 * 1_024
    package static let s3IdleConnectionsMax = 8
    package static let s3Attempts = 3
}
