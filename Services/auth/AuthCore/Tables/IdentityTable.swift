package import ClusterContract
package import Contract
package import Store

/// Whether the session of a caller is still live. It may have come from a cache.
package enum CallerStatus: Equatable, Sendable {
    case live
    case banned
    /// A newer login or a logout has ended the session.
    case stale
}

/// The only code that writes `auth.identities`, but for `FirstLogin`, and for `rate_class`, which operators write. The other tables join it by primary key.
package struct IdentityTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// - Returns: nil if there is no such identity.
    package func isBanned(_ identity: WhisperID) async throws(StoreError) -> Bool? {
        let rows = try await self.pool.query("SELECT is_banned FROM auth.identities WHERE whisper_id = \(identity)")
        return try rows.first?.decode(0)
    }

    /// - Returns: nil if there is no such identity.
    package func signKey(of identity: WhisperID) async throws(StoreError) -> Bytes32? {
        let rows = try await self.pool.query("SELECT sign_key FROM auth.identities WHERE whisper_id = \(identity)")
        return try rows.first?.decode(0)
    }

    /// The answer to a caller's lookup of another identity.
    package enum Lookup: Equatable, Sendable {
        /// The caller is not `live`.
        case refused(CallerStatus)
        case unknown
        case found(IdentityKeys, isBanned: Bool)
    }

    /// Reads the caller with the keys it asks for: the session may come from a cache.
    package func keys(of identity: WhisperID, for caller: Caller) async throws(StoreError) -> Lookup {
        let rows = try await self.pool.query(
            """
            SELECT me.is_banned, they.sign_key, they.enc_key, they.is_banned
            FROM auth.identities me LEFT JOIN auth.identities they ON they.whisper_id = \(identity)
            WHERE me.whisper_id = \(caller.identity) AND me.epoch = \(caller.epoch.value)
            """)
        guard var row = rows.first else { return .refused(.stale) }
        if try row.next(Bool.self) { return .refused(.banned) }
        guard let signKey = try row.next(Bytes32?.self), let encKey = try row.next(Bytes32?.self),
            let isBanned = try row.next(Bool?.self)
        else { return .unknown }
        let keys = IdentityKeys(whisperID: identity, signPublicKey: signKey, encPublicKey: encKey)
        return .found(keys, isBanned: isBanned)
    }

    /// All identities, in the order of their ids.
    /// - Parameter id: nobody up to it is read.
    static func page(after id: Int64, limit: Int) -> Statement<[IdentityKeys]> {
        Statement(
            """
            SELECT whisper_id, sign_key, enc_key FROM auth.identities WHERE whisper_id > \(id)
            ORDER BY whisper_id LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in
                IdentityKeys(
                    whisperID: try row.next(), signPublicKey: try row.next(), encPublicKey: try row.next())
            })
    }

    /// Every identity that has one of the two keys. Needs no lock: keys never change.
    package func holders(of claim: IdentityClaim) async throws(StoreError) -> [IdentityKeys] {
        let rows = try await self.pool.query(
            """
            SELECT whisper_id, sign_key, enc_key FROM auth.identities
            WHERE sign_key = \(claim.signPublicKey) OR enc_key = \(claim.encPublicKey)
            """)
        var holders: [IdentityKeys] = []
        for var row in rows {
            holders.append(
                IdentityKeys(
                    whisperID: try row.next(), signPublicKey: try row.next(), encPublicKey: try row.next()))
        }
        return holders
    }

    /// Begins the next epoch: every session there is ends with the transaction's commit. Locks the identity until then. It has been seen.
    /// - Returns: with the identity's class of rates; nil if the identity is banned.
    package func beginEpoch(
        of identity: WhisperID, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> (epoch: Epoch, rateClass: RateClassName?)? {
        let rows = try await transaction.query(
            """
            UPDATE auth.identities SET epoch = epoch + 1, seen_on = (\(now) AT TIME ZONE 'UTC')::date
            WHERE whisper_id = \(identity) AND NOT is_banned
            RETURNING epoch, rate_class
            """)
        return try rows.first.map { row throws(StoreError) in
            (Epoch(value: try row.decode(0)), try row.decode(1, as: String?.self).flatMap { RateClassName($0) })
        }
    }

    /// Keeps the owner of a session from being erased before the transaction's end.
    ///
    /// Comes before the session is locked: logins and erasures lock the identity first.
    static func keep(ownerOf tokenHash: Bytes32) -> SQL {
        """
        SELECT FROM auth.identities i JOIN auth.sessions s ON s.whisper_id = i.whisper_id
        WHERE s.token_hash = \(tokenHash) FOR KEY SHARE OF i
        """
    }

    /// The owner of a session that lives has been seen. Writes once a day.
    ///
    /// Comes before the session is locked, too.
    static func see(ownerOf tokenHash: Bytes32, at now: StoreTime) -> SQL {
        """
        UPDATE auth.identities i SET seen_on = (\(now) AT TIME ZONE 'UTC')::date FROM auth.sessions s
        WHERE s.token_hash = \(tokenHash) AND LEAST(s.expires_at, s.dies_at) > \(now)
            AND i.whisper_id = s.whisper_id AND i.epoch = s.epoch AND i.seen_on < (\(now) AT TIME ZONE 'UTC')::date
        """
    }

    /// Ends the caller's epoch, if it is still the identity's.
    /// - Returns: the next one; nil if the caller's was over.
    package func endEpoch(of caller: Caller, in transaction: borrowing Transaction) async throws(StoreError) -> Epoch? {
        let rows = try await transaction.query(
            """
            UPDATE auth.identities SET epoch = epoch + 1
            WHERE whisper_id = \(caller.identity) AND epoch = \(caller.epoch.value)
            RETURNING epoch
            """)
        return try rows.first.map { row throws(StoreError) in Epoch(value: try row.decode(0)) }
    }

    /// Whether there is such an identity.
    package func exists(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Bool {
        try await transaction.query(
            Statement(value: "SELECT EXISTS (SELECT FROM auth.identities WHERE whisper_id = \(identity))"))
    }

    /// Marks the identity as banned. Locks it, so that no login is under way at the commit.
    /// - Returns: the identity's epoch; nil if there is no such identity.
    package func ban(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Epoch? {
        let rows = try await transaction.query(
            "UPDATE auth.identities SET is_banned = true WHERE whisper_id = \(identity) RETURNING epoch")
        return try rows.first.map { row throws(StoreError) in Epoch(value: try row.decode(0)) }
    }

    /// A ban keeps an identity from being seen: its days of absence begin now.
    /// - Returns: whether the identity exists. It need not have been banned.
    package func unban(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Bool {
        let rows = try await transaction.query(
            """
            UPDATE auth.identities SET is_banned = false,
                seen_on = CASE WHEN is_banned THEN greatest(seen_on, (now() AT TIME ZONE 'UTC')::date) ELSE seen_on END
            WHERE whisper_id = \(identity) RETURNING 1
            """)
        return !rows.isEmpty
    }

    /// Reads the status of the caller. Locks its epoch until the end of the transaction.
    package func hold(
        _ caller: Caller, in transaction: borrowing Transaction
    ) async throws(StoreError) -> CallerStatus {
        try await transaction.query(Self.hold(caller))
    }

    /// The same as a statement.
    static func hold(_ caller: Caller) -> Statement<CallerStatus> {
        Statement(
            """
            SELECT is_banned FROM auth.identities
            WHERE whisper_id = \(caller.identity) AND epoch = \(caller.epoch.value) FOR SHARE
            """, decode: { rows throws(StoreError) in try Self.status(rows) })
    }

    /// The same for one transaction at a time, so what is counted of the caller stays true until its end.
    ///
    /// Comes first in its transaction: two that share the lock already would wait for each other for ever.
    static func holdAlone(_ caller: Caller) -> Statement<CallerStatus> {
        Statement(
            """
            SELECT is_banned FROM auth.identities
            WHERE whisper_id = \(caller.identity) AND epoch = \(caller.epoch.value) FOR NO KEY UPDATE
            """, decode: { rows throws(StoreError) in try Self.status(rows) })
    }

    private static func status(_ rows: Rows) throws(StoreError) -> CallerStatus {
        guard let row = rows.first else { return .stale }
        return try row.decode(0, as: Bool.self) ? .banned : .live
    }
}
