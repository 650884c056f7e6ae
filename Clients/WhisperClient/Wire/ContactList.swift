import Contract
import FoundationEssentials

/// The contact list as it stands in the backup (spec §14.1). Fields that this release does not know are ignored.
package struct ContactList: Codable, Sendable, Equatable {
    package var version = ContactList.knownVersion
    package var exportedAt: Int64
    package var contacts: [Entry]
    /// Removed contacts, in addition to the frozen fields, so that another device does not bring them back.
    package var removed: [Removal]?

    package static let knownVersion = 1

    package struct Removal: Codable, Sendable, Equatable {
        package var whisperId: String
        package var removedAt: Int64
    }

    package struct Entry: Codable, Sendable, Equatable {
        package var whisperId: String
        package var addedAt: Int64
        package var displayName: String?
        package var notes: String?
        package var isBlocked: Bool?
        package var isPinned: Bool?
        package var isMuted: Bool?
        /// The pinned keys, in addition to the frozen fields: so they come back without a question to the server each, and
        /// stay the ones that were pinned first. A client that does not write them has its contacts all the same.
        package var signPublicKey: String?
        package var encPublicKey: String?
    }
}

extension ContactList {
    /// - Returns: `nil` if this is no list, or one of another version.
    package init?(json: [UInt8]) {
        guard let list = try? JSONDecoder().decode(ContactList.self, from: Data(json)),
            list.version == Self.knownVersion,
            list.contacts.allSatisfy({ WhisperID($0.whisperId) != nil })
        else { return nil }
        self = list
    }

    package var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // Plain values: encoding them cannot fail.
        return try! Array(encoder.encode(self))
    }
}

extension ContactList.Entry {
    /// - Parameter known: the backup's earlier entry of the contact. Fields known here win, the rest stays.
    package init(_ contact: Contact, over known: ContactList.Entry?) {
        func text(_ key: Bytes32) -> String { String(decoding: Base64.encode(key.bytes), as: UTF8.self) }
        self.init(
            whisperId: "\(contact.id)", addedAt: contact.addedAt.milliseconds,
            displayName: contact.name ?? known?.displayName, notes: contact.notes, isBlocked: contact.isBlocked,
            isPinned: contact.isPinned, isMuted: contact.isMuted,
            signPublicKey: text(contact.keys.sign),
            encPublicKey: text(contact.keys.box))
    }

    /// The keys, if they belong to the id.
    package var keys: PublicKeys? {
        guard let id = WhisperID(self.whisperId), let signText = self.signPublicKey, let boxText = self.encPublicKey,
            let sign = Base64.decode(signText).flatMap({ Bytes32($0) }),
            let box = Base64.decode(boxText).flatMap({ Bytes32($0) })
        else { return nil }
        let keys = PublicKeys(sign: sign, box: box)
        return keys.belong(to: id) ? keys : nil
    }

    /// The name, if it can be one here: a Whisper ID would pass for somebody else.
    package var name: String? {
        guard let name = self.displayName, !name.isEmpty, WhisperID(name.uppercased()) == nil else { return nil }
        return name
    }
}
