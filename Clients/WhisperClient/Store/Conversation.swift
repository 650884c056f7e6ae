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

extension ClientStore {
    /// - Returns: whom a message there names: the peer, or ourselves for a group.
    /// - Throws: why nothing may be written there.
    func writable(_ place: Conversation, as ownID: WhisperID?) throws(SendError) -> WhisperID {
        switch place {
        case .direct(let peer): try self.contacts.writable(peer).id
        case .group(let id): try self.groups.writable(id, as: ownID).ownID
        }
    }
}
