import Bus
import Contract
import Hummingbird
import ServerCrypto
import Store

/// Whose session a request carries.
protocol SessionLookup: Sendable {
    /// The live session of a token; nil if it is nobody's.
    func session(_ tokenHash: Bytes32) async throws(StoreError) -> Session?
}

/// The cache in Redis, then auth's view in Postgres, which alone decides. Puts nothing into the cache: that is auth's to do.
struct BearerSessions: SessionLookup {
    let keys: any KeyBus
    let pool: PostgresPool

    func session(_ tokenHash: Bytes32) async throws(StoreError) -> Session? {
        let now = Timestamp.now
        if let bytes = try? await self.keys.get(Keyspace.session(tokenHash)), let session = try? Session(decoding: bytes),
            session.expiresAt > now
        {
            return session
        }
        return try IdentityView.session(
            try await self.pool.query(IdentityView.session(tokenHash, at: now)), tokenHash: tokenHash)
    }

    /// `Authorization: Bearer {token}`; the scheme's case does not matter (RFC 9110, 11.1).
    static func tokenHash(in headers: HTTPFields) -> Bytes32? {
        guard let value = headers[.authorization] else { return nil }
        let parts = value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, String(Substring(parts[0])).lowercased() == "bearer" else { return nil }
        let token = parts[1].drop { $0 == UInt8(ascii: " ") }
        guard Limits.sessionTokenCharacters.contains(token.count) else { return nil }
        return SHA256.hash(Array(token))
    }
}
