package import ClusterContract
package import Contract
package import Store

/// The only code that reads or writes `auth.sessions`.
package struct SessionTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// The columns that `session(_:)` reads, with `s` the session and `i` its identity.
    private static let columns: StaticString = """
        s.token_hash, s.whisper_id, s.epoch, s.device_id, s.platform, LEAST(s.expires_at, s.dies_at), i.sign_key, i.is_banned,
        i.rate_class
        """

    /// A session that lives, and for how long by the clock of the statement that has found it.
    package struct Living: Equatable, Sendable {
        package var session: Session
        package var left: Duration
    }

    /// The session of this token, if it lives. Its end is that of the overlap if it was refreshed.
    package func live(_ tokenHash: Bytes32, at now: StoreTime) async throws(StoreError) -> Living? {
        let rows = try await self.pool.query(
            """
            SELECT \(unsafeText: Self.columns), \(now)
            FROM auth.sessions s JOIN auth.identities i ON i.whisper_id = s.whisper_id AND i.epoch = s.epoch
            WHERE s.token_hash = \(tokenHash) AND LEAST(s.expires_at, s.dies_at) > \(now)
            """)
        guard var row = rows.first else { return nil }
        let session = try Self.session(&row)
        return Living(session: session, left: try Self.left(of: session, at: row.next()))
    }

    private static func left(of session: Session, at now: Timestamp) -> Duration {
        .milliseconds(session.expiresAt.milliseconds - now.milliseconds)
    }

    /// How many live. Reads the whole table.
    package func count(at now: StoreTime) async throws(StoreError) -> Int64 {
        let rows = try await self.pool.query(
            "SELECT count(*) FROM auth.sessions WHERE LEAST(expires_at, dies_at) > \(now)")
        return try rows[0].decode(0)
    }

    /// Adds the first session of an epoch.
    /// - Parameter end: when it expires, instead of what stands in `session`.
    /// - Returns: the same as a time.
    package func add(
        _ session: Session, until end: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Timestamp {
        let rows = try await transaction.query(
            """
            INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at)
            VALUES (\(session.tokenHash), \(session.caller.identity), \(Self.stored(session.device)),
                \(session.platform.rawValue), \(session.caller.epoch.value), \(end))
            RETURNING expires_at
            """)
        return try rows[0].decode(0)
    }

    /// - Returns: the hashes of the tokens that are worth nothing from the commit on.
    package func removeAll(
        of identity: WhisperID, in transaction: borrowing Transaction
    ) async throws(StoreError) -> [Bytes32] {
        let rows = try await transaction.query(
            "DELETE FROM auth.sessions WHERE whisper_id = \(identity) RETURNING token_hash")
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    package func tokenHashes(
        of identities: [WhisperID], in transaction: borrowing Transaction
    ) async throws(StoreError) -> [Bytes32] {
        let rows = try await transaction.query(
            "SELECT token_hash FROM auth.sessions WHERE whisper_id = ANY (\(identities)::int8[])")
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Lets a session end soon, and gives it the nonce that its successor's token is made with; both only once.
    /// Locks the session until the commit.
    /// - Parameter nonce: used if the session has none yet.
    /// - Returns: the session with its new end, and its nonce; nil if it does not live.
    package func retire(
        _ tokenHash: Bytes32, nonce: Bytes32, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> (old: Living, nonce: Bytes32)? {
        let rows = try await transaction.query(
            """
            UPDATE auth.sessions s
            SET refresh_nonce = COALESCE(s.refresh_nonce, \(nonce)),
                dies_at = COALESCE(s.dies_at, LEAST(s.expires_at, \(now + Limits.refreshOverlap)))
            FROM auth.identities i
            WHERE s.token_hash = \(tokenHash) AND LEAST(s.expires_at, s.dies_at) > \(now)
                AND i.whisper_id = s.whisper_id AND i.epoch = s.epoch
            RETURNING \(unsafeText: Self.columns), s.refresh_nonce, \(now)
            """)
        guard var row = rows.first else { return nil }
        let session = try Self.session(&row)
        let nonce: Bytes32 = try row.next()
        return (Living(session: session, left: Self.left(of: session, at: try row.next())), nonce)
    }

    /// Adds the session that `old` is refreshed to, unless that has been done before.
    /// - Returns: when the new session expires.
    package func addSuccessor(
        _ new: Bytes32, of old: Session, until end: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Timestamp {
        var pipeline = Pipeline()
        pipeline.add(
            """
            INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at, predecessor)
            VALUES (\(new), \(old.caller.identity), \(Self.stored(old.device)), \(old.platform.rawValue),
                \(old.caller.epoch.value), \(end), \(old.tokenHash))
            ON CONFLICT (token_hash) DO NOTHING
            """)
        let expiry = pipeline.add(
            Statement<Timestamp>(
                value: "SELECT LEAST(expires_at, dies_at) FROM auth.sessions WHERE token_hash = \(new)"))
        return try await transaction.pipeline(pipeline)[expiry]
    }

    /// Ends the session that this one was refreshed from. Doing it twice changes nothing.
    /// - Returns: that session's token hash, also if it had ended before; nil if there never was one.
    package func removePredecessor(of tokenHash: Bytes32) async throws(StoreError) -> Bytes32? {
        var pipeline = Pipeline()
        let predecessor = pipeline.add(
            Statement<Bytes32??>(
                "SELECT predecessor FROM auth.sessions WHERE token_hash = \(tokenHash)",
                first: { row throws(StoreError) in try row.next() }))
        pipeline.add(
            """
            DELETE FROM auth.sessions
            WHERE token_hash = (SELECT predecessor FROM auth.sessions WHERE token_hash = \(tokenHash))
            """)
        return try await self.pool.pipeline(pipeline)[predecessor] ?? nil
    }

    /// Removes sessions that have ended, up to a bound; those that another sweep is at are left to it.
    /// - Returns: how many.
    package func sweep(at now: StoreTime, limit: Int) async throws(StoreError) -> Int {
        try await self.pool.execute(
            """
            DELETE FROM auth.sessions WHERE token_hash IN (
                SELECT token_hash FROM auth.sessions WHERE LEAST(expires_at, dies_at) <= \(now)
                LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            """)
    }

    private static func session(_ row: inout Row) throws(StoreError) -> Session {
        let tokenHash: Bytes32 = try row.next()
        let identity: WhisperID = try row.next()
        let epoch: Int64 = try row.next()
        let device: PostgresUUID = try row.next()
        guard let platform = Platform(rawValue: try row.next()) else { throw .undecodable(column: 4) }
        return Session(
            caller: Caller(identity: identity, epoch: Epoch(value: epoch)),
            device: UUIDText(high: device.high, low: device.low), platform: platform, tokenHash: tokenHash,
            expiresAt: try row.next(), signPublicKey: try row.next(), isBanned: try row.next(),
            rateClass: try row.next(String?.self).flatMap { RateClassName($0) })
    }

    private static func stored(_ device: UUIDText) -> PostgresUUID { PostgresUUID(device) }
}
