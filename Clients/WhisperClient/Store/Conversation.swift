package import Contract

/// Where a message stands: between a peer and us, or in a group.
package enum Conversation: Hashable, Sendable {
    case direct(WhisperID)
    /// In lower case, with its prefix.
    case group(String)

    /// - Returns: `nil` for what is neither a Whisper ID nor the id of a group.
    package init?(_ text: String) {
        if let peer = WhisperID(text) {
            self = .direct(peer)
        } else {
            guard text.hasPrefix(GroupIDText.prefix), UUIDText(String(text.dropFirst(GroupIDText.prefix.count))) != nil
            else { return nil }
            self = .group(Self.key(ofGroup: text))
        }
    }

    /// Groups are the same whatever the case of their ids.
    package static func key(ofGroup id: String) -> String { id.lowercased() }

    /// As tables have it.
    package var name: String {
        switch self {
        case .direct(let peer): "\(peer)"
        case .group(let id): id
        }
    }

    /// Which rows of `messages` stand here, with `name` as the one argument.
    var rows: String {
        switch self {
        case .direct: "peer = ? AND group_id IS NULL"
        case .group: "group_id = ?"
        }
    }
}

/// A conversation that may be written to.
struct Reader {
    /// Named by a message: the peer, or ourselves for a group.
    var peer: WhisperID
    /// `nil` for a person.
    var group: Group?
    /// A message makes this stranger a contact.
    var isStranger = false

    func message(_ text: String, id: UUIDText?, replyTo: MessageReference?, at time: Timestamp) -> Message {
        Message(
            id: id ?? .random(), peer: self.peer, groupID: self.group?.id, direction: .outgoing(.queued),
            content: .text(text), time: time, replyTo: replyTo)
    }
}

extension ClientStore {
    /// - Throws: why nothing may be written there.
    func reader(in place: Conversation, as ownID: WhisperID?) throws(SendError) -> Reader {
        switch place {
        case .direct(let peer):
            let contact = try self.contacts.writable(peer)
            return Reader(peer: peer, isStranger: contact.isStranger)
        case .group(let id):
            let group: Group?
            do { group = try self.groups.group(id) } catch { throw .store(error) }
            guard let group, let ownID else { throw .unknownGroup }
            guard group.isMember else { throw .notMember }
            return Reader(peer: ownID, group: group)
        }
    }
}
