package import Contract
import ServerCrypto
package import Telemetry

/// The permission in a URL of the store on disk: one action, on one object, for a while. The URL contains an
/// HMAC-SHA-256 over all of it.
package struct BlobTicket: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        /// An upload of exactly that many bytes.
        case upload(sizeBytes: Int64)
        case uploadPart(number: Int, sizeBytes: Int64)
        /// A download by the owner for whom the URL was made: the owner's downloads are counted.
        case download(by: TransferOwner)
    }

    package var key: ObjectKey
    package var action: Action
    package var expiresAt: Timestamp

    package init(key: ObjectKey, action: Action, expiresAt: Timestamp) {
        self.key = key
        self.action = action
        self.expiresAt = expiresAt
    }

    /// Why a URL is not honoured.
    package enum Refusal: Error, Equatable {
        /// It was not made here, or has been changed.
        case forged
        case expired
    }

    /// The query of the URL.
    package func query(signedWith secret: Secret) -> String {
        var words: [String] = []
        switch self.action {
        case .upload(let size): words = ["op=put", "size=\(size)"]
        case .uploadPart(let number, let size): words = ["op=part", "part=\(number)", "size=\(size)"]
        case .download(let owner): words = ["op=get", "by=\(owner)"]
        }
        words.append("expires=\(self.expiresAt.milliseconds)")
        return (words + ["signature=\(Hexadecimal.text(self.signature(with: secret).bytes))"]).joined(separator: "&")
    }

    /// Reads a URL back.
    package init(key: ObjectKey, query: String, signedWith secret: Secret, at now: Timestamp) throws(Refusal) {
        var fields: [Substring: Substring] = [:]
        for word in query.split(separator: "&") {
            let pair = word.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, fields.updateValue(pair[1], forKey: pair[0]) == nil else { throw .forged }
        }
        guard let expires = fields["expires"].flatMap({ Int64($0) }),
            let signature = fields["signature"].flatMap({ Hexadecimal.bytes($0) }).flatMap({ Bytes32($0) })
        else { throw .forged }
        let size = fields["size"].flatMap { Int64($0) }
        let part = fields["part"].flatMap { Int($0) }
        let owner = fields["by"].flatMap { TransferOwner($0) }
        let action: Action
        switch (fields["op"], part, size, owner) {
        case ("put", nil, let size?, nil): action = .upload(sizeBytes: size)
        case ("part", let part?, let size?, nil): action = .uploadPart(number: part, sizeBytes: size)
        case ("get", nil, nil, let owner?): action = .download(by: owner)
        default: throw .forged
        }
        self.init(key: key, action: action, expiresAt: Timestamp(milliseconds: expires))
        guard constantTimeEqual(self.signature(with: secret), signature) else { throw .forged }
        guard self.expiresAt > now else { throw .expired }
    }

    private func signature(with secret: Secret) -> Bytes32 {
        let action =
            switch self.action {
            case .upload(let size): "put\n0\n\(size)"
            case .uploadPart(let number, let size): "part\n\(number)\n\(size)"
            case .download(let owner): "get\n\(owner)\n0"
            }
        let text = "whisper-blob\n\(self.key)\n\(action)\n\(self.expiresAt.milliseconds)"
        return hmacSHA256(key: Array(secret.revealed.utf8), Array(text.utf8))
    }
}
