import LocalStack
import TestKit

/// A room's id, its link's proof, and frames about it.
struct Room {
    let id = newUUID()
    let proof = Keys.random(32)

    var named: Fields { ["roomId": self.id] }

    func create(_ keys: Keys) -> Fields {
        self.join(keys).with(["linkVerifier": Keys.sha256(self.proof).base64])
    }

    func join(_ keys: Keys, proof: [UInt8]? = nil) -> Fields {
        self.named.with(Self.members(of: keys)).with(proof.map { ["linkProof": $0.base64] } ?? [:])
    }

    func join(_ keys: Keys, code: String) -> Fields { Self.members(of: keys).with(["code": code]) }

    private static func members(of keys: Keys) -> Fields {
        ["signPublicKey": keys.signPublicKey.base64, "encPublicKey": keys.encPublicKey.base64]
    }

    /// With a BOX that nobody opens, signed as contract §14.5 says.
    func signal(_ kind: String, from: String, to: String, by keys: Keys) -> Fields {
        let (nonce, ciphertext) = (Keys.random(12).base64, Keys.random(64).base64)
        let now = nowMilliseconds()
        let lines = ["v1", "room_signal", self.id, from, to, "\(now)", nonce, ciphertext]
        let digest = Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))
        return self.named.with([
            "kind": kind, "to": to, "from": from, "timestamp": now, "nonce": nonce, "ciphertext": ciphertext,
            "sig": keys.sign(digest).base64,
        ])
    }
}

extension Cluster {
    /// Takes a room away while no process of calls is there: no participant is told of it.
    static func endUntold(room: String) async throws {
        await self.stack.kill(.calls(1))
        do {
            _ = try await self.database("DELETE FROM calls.rooms WHERE room_id = '\(room)'")
        } catch {
            try await self.stack.start(.calls(1))
            throw error
        }
        try await self.stack.start(.calls(1))
    }
}

extension GuestClient {
    func fields(_ fields: Fields) -> Fields {
        Person.versions.with(fields).with(["guestToken": self.token])
    }
}
