/// A participant of a conversation or a room: an identity or a guest (PID of contract §14.2).
package enum PrincipalID: Hashable, Sendable {
    case identity(WhisperID)
    case guest(GuestID)

    /// Reads either shown form exactly.
    package init?<C: Collection<UInt8>>(ascii text: C) {
        if let identity = WhisperID(ascii: text) {
            self = .identity(identity)
        } else if let guest = GuestID(ascii: text) {
            self = .guest(guest)
        } else {
            return nil
        }
    }

    package init?(_ text: String) { self.init(ascii: text.utf8) }

    /// Calls `body` with each character of the shown form.
    package func forEachByte(_ body: (UInt8) -> Void) {
        switch self {
        case .identity(let identity): identity.forEachByte(body)
        case .guest(let guest): guest.forEachByte(body)
        }
    }
}

extension PrincipalID: CustomStringConvertible {
    package var description: String {
        switch self {
        case .identity(let identity): identity.description
        case .guest(let guest): guest.description
        }
    }
}
