package import ClusterContract
package import Contract
package import Store

/// Reads `auth.live_sessions`, the view that auth grants to services with HTTP of their own, and `auth.live_guests`, which
/// it grants to calls alone.
package struct LiveSessions: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// The session of a token's SHA-256, and whether another one still lives that it was refreshed from.
    package func session(
        _ tokenHash: Bytes32, at now: StoreTime
    ) async throws(StoreError) -> (session: Session, hasPredecessor: Bool)? {
        let rows = try await self.pool.query(
            """
            SELECT whisper_id, epoch, device_id, platform, ends_at, sign_key, is_banned, rate_class,
                has_predecessor
            FROM auth.live_sessions WHERE token_hash = \(tokenHash) AND ends_at > \(now)
            """)
        guard var row = rows.first else { return nil }
        let (identity, epoch): (WhisperID, Int64) = (try row.next(), try row.next())
        let device: PostgresUUID = try row.next()
        guard let platform = Platform(rawValue: try row.next()) else { throw .undecodable(column: 3) }
        let session = Session(
            caller: Caller(identity: identity, epoch: Epoch(value: epoch)),
            device: UUIDText(high: device.high, low: device.low), platform: platform, tokenHash: tokenHash,
            expiresAt: try row.next(), signPublicKey: try row.next(), isBanned: try row.next(),
            rateClass: try row.next(String?.self).flatMap { RateClassName($0) })
        return (session, try row.next())
    }

    /// The guest of a token's SHA-256. Takes a role that may read `auth.live_guests`.
    package func guest(_ tokenHash: Bytes32, at now: StoreTime) async throws(StoreError) -> Guest? {
        let rows = try await self.pool.query(
            """
            SELECT guest_id, epoch, ends_at, sign_key, is_banned
            FROM auth.live_guests WHERE token_hash = \(tokenHash) AND ends_at > \(now)
            """)
        guard var row = rows.first else { return nil }
        let (id, epoch): (GuestID, Int64) = (try row.next(), try row.next())
        return Guest(
            id: id, epoch: Epoch(value: epoch), tokenHash: tokenHash, expiresAt: try row.next(),
            signPublicKey: try row.next(), isBanned: try row.next())
    }
}
