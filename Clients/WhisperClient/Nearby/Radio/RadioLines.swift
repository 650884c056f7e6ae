import Contract
import FoundationEssentials

/// The calls and events of a radio as lines of JSON. The program at the other end of the socket plays the air.
///
/// A call is `{"call":"write","peer":…,"characteristic":…,"value":base64,"token":…}`, an event `{"event":"found",…}`.
enum RadioCall: Equatable {
    case advertise(service: UUIDText, name: String?)
    case stopAdvertising
    case scan(service: UUIDText)
    case stopScan
    case connect(NearbyPeer)
    case disconnect(NearbyPeer)
    case discover(NearbyPeer)
    case subscribe(NearbyPeer, UUIDText)
    case write(NearbyPeer, UUIDText, [UInt8], token: UInt64)
    case indicate(NearbyPeer, UUIDText, [UInt8], token: UInt64)

    /// Without the newline.
    var line: [UInt8] {
        var writer = JSONWriter()
        switch self {
        case .advertise(let service, let name):
            writer.add("call", "advertise")
            writer.add("service", service)
            writer.add("name", name)
            writer.add("characteristics", strings: NearbyService.characteristics.map(\.description))
        case .stopAdvertising: writer.add("call", "stopAdvertising")
        case .scan(let service):
            writer.add("call", "scan")
            writer.add("service", service)
        case .stopScan: writer.add("call", "stopScan")
        case .connect(let peer): Self.add("connect", peer, to: &writer)
        case .disconnect(let peer): Self.add("disconnect", peer, to: &writer)
        case .discover(let peer): Self.add("discover", peer, to: &writer)
        case .subscribe(let peer, let characteristic):
            Self.add("subscribe", peer, to: &writer)
            writer.add("characteristic", characteristic)
        case .write(let peer, let characteristic, let value, let token):
            Self.add("write", peer, to: &writer)
            Self.add(value, characteristic, token, to: &writer)
        case .indicate(let peer, let characteristic, let value, let token):
            Self.add("indicate", peer, to: &writer)
            Self.add(value, characteristic, token, to: &writer)
        }
        return writer.finished()
    }

    private static func add(_ call: String, _ peer: NearbyPeer, to writer: inout JSONWriter) {
        writer.add("call", call)
        writer.add("peer", peer.name)
    }

    private static func add(
        _ value: [UInt8], _ characteristic: UUIDText, _ token: UInt64, to writer: inout JSONWriter
    ) {
        writer.add("characteristic", characteristic)
        writer.add("value", base64: value)
        writer.add("token", Int64(truncatingIfNeeded: token))
    }
}

/// One line from the air.
enum RadioLine: Equatable {
    case event(RadioEvent, mtu: Int?)
    /// The radio accepts no indication until `readyToIndicate`.
    case full

    private struct Members: Decodable {
        var event: String
        var state: String?
        var peer: String?
        var name: String?
        var strength: Int?
        var characteristic: String?
        var characteristics: [String]?
        var value: String?
        var token: UInt64?
        var ok: Bool?
        var mtu: Int?
    }

    /// - Returns: `nil` if the line is no event of a radio.
    init?(_ line: [UInt8]) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(line)) else { return nil }
        switch members.event {
        case "full": self = .full
        case "readyToIndicate": self = .event(.readyToIndicate, mtu: nil)
        case "state":
            guard let state = members.state.flatMap(RadioState.init) else { return nil }
            self = .event(.state(state), mtu: nil)
        default:
            guard let event = Self.event(members) else { return nil }
            self = .event(event, mtu: members.mtu)
        }
    }

    private static func event(_ members: Members) -> RadioEvent? {
        guard let name = members.peer else { return nil }
        let peer = NearbyPeer(name: name)
        let characteristic = members.characteristic.flatMap { UUIDText($0) }
        let value = members.value.flatMap { Base64.decode($0) }
        switch (members.event, characteristic, members.token, members.ok) {
        case ("found", _, _, _):
            return .found(peer, name: members.name ?? "", strength: members.strength ?? 0)
        case ("connected", _, _, _): return .peripheral(peer, .connected)
        case ("disconnected", _, _, _): return .peripheral(peer, .disconnected)
        case ("characteristics", _, _, _):
            return .peripheral(peer, .characteristics((members.characteristics ?? []).compactMap { UUIDText($0) }))
        case ("subscribed", let characteristic?, _, let isDone?):
            return .peripheral(peer, .subscribed(characteristic, isDone: isDone))
        case ("wrote", _, let token?, let isDone?): return .peripheral(peer, .wrote(token: token, isDone: isDone))
        case ("value", let characteristic?, _, _):
            return value.map { .peripheral(peer, .value(characteristic, $0)) }
        case ("centralSubscribed", let characteristic?, _, _): return .central(peer, .subscribed(characteristic))
        case ("centralUnsubscribed", let characteristic?, _, _): return .central(peer, .unsubscribed(characteristic))
        case ("centralWrote", let characteristic?, _, _):
            return value.map { .central(peer, .value(characteristic, $0)) }
        case ("indicated", _, let token?, let isDone?): return .central(peer, .indicated(token: token, isDone: isDone))
        default: return nil
        }
    }
}
