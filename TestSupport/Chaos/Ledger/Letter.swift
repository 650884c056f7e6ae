/// One message to one recipient: what is accepted, delivered and told of by itself. Envelopes of one group message share their id.
package struct Letter: Hashable, Sendable, CustomStringConvertible {
    package var id: String
    package var to: String

    package init(_ id: String, to: String) {
        self.id = id
        self.to = to
    }

    package var description: String { "\(self.id) to \(self.to)" }
}

/// A recipient's mark of a letter, which its sender is told.
package enum Mark: Int, Comparable, Sendable {
    case delivered = 1
    /// Implies `delivered` (contract §5).
    case read

    /// As it stands in frames.
    package init?(status: String) {
        switch status {
        case "delivered": self = .delivered
        case "read": self = .read
        default: return nil
        }
    }

    package var status: String {
        switch self {
        case .delivered: "delivered"
        case .read: "read"
        }
    }

    package static func < (a: Mark, b: Mark) -> Bool { a.rawValue < b.rawValue }
}
