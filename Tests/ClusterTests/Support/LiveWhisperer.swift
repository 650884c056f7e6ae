import LocalStack
import TestKit

/// Sends packets of one epoch, as they would follow each other.
struct Whisperer {
    let phone: Phone
    let conversation: Conversation
    let epoch: Int
    private(set) var said: [String] = []
    private(set) var line = 0
    private var seq = 0

    init(phone: Phone, conversation: Conversation, epoch: Int = 1, line: Int = 0) {
        self.phone = phone
        self.conversation = conversation
        self.epoch = epoch
        self.line = line
    }

    mutating func say(_ kind: String) {
        if kind == "line" { self.line += 1 }
        self.send(kind, line: self.line)
    }

    /// A line that is not told as stored is sent again, with a new `seq`.
    mutating func repeats(line: Int, bytes: Int = 48) { self.send("line", line: line, bytes: bytes) }

    private mutating func send(_ kind: String, line: Int, bytes: Int = 48) {
        let nonce = Keys.random(12).base64
        self.said.append(nonce)
        self.seq += 1
        self.phone.client.send(
            "live_packet",
            self.phone.privileges.with(self.conversation.named).with([
                "epoch": self.epoch, "seq": self.seq, "kind": kind, "line": line, "generation": 1, "nonce": nonce,
                "ciphertext": Keys.random(bytes).base64,
            ]))
    }
}

/// A conversation's keys, and the frames about it.
struct Conversation {
    let profile: String
    var transcriptDays = 0
    let keys = Keys()
    let proof = Keys.random(32)

    /// The first 16 bytes of SHA-256("whisper-live\n" ‖ keys), as a UUID.
    var id: String {
        let digest = Keys.sha256(Array("whisper-live\n".utf8) + self.keys.signPublicKey + self.keys.encPublicKey)
        let digits = digest.prefix(16).flatMap { [$0 >> 4, $0 & 15] }.map { String($0, radix: 16) }
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { digits[$0].joined() }.joined(separator: "-")
    }

    var named: Fields { ["conversationId": self.id] }

    func look(proof: [UInt8]? = nil) async throws -> HTTPCall.Answer {
        let body = Person.versions.with(["linkProof": (proof ?? self.proof).base64])
        return try await HTTPCall(
            "POST", Cluster.stack.publicURL + "/live/\(self.id)/look",
            headers: ["Content-Type": "application/json"], body: Array(body.json.text.utf8)
        ).answer()
    }

    func create(by sender: String) -> Fields {
        self.signed(
            self.named.with([
                "profileId": self.profile, "signPublicKey": self.keys.signPublicKey.base64,
                "encPublicKey": self.keys.encPublicKey.base64, "linkVerifier": Keys.sha256(self.proof).base64,
                "transcriptDays": self.transcriptDays,
            ]), "live_create", about: self.profile, from: sender, by: self.keys)
    }

    func knock(by guest: GuestClient, _ keys: Keys, _ change: (inout Fields) -> Void = { _ in }) -> Fields {
        var fields = Person.versions.with(self.named).with([
            "guestToken": guest.token, "linkProof": self.proof.base64, "signPublicKey": keys.signPublicKey.base64,
            "encPublicKey": keys.encPublicKey.base64,
        ])
        change(&fields)
        return self.signed(fields, "live_knock", about: self.id, from: guest.id, by: keys)
    }

    func grant(_ listeners: [String], by sender: String) -> Fields {
        let now = nowMilliseconds()
        let grants = listeners.map { listener in
            self.signed(["to": listener], "live_grant", about: listener, from: sender, at: now, by: self.keys)
                .without("from", "timestamp").json
        }
        return self.named.with(["from": sender, "timestamp": now, "generation": 1, "grants": JSON.array(grants)])
    }

    func refuse(_ listener: String, by sender: String) -> Fields {
        self.signed(
            self.named.with(["to": listener, "reason": "removed"]), "live_refuse", about: listener, from: sender,
            by: self.keys)
    }

    /// With a seal that nobody opens, signed as contract §14.5 says.
    private func signed(
        _ fields: Fields, _ type: String, about: String, from: String, at now: Int64 = nowMilliseconds(), by keys: Keys
    ) -> Fields {
        let (nonce, ciphertext) = (Keys.random(12).base64, Keys.random(64).base64)
        let lines = ["v1", type, self.id, from, about, "\(now)", nonce, ciphertext]
        let digest = Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))
        return fields.with([
            "from": from, "timestamp": now, "nonce": nonce, "ciphertext": ciphertext,
            "sig": keys.sign(digest).base64,
        ])
    }
}
