/// A phone that a radio has found. Chosen by the radio, of use as long as the radio is on: phones change their addresses.
package struct NearbyPeer: Hashable, Sendable {
    /// Opaque: 1 to 64 bytes, by which the radio knows it.
    package var name: String

    package init(name: String) { self.name = name }
}

package enum NearbyValue: Sendable, Equatable {
    /// Plain text, to or from an app that knows BlueChat's three characteristics alone. Nobody signs or seals it.
    case text(String)
    /// Bytes between two of us, `NearbyLimits.valueBytesMax` (65,536) at most.
    case bytes([UInt8])
}

package enum RadioState: String, Sendable, CaseIterable {
    case off, on
    /// The person, or the system, does not allow it.
    case denied
    /// There is no such radio.
    case unsupported
}

/// Why a connection is over.
package enum NearbyEnd: String, Sendable, CaseIterable {
    /// The other side wanted it.
    case hungUp
    /// It has not what a chat needs, or did not take us.
    case refused
    case timeout
    /// The radio has lost it, or is off.
    case lost
    /// We wanted it.
    case closed
}

package enum NearbyEvent: Sendable, Equatable {
    case radio(RadioState)
    /// - strength: dBm. Told again when the title changes.
    case found(NearbyPeer, title: String, strength: Int)
    /// Not heard for `NearbyLimits.forgottenAfter`.
    case lost(NearbyPeer)
    /// - isOurs: it has the characteristic of ours.
    case connected(NearbyPeer, isOurs: Bool)
    case disconnected(NearbyPeer, NearbyEnd)
    case received(NearbyPeer, NearbyValue)
    /// What became of `send`: the other radio has all of it, or the connection ended before it was known.
    case sent(UInt64, arrived: Bool)
}

/// The phones around. One connection to each, however it came to be.
package protocol NearbyLink: Sendable {
    /// For one reader. Ends with `stop`.
    var events: AsyncStream<NearbyEvent> { get }
    /// Shows us under this title, at most 16 bytes of UTF-8 (BlueChat's bound), and looks for others.
    func start(title: String)
    func connect(_ peer: NearbyPeer)
    func disconnect(_ peer: NearbyPeer)
    /// - Parameter token: of the caller's choice, told by `sent`. At most `NearbyLimits.sendsWaitingMax` wait for a peer;
    ///   past that it is `sent(token, arrived: false)` at once.
    func send(_ value: NearbyValue, to peer: NearbyPeer, token: UInt64)
    func stop()
}
