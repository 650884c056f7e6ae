import Contract

/// Bounds and times of profiles that several devices of one person share.
package enum ProfileLimits {
    /// Registers without a value in one document, and how long they stay. The oldest go first.
    package static let tombstonesMax = 500
    package static let tombstonesFor = Duration.seconds(400 * 24 * 3_600)
    /// Listeners of all conversations. Blocked ones stay; the longest undecided others stay on their device.
    package static let listenersSharedMax = 500
    /// So often a document that is too long loses half of its listeners. After the last time it has blocked ones alone.
    package static let halvingsMax = 9
    /// Conversations of others. The ones unheard longest stay on their device.
    package static let heardMax = 200
    package static let favoritesMax = 200
    /// The text of a favorite, in bytes.
    package static let favoriteBytesMax = 2_000
    /// A device keeps so many times what a document has room for: each device of a profile may bring one full document.
    package static let keptTimes = Limits.profileMembersMax
    package static let favoritesKeptMax = Self.favoritesMax * Self.keptTimes
    /// From the last change to the writing of a document. With the way to the server and back it is seen elsewhere within
    /// three seconds.
    package static let quietBefore = Duration.seconds(2)
    /// Between two writings of one document. A document that changes all the time is written so often, too.
    package static let writtenEvery = Duration.seconds(10)
    /// After attempts that have failed.
    package static let pauseAfterFailure = Duration.seconds(60)
    /// How long a client that closes waits for its documents to be written.
    package static let flushWithin = Duration.seconds(3)
    package static let flushLook = Duration.milliseconds(20)
    /// A later visit alone changes the document this long after the one that stands there.
    package static let visitsNotedEvery = Duration.seconds(600)
    /// Between two notes of a device about the documents that it has seen.
    package static let seenNotedEvery = Duration.seconds(600)
    /// The time for which a server may show an older document than another device has seen.
    package static let behindFor = Duration.seconds(600)
    /// A document without room is told of so often.
    package static let toldFullEvery = Duration.seconds(24 * 3_600)
    /// Stamps that are believed, in milliseconds since 1970.
    static let times: ClosedRange<Int64> = 0...(1 << 53)
    /// Generations that are believed.
    static let generations = 0...Int(Int32.max)
    /// Maps around a register.
    static let depthMax = 4
}
