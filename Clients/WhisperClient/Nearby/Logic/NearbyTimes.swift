/// Bounds of what is said to phones nearby.
extension NearbyLimits {
    /// Two of us have said and proven who they are, or are hung up.
    package static let handshakeMax = Duration.seconds(10)
    /// Both nonces of a proof, in bytes.
    package static let nonceBytes = 32
    /// The radio has handed a message over after this time, or it counts as lost.
    package static let bringingMax = Duration.seconds(60)
    /// The receipt comes this long after the message was handed over, or the server gets a copy.
    package static let receiptWait = Duration.seconds(10)
    /// What the air did not bring over is the server's for this long.
    package static let serverTurn = Duration.seconds(20)
    /// The same without a connection to the server.
    package static let airPause = Duration.seconds(2)
    /// The first messages to somebody, of which one is looked for that may go over the air.
    package static let messagesLookedAtMax = 32
    /// Read marks that go over the air at once.
    package static let readMarksAtOnceMax = 16
    /// Messages of a stranger until nearby is stopped, over all connections. The server bounds the rest.
    package static let strangerMessagesMax = 20
    /// People that nobody here knew who may become strangers within a period.
    package static let strangersPerPeriodMax = 10
    package static let strangersPeriod = Duration.seconds(3_600)
    /// A copy for the air that was signed before is signed anew, so that nobody takes it for an old one.
    package static let signedAgeMax = Duration.seconds(24 * 3_600)
}
