/// Bounds of the channel `talk` (docs/rooms.md). The page of rooms has the same in `talk.js`.
package enum TalkLimits {
    /// One message of the channel, in bytes.
    package static let messageBytesMax = 16_384
    /// The text of a message of a person, in bytes.
    package static let textBytesMax = 8_000
    /// Scalars of a name.
    package static let nameScalars = 1...64
    package static let epochBytes = 8
    /// A participant that has not greeted by then is plain.
    package static let helloWithin = Duration.seconds(3)
    /// One text to a plain participant, in UTF-16 units: it cuts longer ones.
    package static let plainUnitsMax = 4_000
    /// Bounds of the messages that wait for one participant.
    package static let waitingMessagesMax = 64
    package static let waitingBytesMax = 262_144
    /// Ids of messages of one participant that are not shown again.
    package static let rememberedIDsMax = 512
    /// Participants of whom they are known, also after they have left: a departure may be told late.
    package static let rememberedPeopleMax = 64
    /// Ids in one receipt.
    package static let receiptsMax = 64
    /// Messages that the host is told to write on one connection before it reports `low`.
    package static let writesMax = 64
    /// The bytes that a stack may hold back when it reports `low`, and those from which on it writes nothing more.
    package static let bufferedLow = 262_144
    package static let bufferedMax = 1_048_576
    /// Messages that are none, within a minute: then the connection is broken.
    package static let malformedPerMinuteMax = 20
}
