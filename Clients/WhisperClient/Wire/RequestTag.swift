package import Contract

/// The meaning of our `requestId`. The id itself holds it, so a repeated or late answer is still understood. Only
/// callers waiting for the answer to a `question` are kept in a table.
package enum RequestTag: Hashable, Sendable {
    case register
    case refresh
    case fetch
    case ping
    /// No answer: only errors.
    case typing
    /// A call that is made or taken. No answer but the call's course; an error ends it.
    case call(UUIDText)
    /// A signal of a call. The call does not depend on it.
    case callSignal
    case message(UUIDText)
    case receipt(UUIDText)
    /// One member's copy of a message to a group.
    case copy(GroupDeliveryID)
    /// About a live conversation. Numbers are not used twice by one client.
    case question(UInt64)
    /// A packet of a live conversation. No answer: only errors.
    case packet(ConversationID, LivePosition)
    /// `live_resync` of a live conversation. No answer: only errors.
    case resync(ConversationID)
    /// A signal in a room. No answer: only errors.
    case room(UUIDText)

    package var text: String {
        switch self {
        case .register: "register"
        case .refresh: "refresh"
        case .fetch: "fetch"
        case .ping: "ping"
        case .typing: "typing"
        case .call(let id): "c:\(id)"
        case .callSignal: "call"
        case .message(let id): "m:\(id)"
        case .receipt(let id): "r:\(id)"
        case .copy(let copy): "c:\(copy.id):\(copy.member)"
        case .question(let number): "q:\(number)"
        case .packet(let conversation, let position): "p:\(conversation):\(position.epoch):\(position.seq)"
        case .resync(let conversation): "s:\(conversation)"
        case .room(let id): "g:\(id)"
        }
    }

    package init?(_ text: String) {
        switch text {
        case "register": self = .register
        case "refresh": self = .refresh
        case "fetch": self = .fetch
        case "ping": self = .ping
        case "typing": self = .typing
        case "call": self = .callSignal
        default:
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
            switch (parts.first, parts.count) {
            case ("m", 2): self.init(UUIDText(parts[1]).map { .message($0) })
            case ("c", 2): self.init(UUIDText(parts[1]).map { .call($0) })
            case ("r", 2): self.init(UUIDText(parts[1]).map { .receipt($0) })
            case ("c", 3):
                guard let id = UUIDText(parts[1]), let member = WhisperID(parts[2]) else { return nil }
                self = .copy(GroupDeliveryID(id: id, member: member))
            case ("q", 2): self.init(UInt64(parts[1]).map { .question($0) })
            case ("s", 2): self.init(ConversationID(parts[1]).map { .resync($0) })
            case ("g", 2): self.init(UUIDText(parts[1]).map { .room($0) })
            case ("p", 4):
                guard let conversation = ConversationID(parts[1]), let epoch = Int64(parts[2]),
                    let seq = Int64(parts[3])
                else { return nil }
                self = .packet(conversation, LivePosition(epoch: epoch, seq: seq))
            default: return nil
            }
        }
    }

    private init?(_ tag: RequestTag?) {
        guard let tag else { return nil }
        self = tag
    }
}
