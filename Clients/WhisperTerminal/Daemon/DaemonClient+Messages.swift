import Contract
import WhisperClient

/// A contact as the core writes it.
struct ListedContact: Findable {
    var id: WhisperID
    var name: String?

    init?(_ json: [UInt8]) {
        guard case .object(let members) = JSONText(json),
            let id = members.string("whisperId").flatMap({ WhisperID($0) })
        else { return nil }
        self.id = id
        self.name = members.string("name")
    }
}

/// A message of ours as the core writes it.
struct SentMessage {
    var id: String
    var state: MessageState

    init?(_ json: [UInt8]?) {
        guard let json, case .object(let members) = JSONText(json), let id = members.string("messageId"),
            let word = members.string("state")
        else { return nil }
        self.id = id
        let reason = members.string("reason").flatMap { FailureReason(rawValue: $0) }
        switch word {
        case "queued": self.state = .queued
        case "sending": self.state = .sending
        case "sent": self.state = .sent
        case "delivered": self.state = .delivered
        case "read": self.state = .read
        case "expired": self.state = .expired
        case "failed": self.state = .failed(reason ?? .rejected)
        default: return nil
        }
    }
}

extension DaemonClient {
    /// All of them, page by page.
    func contacts() throws -> [ListedContact] {
        var contacts: [ListedContact] = []
        while true {
            var json = JSONWriter()
            json.add("after", (contacts.last?.id).map { "\($0)" })
            let page = try self.ask("contact_list", json.finished())
            guard case .object(let members) = JSONText(page), let list = members["contacts"],
                case .array(let texts) = JSONText(list), !texts.isEmpty
            else { return contacts }
            contacts += texts.compactMap { ListedContact($0) }
            guard members["hasMore"] == Array("true".utf8) else { return contacts }
        }
    }

    /// - Returns: `nil` if the answer is no message.
    func send(_ text: String, to contact: WhisperID) throws -> SentMessage? {
        var json = JSONWriter()
        json.add("to", "\(contact)")
        json.add("text", text)
        let result = try self.ask("message_send", json.finished())
        guard case .object(let members) = JSONText(result) else { return nil }
        return SentMessage(members["message"])
    }

    func isOnline() throws -> Bool {
        guard case .object(let members) = JSONText(try self.ask("session_status")) else { return false }
        return members["isOnline"] == Array("true".utf8)
    }
}
