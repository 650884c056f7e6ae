import TestKit

/// The profile of a stranger, and its conversation whose lines are kept. Seals are random bytes; signatures are good.
struct StrangerStream {
    let profile = newUUID()
    private let owner: String
    private let keys = Keys()
    private let proof = Keys.random(32)
    private let content = newUUID()
    private var line = 0
    private var seq = 0
    /// It is the only one that takes the stream: each taking is one more.
    private var epoch = 0

    private static let lineBytes = 12_000
    private static let documentBytes = 200_000

    init(of phone: Phone) { self.owner = phone.id }

    /// The first 16 bytes of SHA-256("whisper-live\n" ‖ keys), as a UUID.
    private var id: String {
        let digest = Keys.sha256(Array("whisper-live\n".utf8) + self.keys.signPublicKey + self.keys.encPublicKey)
        let digits = digest.prefix(16).flatMap { [$0 >> 4, $0 & 15] }.map { String($0, radix: 16) }
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { digits[$0].joined() }.joined(separator: "-")
    }

    var create: Fields {
        self.signed("live_create", about: self.profile, from: self.owner, by: self.keys).with([
            "profileId": self.profile, "signPublicKey": self.keys.signPublicKey.base64,
            "encPublicKey": self.keys.encPublicKey.base64, "linkVerifier": Keys.sha256(self.proof).base64,
            "transcriptDays": 30,
        ])
    }

    func knock(from guest: String, by keys: Keys) -> Fields {
        self.signed("live_knock", about: self.id, from: guest, by: keys).with(["linkProof": self.proof.base64])
    }

    mutating func takes() -> [(type: String, fields: Fields)] {
        self.epoch += 1
        self.seq = 0
        return [("live_start", ["conversationId": self.id, "contentId": self.content])]
    }

    /// The next lines, and more of them than may be kept.
    mutating func lines(_ count: Int) -> [(type: String, fields: Fields)] {
        (0..<count).map { _ in
            self.line += 1
            self.seq += 1
            return (
                "live_packet",
                [
                    "conversationId": self.id, "epoch": self.epoch, "seq": self.seq, "kind": "line", "line": self.line,
                    "generation": 1, "nonce": Keys.random(12).base64,
                    "ciphertext": Keys.random(Self.lineBytes).base64,
                ]
            )
        }
    }

    /// All that a profile has.
    var documents: [String] {
        ["user", "whisper", "listen", "settings", "favorites"].map { "/profiles/\(self.profile)/documents/\($0)" }
    }

    var fullDocument: Fields {
        Person.versions.with(["nonce": Keys.random(12).base64, "ciphertext": Keys.random(Self.documentBytes).base64])
    }

    /// As contract §14.5 says.
    private func signed(_ type: String, about: String, from: String, by keys: Keys) -> Fields {
        let (nonce, ciphertext, now) = (Keys.random(12).base64, Keys.random(64).base64, nowMilliseconds())
        let lines = ["v1", type, self.id, from, about, "\(now)", nonce, ciphertext]
        let digest = Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))
        return [
            "conversationId": self.id, "from": from, "timestamp": now, "nonce": nonce, "ciphertext": ciphertext,
            "sig": keys.sign(digest).base64,
        ]
    }
}
