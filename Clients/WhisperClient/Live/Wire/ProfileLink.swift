package import Contract
import FoundationEssentials

/// The link by which another device joins a profile: `whisper://profile/{profileId}#{secret}` (contract §14.4). It is
/// never sent to the server.
package struct ProfileLink: Sendable {
    package let id: UUIDText
    package let secret: SecretBytes

    private static let start = "whisper://profile/"

    init(id: UUIDText, secret: SecretBytes) {
        self.id = id
        self.secret = secret
    }

    /// - Returns: `nil` if the text is no such link.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.start) else { return nil }
        let halves = text.dropFirst(Self.start.count).split(separator: "#", omittingEmptySubsequences: false)
        guard halves.count == 2, let id = UUIDText(String(halves[0])), id.upperCase == 0,
            let secret = Base64URL.decode(halves[1]), secret.count == LiveLimits.secretBytes
        else { return nil }
        self.init(id: id, secret: SecretBytes(secret))
    }

    /// The whole link, with its secret: for the user's eyes and clipboard, never for a log.
    package var text: String { Self.start + "\(self.id)#" + Base64URL.encode(self.secret.bytes) }
}

/// A profile as the server knows it.
package struct SharedProfile: Sendable, Equatable {
    package struct Member: Sendable, Equatable {
        package var id: WhisperID
        package var joinedAt: Timestamp
    }

    /// A sealed document of the devices. The server cannot read its content.
    package struct Document: Sendable, Equatable {
        package var name: ProfileDocumentName
        package var version: Int64
        package var updatedAt: Timestamp
        package var bytes: Int64
    }

    package var members: [Member]
    package var documents: [Document]

    /// - Parameter body: of any answer that shows a profile.
    init?(_ body: [UInt8]) {
        struct Raw: Decodable {
            struct Member: Decodable {
                var whisperId: String
                var joinedAt: Int64
            }
            struct Document: Decodable {
                var name: String
                var version: Int64
                var updatedAt: Int64
                var sizeBytes: Int64
            }
            var members: [Member]
            var documents: [Document]?
        }
        guard let raw = try? JSONDecoder().decode(Raw.self, from: Data(body)),
            raw.members.count <= Limits.profileMembersMax
        else { return nil }
        self.members = raw.members.compactMap { member in
            WhisperID(member.whisperId).map {
                Member(id: $0, joinedAt: Timestamp(milliseconds: member.joinedAt))
            }
        }
        // Names of later releases are left out.
        self.documents = (raw.documents ?? []).compactMap { document in
            guard let name = ProfileDocumentName(rawValue: document.name), document.version > 0 else { return nil }
            return Document(
                name: name, version: document.version, updatedAt: Timestamp(milliseconds: document.updatedAt),
                bytes: document.sizeBytes)
        }
    }
}
