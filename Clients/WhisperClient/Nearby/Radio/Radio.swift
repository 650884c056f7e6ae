package import Contract

/// The Bluetooth LE radio of a host: CoreBluetooth, Android, BlueZ, or a simulated one. No call waits.
///
/// A radio has both roles at once. As a central it connects to peripherals; as a peripheral it accepts centrals. A
/// Whisper app has the characteristics of `NearbyService`.
package protocol Radio: Sendable {
    /// Events for one reader. The first is the state. They end when the radio is gone for good.
    var events: AsyncStream<RadioEvent> { get }

    /// Offers `NearbyService.characteristics` to centrals, and shows the service with this name.
    func advertise(service: UUIDText, name: String?)
    /// Stops advertising. Connected centrals stay.
    func stopAdvertising()
    func scan(service: UUIDText)
    func stopScan()

    // MARK: As a central

    /// Answered by `connected`, or by `disconnected`.
    func connect(_ peer: NearbyPeer)
    /// Answered by `disconnected`.
    func disconnect(_ peer: NearbyPeer)
    /// Queries the phone's characteristics of the service. Answered by `characteristics`.
    func discover(_ peer: NearbyPeer)
    /// Answered by `subscribed`.
    func subscribe(_ peer: NearbyPeer, _ characteristic: UUIDText)
    /// A write with response. Answered by `wrote` with the token.
    func write(_ peer: NearbyPeer, _ characteristic: UUIDText, _ value: [UInt8], token: UInt64)

    // MARK: As a peripheral

    /// Sends an indication to one subscribed central. Answered by `indicated` with the token when the central has
    /// confirmed it.
    /// - Returns: `false` if the queue is full. Then nothing is sent, and `readyToIndicate` follows when there is room.
    func indicate(_ characteristic: UUIDText, _ value: [UInt8], to central: NearbyPeer, token: UInt64) -> Bool

    /// The capacity of one packet to this phone, in bytes, with 3 of overhead.
    func mtu(_ peer: NearbyPeer) -> Int

    /// Releases the radio. No call follows it.
    func close()
}

package enum RadioEvent: Sendable, Equatable {
    case state(RadioState)
    /// A phone that advertises the service. Reported each time it is heard.
    case found(NearbyPeer, name: String, strength: Int)
    /// An event of a phone that we have connected to, or tried to.
    case peripheral(NearbyPeer, PeripheralNews)
    /// An event of a phone that has connected to us.
    case central(NearbyPeer, CentralNews)
    /// The queue of indications has room again.
    case readyToIndicate

    package enum PeripheralNews: Sendable, Equatable {
        case connected
        case characteristics([UUIDText])
        case subscribed(UUIDText, isDone: Bool)
        case wrote(token: UInt64, isDone: Bool)
        case value(UUIDText, [UInt8])
        /// Reported even if the connection failed.
        case disconnected
    }

    package enum CentralNews: Sendable, Equatable {
        case subscribed(UUIDText)
        /// Also reported for each subscription of a central that is gone.
        case unsubscribed(UUIDText)
        case value(UUIDText, [UInt8])
        case indicated(token: UInt64, isDone: Bool)
    }
}

/// The Bluetooth service of phones nearby. Its first three characteristics are BlueChat's.
package enum NearbyService {
    package static let uuid = Self.uuid(0x920D_5470)
    /// Text from central to peripheral. Write.
    package static let toPeripheral = Self.uuid(0x920D_5471)
    /// Text from peripheral to central. Indicate and read.
    package static let toCentral = Self.uuid(0x920D_5472)
    /// The peripheral asks the central to disconnect, as it cannot do that itself. Indicate and read; one byte that
    /// means nothing.
    package static let hangUp = Self.uuid(0x920D_5473)
    /// Fragments between two Whisper phones, both ways. Write and indicate.
    package static let fragments = Self.uuid(0x920D_5474)

    package static let characteristics = [Self.toPeripheral, Self.toCentral, Self.hangUp, Self.fragments]

    private static func uuid(_ first: UInt64) -> UUIDText {
        UUIDText(high: first << 32 | 0x95D8_4289, low: 0x8BF3_5040_58B0_BCB1)
    }
}
