/// Bounds of the values exchanged with phones nearby.
extension NearbyLimits {
    /// How long a handshake may take before the connection is closed.
    package static let handshakeMax = Duration.seconds(10)
    /// Each of the two nonces of a proof, in bytes.
    package static let nonceBytes = 32
    /// How long the radio may take to hand over a message, before it counts as lost.
    package static let bringingMax = Duration.seconds(60)
    /// How long a receipt is awaited after the handover, before the server gets a copy.
    package static let receiptWait = Duration.seconds(10)
    /// How long a message that was not delivered over the air is left to the server.
    package static let serverTurn = Duration.seconds(20)
    /// The same without a connection to the server.
    package static let airPause = Duration.seconds(2)
    /// How many of the first messages to a contact are searched for one that may go over the air.
    package static let messagesLookedAtMax = 32
    /// Read marks that are sent over the air at once.
    package static let readMarksAtOnceMax = 16
    /// Messages accepted from one stranger until nearby is stopped, over all connections. The server bounds the rest.
    package static let strangerMessagesMax = 20
    /// Unknown identities that may become strangers within a period.
    package static let strangersPerPeriodMax = 10
    package static let strangersPeriod = Duration.seconds(3_600)
    /// A copy for the air with an older signature is signed again, so that the receiver does not take it for old mail.
    package static let signedAgeMax = Duration.seconds(24 * 3_600)
}
