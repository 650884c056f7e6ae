package import Contract
import FoundationEssentials

/// A stream whose lines the server keeps, as `GET /live/{CID}/transcripts` lists it (contract §14.11).
package struct Transcript: Sendable, Equatable {
    package var content: UUIDText
    package var startedAt: Timestamp
    /// `nil` while the stream goes on.
    package var endedAt: Timestamp?
    package var lines: Int
    package var expiresAt: Timestamp
}

/// One page of a list of transcripts.
struct TranscriptPage {
    var transcripts: [Transcript]
    var next: String?

    static func path(_ conversation: ConversationID, cursor: String?) -> String {
        let path = "/live/\(conversation)/transcripts?limit=\(LiveLimits.transcriptPage.upperBound)"
        return cursor.map { path + "&cursor=" + PercentCoding.encode($0) } ?? path
    }

    init?(_ body: [UInt8]) {
        struct Raw: Decodable {
            struct One: Decodable {
                var contentId: String
                var startedAt: Int64
                var endedAt: Int64?
                var lines: Int
                var expiresAt: Int64
            }
            var transcripts: [One]
            var nextCursor: String?
        }
        guard let raw = try? JSONDecoder().decode(Raw.self, from: Data(body)) else { return nil }
        self.transcripts = raw.transcripts.compactMap { one in
            UUIDText(one.contentId).map {
                Transcript(
                    content: $0, startedAt: Timestamp(milliseconds: one.startedAt),
                    endedAt: one.endedAt.map { Timestamp(milliseconds: $0) }, lines: one.lines,
                    expiresAt: Timestamp(milliseconds: one.expiresAt))
            }
        }
        self.next = raw.nextCursor
    }
}

/// The generations whose keys a page of lines needs.
struct LinePage {
    var generations: Set<Int>
    var next: Int?

    static func path(_ conversation: ConversationID, _ content: UUIDText, after: Int) -> String {
        "/live/\(conversation)/transcripts/\(content)?after=\(after)&limit=\(LiveLimits.linePage.upperBound)"
    }

    init?(_ body: [UInt8]) {
        struct Raw: Decodable {
            struct One: Decodable { var generation: Int }
            var lines: [One]
            var nextLine: Int?
        }
        guard let raw = try? JSONDecoder().decode(Raw.self, from: Data(body)) else { return nil }
        self.generations = Set(raw.lines.map(\.generation))
        self.next = raw.nextLine
    }
}

/// A share of a transcript, and the link that opens it: `{origin}/transcript/{shareId}#{secret}` (contract §14.11).
package struct TranscriptShare: Sendable {
    package var id: UUIDText
    package var secret: SecretBytes
    package var expiresAt: Timestamp

    /// The whole link, with its secret: for the user's eyes and clipboard, never for a log.
    package func link(origin: String) -> String {
        "\(origin)/transcript/\(self.id)#\(Base64URL.encode(self.secret.bytes))"
    }

    /// - Returns: what a link says before its secret, `nil` if the text is no such link.
    static func place(of text: String) -> (id: UUIDText, origin: String)? {
        guard let folder = text.firstRange(of: "/transcript/"),
            let origin = ServerAddress(String(text[..<folder.lowerBound]))
        else { return nil }
        let halves = text[folder.upperBound...].split(separator: "#", omittingEmptySubsequences: false)
        guard halves.count == 2, let id = UUIDText(String(halves[0])), Base64URL.decode(halves[1]) != nil else {
            return nil
        }
        return (id, origin.origin)
    }

    static func path(_ conversation: ConversationID, _ content: UUIDText) -> String {
        "/live/\(conversation)/transcripts/\(content)/shares"
    }

    /// The line keys of these generations, sealed with the share's secret.
    /// - Returns: `nil` if there are too many for one share.
    static func body(
        _ keys: ShareKeys, of conversation: OwnConversation, content: UUIDText, generations: Set<Int>,
        expiresIn: Duration
    ) -> [UInt8]? {
        struct Words: Encodable {
            var lineKeys: [String: String]
            var conversation: String
            var whisperer: String
        }
        struct Body: Encodable {
            var protocolVersion = Version.protocolVersion
            var cryptoVersion = Version.cryptoVersion
            var shareVerifier: String
            var nonce: String
            var ciphertext: String
            var expiresInSeconds: Int64
        }
        let lineKeys = generations.map {
            ("\($0)", Base64.text(conversation.keys.contentKey(generation: $0).lineKey.bytes))
        }
        let words = Words(
            lineKeys: Dictionary(uniqueKeysWithValues: lineKeys), conversation: conversation.title,
            whisperer: conversation.whisperer)
        // Our own plain values: encoding them cannot fail.
        let sealed = SealedBytes(
            try! Array(JSONEncoder().encode(words)), key: keys.sealKey, nonce: Sodium.random(LiveLimits.nonceBytes),
            vouchingFor: LiveSeals.share(conversation.id, content: content))
        guard sealed.ciphertext.count <= LiveLimits.shareCiphertext.upperBound else { return nil }
        let body = Body(
            shareVerifier: Base64.text(keys.verifier), nonce: sealed.nonceText, ciphertext: sealed.ciphertextText,
            expiresInSeconds: expiresIn.components.seconds)
        return try! Array(JSONEncoder().encode(body))
    }

    init?(_ body: [UInt8], secret: SecretBytes) {
        struct Raw: Decodable {
            var shareId: String
            var expiresAt: Int64
        }
        guard let raw = try? JSONDecoder().decode(Raw.self, from: Data(body)), let id = UUIDText(raw.shareId) else {
            return nil
        }
        (self.id, self.secret, self.expiresAt) = (id, secret, Timestamp(milliseconds: raw.expiresAt))
    }
}
