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
