package import Contract

/// The sender of a frame, as its token says: a session or a guest (P of contract §14.2).
package enum Principal: Hashable, Sendable {
    case session(Session)
    case guest(Guest)

    package var id: PrincipalID {
        switch self {
        case .session(let session): .identity(session.caller.identity)
        case .guest(let guest): .guest(guest.id)
        }
    }

    /// The Ed25519 key that its signatures are checked with.
    package var signPublicKey: Bytes32 {
        switch self {
        case .session(let session): session.signPublicKey
        case .guest(let guest): guest.signPublicKey
        }
    }

    package var session: Session? {
        if case .session(let session) = self { session } else { nil }
    }
}

extension Principal: WireCodable {
    package func encode(into writer: inout WireWriter) {
        switch self {
        case .session(let session):
            writer.write(UInt8(0))
            writer.write(session)
        case .guest(let guest):
            writer.write(UInt8(1))
            writer.write(guest)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let kind: UInt8 = try reader.read()
        switch kind {
        case 0: self = .session(try reader.read())
        case 1: self = .guest(try reader.read())
        default: throw .unknown(kind)
        }
    }
}
