package import Contract

/// What a `requestId` of ours stands for. The id says it itself, so no table of open requests is kept, and an answer
/// that comes twice or late means what it says.
package enum RequestTag: Hashable, Sendable {
    case register
    case refresh
    case fetch
    case ping
    case message(UUIDText)
    case receipt(UUIDText)

    package var text: String {
        switch self {
        case .register: "register"
        case .refresh: "refresh"
        case .fetch: "fetch"
        case .ping: "ping"
        case .message(let id): "m:\(id)"
        case .receipt(let id): "r:\(id)"
        }
    }

    package init?(_ text: String) {
        switch text {
        case "register": self = .register
        case "refresh": self = .refresh
        case "fetch": self = .fetch
        case "ping": self = .ping
        default:
            guard let id = UUIDText(String(text.dropFirst(2))) else { return nil }
            if text.hasPrefix("m:") {
                self = .message(id)
            } else if text.hasPrefix("r:") {
                self = .receipt(id)
            } else {
                return nil
            }
        }
    }
}
