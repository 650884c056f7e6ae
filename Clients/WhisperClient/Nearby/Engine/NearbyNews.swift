package import Contract

/// A phone nearby, for the application.
package struct NearbyPhone: Sendable, Equatable {
    package var peer: NearbyPeer
    /// Its advertised title; `nil` if only its connection is known.
    package var title: String?
    /// Signal strength in dBm, when the phone was found.
    package var strength: Int?
    package var isConnected = false
    /// Whether it is a Whisper phone, which only a connection shows.
    package var isOurs = false
    /// The phone's identity, once proven.
    package var id: WhisperID?

    init(_ peer: NearbyPeer) { self.peer = peer }
}

/// An event of phones nearby, for the application.
package enum NearbyNews: Sendable, Equatable {
    case radio(RadioState)
    /// The phone is new, or has another title.
    case found(NearbyPhone)
    case lost(NearbyPhone)
    case connected(NearbyPhone)
    /// The phone has proven its identity.
    case known(NearbyPhone)
    case disconnected(NearbyPhone, NearbyEnd)
    /// Plain text of a bare phone. It is neither signed nor sealed, and not stored.
    case text(NearbyPhone, String)
    /// The result of sending our plain text.
    case sent(UInt64, arrived: Bool)
}

/// The reason why a nearby command failed.
package enum NearbyError: Error, Equatable {
    /// This client has no id from the server yet.
    case noID
    /// Nearby is already on.
    case isOn
    case isOff
    case unknownPhone
    case notConnected
    /// A Whisper phone gets messages to its contact, not plain text.
    case isOurs
}

/// Phones around, connections to them, and values in the air.
struct Nearby {
    /// A connection.
    struct Session {
        /// `nil` for a bare phone.
        var handshake: NearbyHandshake?
        /// The deadline of the handshake.
        var provenBy: ContinuousClock.Instant
        /// The order of proofs. If an identity has several connections, the last proven one counts.
        var provenAs = 0
        /// The connection is being closed, and its values are ignored.
        var isOver = false
        var marks = ReadMarkPath()
    }

    /// The content of a value that the link sends.
    enum Parcel {
        case message(UUIDText, WhisperID)
        case mark(OwedReceipt, NearbyPeer)
        case text
    }

    /// The number of this link. Events of an earlier link are ignored.
    let number: Int
    let link: any NearbyLink
    let title: String
    var radio = RadioState.off
    var phones: [NearbyPeer: NearbyPhone] = [:]
    /// Connected phones whose advertising is not heard.
    var unheard: Set<NearbyPeer> = []
    var sessions: [NearbyPeer: Session] = [:]
    var provenCount = 0
    var gate = StrangerGate()
    var path = EnvelopePath<UUIDText>()
    var parcels: [UInt64: Parcel] = [:]
    var tokens: UInt64 = 0
    var life: Task<Void, Never>?
    let timer = WakeTimer()

    init(_ number: Int, _ link: any NearbyLink, title: String) {
        self.number = number
        self.link = link
        self.title = title
    }

    /// The connection to an identity that was proven.
    func peer(of id: WhisperID) -> NearbyPeer? {
        self.sessions.filter { $0.value.handshake?.proven?.id == id && !$0.value.isOver }
            .max { $0.value.provenAs < $1.value.provenAs }?.key
    }

    var nextWake: ContinuousClock.Instant? {
        let handshakes = self.sessions.values.filter {
            $0.handshake != nil && $0.handshake?.proven == nil && !$0.isOver
        }
        let marks = self.sessions.values.filter { !$0.isOver }.compactMap(\.marks.nextWake)
        return (handshakes.map(\.provenBy) + marks + [self.path.nextWake].compactMap { $0 }).min()
    }

    mutating func send(_ value: NearbyValue, to peer: NearbyPeer, _ parcel: Parcel? = nil) -> UInt64 {
        self.tokens += 1
        self.parcels[self.tokens] = parcel
        self.link.send(value, to: peer, token: self.tokens)
        return self.tokens
    }
}
