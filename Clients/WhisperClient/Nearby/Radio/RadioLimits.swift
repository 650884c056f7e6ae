/// Bounds of the radio and its connections.
extension NearbyLimits {
    // MARK: Connections

    /// Until the radio has connected to a phone.
    package static let connectedWithin = Duration.seconds(5)
    /// From the connection to both subscriptions. It is BlueChat's bound.
    package static let subscribedWithin = Duration.seconds(3)
    /// Until the other of us has said who it is. Longer than its own attempts to connect take.
    package static let greetedWithin = Duration.seconds(10)
    /// Until a central goes that was asked to.
    package static let leftWithin = Duration.seconds(5)
    /// Until the radio says that a connection is over, once it was told to end it.
    package static let disconnectedWithin = Duration.seconds(2)
    /// Phones that we are connected to, or are connecting to.
    package static let connectionsMax = 8
    /// Centrals whose subscriptions are known. One of them chats, the others are asked to go.
    package static let centralsMax = 16

    // MARK: Phones around

    /// Phones that are known. Beyond it the one that was heard longest ago goes.
    package static let phonesMax = 256
    /// Phones and titles that are told in one second. The rest is told when it is heard again.
    package static let phonesToldPerSecondMax = 8
    /// Bytes of a radio's name for a phone.
    package static let peerNameBytesMax = 64
    /// Bytes of the title of a phone. The rest is cut off.
    package static let foundTitleBytesMax = 64

    // MARK: Values

    /// One text to or from an app that knows BlueChat alone, in bytes: its 140 characters.
    package static let textBytesMax = 560
    /// What one packet carries at least and at most, in bytes.
    package static let mtus = 20...517
    /// Of each packet, in bytes.
    package static let packetOverhead = 3
    /// Until a packet is confirmed. The connection is given up after it.
    package static let confirmedWithin = Duration.seconds(10)
    /// Until a full queue has room for the packet that waits. The connection is given up after it.
    package static let roomWithin = Duration.seconds(10)
    /// Attempts to send one packet that the radio could not deliver.
    package static let packetAttemptsMax = 5
    /// Transfers of a peer that have begun to arrive.
    package static let transfersMax = 4
    /// Between two fragments of a transfer.
    package static let fragmentWithin = Duration.seconds(15)
    /// From a transfer's first fragment to its last. Small packets need thousands.
    package static let transferWithin = Duration.seconds(600)
    /// Transfers of a peer that are over and remembered, so that their repetitions end in nothing.
    package static let transfersRememberedMax = 64

    // MARK: Streams

    /// Events of a link that nobody has read. Beyond it the link ends.
    package static let eventsWaitingMax = 1_024
    /// Events of a radio that nobody has read. Beyond it the radio ends.
    package static let radioEventsWaitingMax = 1_024
    /// One line from or to a radio at a socket, in bytes.
    package static let lineBytesMax = 8_192
    /// Lines to a radio at a socket that are not written yet. Beyond it the radio ends.
    package static let linesWaitingMax = 4_096
}
