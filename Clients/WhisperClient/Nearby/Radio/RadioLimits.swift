/// Bounds of the radio and its connections.
extension NearbyLimits {
    // MARK: Connections

    /// Until the radio has connected to a phone.
    package static let connectedWithin = Duration.seconds(5)
    /// From the connection to its subscriptions: BlueChat's bound.
    package static let subscribedWithin = Duration.seconds(3)
    /// Until the peer's greeting is received. Longer than the peer's own attempts to connect.
    package static let greetedWithin = Duration.seconds(10)
    /// Until a central leaves that was asked to.
    package static let leftWithin = Duration.seconds(5)
    /// From the order to disconnect until the radio confirms it.
    package static let disconnectedWithin = Duration.seconds(2)
    /// Phones that we are connected to, or are connecting to.
    package static let connectionsMax = 8
    /// Centrals whose subscriptions are known. One of them chats; the others are asked to leave.
    package static let centralsMax = 16

    // MARK: Phones around

    /// Phones that are kept. Above that, the one heard longest ago is dropped.
    package static let phonesMax = 256
    /// Phones and titles that are reported in one second. The others are reported when they are heard again.
    package static let phonesToldPerSecondMax = 8
    /// Bytes of a radio's name for a phone.
    package static let peerNameBytesMax = 64
    /// Bytes of the title of a phone. The rest is cut off.
    package static let foundTitleBytesMax = 64

    // MARK: Values

    /// One text to or from an app that knows only BlueChat, in bytes: its 140 characters.
    package static let textBytesMax = 560
    /// The least and the greatest capacity of one packet, in bytes.
    package static let mtus = 20...517
    /// The overhead of each packet, in bytes.
    package static let packetOverhead = 3
    /// One value of a characteristic, in bytes (Bluetooth Core Specification, Vol 3, Part F, 3.2.9), also if the packet
    /// would have room for more.
    package static let packetBytesMax = 512
    /// Until a packet is confirmed. After that, the connection is given up.
    package static let confirmedWithin = Duration.seconds(10)
    /// Until a full queue has room for the waiting packet. After that, the connection is given up.
    package static let roomWithin = Duration.seconds(10)
    /// Attempts to send one packet that the radio could not deliver.
    package static let packetAttemptsMax = 5
    /// Transfers of a peer that have begun to arrive.
    package static let transfersMax = 4
    /// Between two fragments of a transfer.
    package static let fragmentWithin = Duration.seconds(15)
    /// From a transfer's first fragment to its last. Small packets need thousands.
    package static let transferWithin = Duration.seconds(600)
    /// Ended transfers of a peer that are remembered, so that repeated fragments are ignored.
    package static let transfersRememberedMax = 64

    // MARK: Streams

    /// Unread events of a link. Above that, the link ends.
    package static let eventsWaitingMax = 1_024
    /// Unread events of a radio. Above that, the radio ends.
    package static let radioEventsWaitingMax = 1_024
    /// One line from or to a radio at a socket, in bytes.
    package static let lineBytesMax = 8_192
    /// Unwritten lines to a radio at a socket. Above that, the radio ends.
    package static let linesWaitingMax = 4_096
}
