import Contract
import ServerCrypto

/// A token as a frame shows it: its kind, and its SHA-256.
enum ShownToken: Equatable {
    case session(Bytes32)
    case guest(Bytes32)

    /// In constant time.
    func isSame(as other: ShownToken) -> Bool {
        switch (self, other) {
        case (.session(let a), .session(let b)), (.guest(let a), .guest(let b)): constantTimeEqual(a, b)
        case (.session, .guest), (.guest, .session): false
        }
    }

    var hash: Bytes32 {
        switch self {
        case .session(let hash), .guest(let hash): hash
        }
    }
}
