package import Contract

/// A phone that is around, as it is shown.
package struct NearbyPhone: Sendable, Equatable {
    package var peer: NearbyPeer
    /// As it calls itself; `nil` if only its connection is known.
    package var title: String?
    /// dBm, when it was found.
    package var strength: Int?
    package var isConnected = false
    /// It is one of us, which only a connection tells.
    package var isOurs = false
    /// Who it is, once they have proven it.
    package var id: WhisperID?

    init(_ peer: NearbyPeer) { self.peer = peer }
}

/// What an application is told of phones nearby.
package enum NearbyNews: Sendable, Equatable {
    case radio(RadioState)
    /// It is here, or has another title.
    case found(NearbyPhone)
    case lost(NearbyPhone)
    case connected(NearbyPhone)
    /// They have said and proven who they are.
    case known(NearbyPhone)
    case disconnected(NearbyPhone, NearbyEnd)
    /// Plain text of a bare phone. Nobody has signed or sealed it, and it is not kept.
    case text(NearbyPhone, String)
    /// What became of plain text of ours.
    case sent(UInt64, arrived: Bool)
}

/// Why something was not done nearby.
package enum NearbyError: Error, Equatable {
    /// The server has given no id yet.
    case noID
    /// It is on already.
    case isOn
    case isOff
    case unknownPhone
    case notConnected
    /// To one of us a message goes as a message to the contact.
    case isOurs
}

/// Phones around, connections to them, and what goes over the air.
struct Nearby {
    /// A connection.
    struct Session {
        /// `nil` for a bare phone.
        var handshake: NearbyHandshake?
        /// When it must be over.
        var provenBy: ContinuousClock.Instant
        /// Of several connections to one of us the one that was proven last counts.
        var provenAs = 0
        /// It is being hung up, and nothing of it counts any more.
        var isOver = false
        var marks = ReadMarkPath()
    }

    /// What the link was given.
    enum Parcel {
        case message(UUIDText, WhisperID)
        case mark(OwedReceipt, NearbyPeer)
        case text
    }

    /// Of this link: events of the one before are none of this.
    let number: Int
    let link: any NearbyLink
    let title: String
    var radio = RadioState.off
    var phones: [NearbyPeer: NearbyPhone] = [:]
    /// Phones that are connected and not heard any more.
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

    /// The connection to somebody who has proven who they are.
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
