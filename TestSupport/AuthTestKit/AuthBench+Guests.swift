package import ClusterContract
package import Contract
import ServerCrypto

extension TestIdentity {
    /// The guest that has these keys.
    package var guestID: GuestID {
        .derived(signPublicKey: self.signPublicKey.bytes, encPublicKey: self.encPublicKey.bytes) {
            SHA256.hash($0).bytes
        }
    }

    package var guestBegin: String {
        #"{"protocolVersion":1,"cryptoVersion":1,"signPublicKey":"\#(base64(self.signPublicKey.bytes))","encPublicKey":"\#(base64(self.encPublicKey.bytes))"}"#
    }

    package func guestProof(_ challengeID: String, signing challenge: [UInt8]) -> String {
        #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"\#(challengeID)","signature":"\#(base64(self.sign(challenge)))"}"#
    }
}

extension AuthBench {
    package struct Proof: Sendable {
        package var guest: Guest
        package var token: String
    }

    package func guestChallenge(
        _ somebody: TestIdentity, node: NodeID? = nil, connection: UInt64 = 1
    ) async throws -> (id: String, bytes: [UInt8]) {
        let reply = try await self.send("guest_begin", somebody.guestBegin, node: node, connection: connection)
            .reply("guest_challenge")
        return (reply["challengeId"] as! String, Base64.decode(reply["challenge"] as! String)!)
    }

    /// Begins and proves.
    package func prove(
        _ somebody: TestIdentity, node: NodeID? = nil, connection: UInt64 = 1
    ) async throws -> Proof {
        let challenge = try await self.guestChallenge(somebody, node: node, connection: connection)
        let proof = somebody.guestProof(challenge.id, signing: challenge.bytes)
        return try await self.send("guest_proof", proof, node: node, connection: connection).proof()
    }

    /// The guest of a token, as auth answers a gateway.
    package func guest(_ tokenHash: Bytes32) async throws -> Guest? {
        let answer = await self.ask(.guest(tokenHash: tokenHash))
        guard case .guest(let guest) = answer else { throw Unexpected(answer) }
        return guest
    }

    package func cachedGuest(_ tokenHash: Bytes32) async throws -> Guest? {
        try await self.bus.get(Keyspace.guest(tokenHash)).map { try Guest(decoding: $0) }
    }
}

extension Answer {
    package func proof() throws -> AuthBench.Proof {
        guard case .guestProved(let guest, _, _) = self else { throw Unexpected(self) }
        return AuthBench.Proof(guest: guest, token: try self.reply("guest_ack")["guestToken"] as! String)
    }
}
