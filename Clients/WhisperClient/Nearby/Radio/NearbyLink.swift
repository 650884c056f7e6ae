/// A phone that a radio has found. The radio chooses the name, which is valid while the radio is on: phones change
/// their addresses.
package struct NearbyPeer: Hashable, Sendable {
    /// Opaque: 1 to 64 bytes, by which the radio knows the phone.
    package var name: String

    package init(name: String) { self.name = name }
}

package enum NearbyValue: Sendable, Equatable {
    /// Plain text, to or from an app that knows only BlueChat's three characteristics. It is neither signed nor sealed.
    case text(String)
    /// Bytes between two Whisper phones, `NearbyLimits.valueBytesMax` (65,536) at most.
    case bytes([UInt8])
}

package enum RadioState: String, Sendable, CaseIterable {
    case off, on
    /// The user or the system does not allow the radio.
    case denied
    /// The host has no such radio.
    case unsupported
}

/// The reason for a connection's end.
package enum NearbyEnd: String, Sendable, CaseIterable {
    /// The other side has ended the connection.
    case hungUp
    /// The phone lacks a characteristic of a chat, or did not accept us.
    case refused
    case timeout
    /// The radio has lost the connection, or is off.
    case lost
    /// We have ended the connection.
    case closed
}

package enum NearbyEvent: Sendable, Equatable {
    case radio(RadioState)
    /// - strength: dBm. Reported again when the title changes.
    case found(NearbyPeer, title: String, strength: Int)
    /// Not heard for `NearbyLimits.forgottenAfter`.
    case lost(NearbyPeer)
    /// - isOurs: the phone has Whisper's own characteristic.
    case connected(NearbyPeer, isOurs: Bool)
    case disconnected(NearbyPeer, NearbyEnd)
    case received(NearbyPeer, NearbyValue)
    /// The result of `send`: the other radio has the whole value, or the connection ended before that was known.
    case sent(UInt64, arrived: Bool)
}

/// The phones around, with one connection to each, whichever side made it.
package protocol NearbyLink: Sendable {
    /// Events for one reader. They end with `stop`.
    var events: AsyncStream<NearbyEvent> { get }
    /// Advertises us with this title, at most 16 bytes of UTF-8 (BlueChat's bound), and scans for others.
    func start(title: String)
    func connect(_ peer: NearbyPeer)
    func disconnect(_ peer: NearbyPeer)
    /// - Parameter token: of the caller's choice, repeated by `sent`. At most `NearbyLimits.sendsWaitingMax` values
    ///   wait for a peer; above that, `sent(token, arrived: false)` follows at once.
    func send(_ value: NearbyValue, to peer: NearbyPeer, token: UInt64)
    func stop()
}
