package import ClusterContract
package import Contract
package import Store

/// How tables of calls keep a principal: a flag, and a UUID.
extension PrincipalID {
    package var isGuest: Bool {
        if case .guest = self { true } else { false }
    }

    package var identity: WhisperID? {
        if case .identity(let identity) = self { identity } else { nil }
    }

    /// A guest's id, or in its low half that of an identity.
    package var storedUUID: PostgresUUID {
        switch self {
        case .guest(let guest): PostgresUUID(high: guest.high, low: guest.low)
        case .identity(let identity): PostgresUUID(high: 0, low: identity.bits)
        }
    }

    package init?(_ stored: PostgresUUID, isGuest: Bool) {
        if isGuest {
            self = .guest(GuestID(high: stored.high, low: stored.low))
        } else {
            guard stored.high == 0, let identity = WhisperID(bits: stored.low) else { return nil }
            self = .identity(identity)
        }
    }

    /// The next two columns.
    package init(_ row: inout Row) throws(StoreError) {
        let isGuest: Bool = try row.next()
        let stored: PostgresUUID = try row.next()
        guard let id = PrincipalID(stored, isGuest: isGuest) else { throw .undecodable(column: 1) }
        self = id
    }
}

extension LiveConnection {
    package var storedNode: Int64 { Int64(bitPattern: self.node.value) }
    package var storedConnection: Int64 { Int64(bitPattern: self.connection.value) }

    /// The next two columns; `nil` if they are empty.
    package static func next(_ row: inout Row) throws(StoreError) -> LiveConnection? {
        let (node, connection): (Int64?, Int64?) = (try row.next(), try row.next())
        guard let node, let connection else { return nil }
        return LiveConnection(
            node: NodeID(value: UInt64(bitPattern: node)),
            connection: ConnectionID(value: UInt64(bitPattern: connection)))
    }
}
