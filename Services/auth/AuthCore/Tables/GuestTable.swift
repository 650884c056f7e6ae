package import ClusterContract
package import Contract
package import Store
package import Telemetry

/// The only code that reads or writes `auth.guests`.
package struct GuestTable: Sendable {
    private let pool: PostgresPool
    private let strangersBytesMax: Int
    private let life: Duration

    /// - Parameters:
    ///   - strangersBytesMax: what all guests together may cost.
    ///   - life: of a guest that is not seen.
    package init(
        _ pool: PostgresPool, strangersBytesMax: Int = Limits.strangersStoreBytesMax,
        life: Duration = KeptRecord.guests.usual!
    ) {
        self.pool = pool
        self.life = life
        self.strangersBytesMax = strangersBytesMax
    }

    /// The epoch of a guest with one proof: `prove` writes it for a new guest.
    package static let firstEpoch = Epoch(value: 1)

    /// The columns of a guest that `living(_:)` reads.
    private static let columns: StaticString = "guest_id, epoch, token_hash, expires_at, sign_key, is_banned"

    /// A guest whose token lives, and for how long by the clock of the statement that has found it.
    package struct Living: Equatable, Sendable {
        package var guest: Guest
        package var left: Duration
    }

    /// The outcome of a proof.
    package enum Proved: Equatable, Sendable {
        /// - replaced: the token (its hash) before this one.
        case done(Living, replaced: Bytes32?)
        case banned
        /// Other keys have the same id.
        case otherKeys
        /// It would be a new guest, and there are as many as there may be; or the one with these keys is being erased.
        case noRoom
    }

    /// Gives the guest the next epoch and another token. Adds the guest if it is new. While its erasure is open it does not come back:
    /// services could not tell its new rows from those of before.
    package func prove(
        _ guest: GuestID, signPublicKey: Bytes32, encPublicKey: Bytes32, tokenHash: Bytes32, at now: StoreTime
    ) async throws(StoreError) -> Proved {
        var pipeline = Pipeline()
        // A statement of its own: the next one sees the erasure that was committed while this one waited.
        pipeline.add("SELECT FROM auth.guests WHERE guest_id = \(guest) FOR NO KEY UPDATE")
        let proved = pipeline.add(
            Self.proved(
                guest, signPublicKey: signPublicKey, encPublicKey: encPublicKey, tokenHash: tokenHash,
                within: self.strangersBytesMax, at: now))
        if let proved = try await self.pool.pipeline(pipeline)[proved] { return proved }
        let known = try await self.pool.query("SELECT is_banned FROM auth.guests WHERE guest_id = \(guest)")
        guard let isBanned = try known.first?.decode(0, as: Bool.self) else { return .noRoom }
        return isBanned ? .banned : .otherKeys
    }

    /// - Returns: `nil` if it changes nothing.
    private static func proved(
        _ guest: GuestID, signPublicKey: Bytes32, encPublicKey: Bytes32, tokenHash: Bytes32,
        within strangersBytesMax: Int, at now: StoreTime
    ) -> Statement<Proved?> {
        Statement(
            """
            INSERT INTO auth.guests AS mine (guest_id, sign_key, enc_key, epoch, token_hash, expires_at, seen_at)
            SELECT \(guest), \(signPublicKey), \(encPublicKey), 1, \(tokenHash), \(now + Limits.guestTokenTTL), \(now)
            WHERE (\(Int64(strangersBytesMax)) >= \(AuthLimits.guestBytes) + (
                    SELECT bytes FROM auth.stranger_bytes WHERE store = 'guests')
                OR EXISTS (SELECT FROM auth.guests WHERE guest_id = \(guest)))
                AND NOT EXISTS (SELECT FROM auth.erasures WHERE guest_id = \(guest))
            ON CONFLICT (guest_id) DO UPDATE
            SET epoch = mine.epoch + 1, replaced_hash = mine.token_hash, token_hash = excluded.token_hash,
                expires_at = excluded.expires_at, seen_at = excluded.seen_at
            WHERE NOT mine.is_banned AND mine.sign_key = excluded.sign_key AND mine.enc_key = excluded.enc_key
            RETURNING \(unsafeText: Self.columns), seen_at, replaced_hash
            """,
            first: { row throws(StoreError) in .done(try Self.living(&row), replaced: try row.next()) })
    }

    /// The guest of this token, if the token lives.
    package func live(_ tokenHash: Bytes32, at now: StoreTime) async throws(StoreError) -> Living? {
        let rows = try await self.pool.query(
            """
            SELECT \(unsafeText: Self.columns), \(now) FROM auth.guests
            WHERE token_hash = \(tokenHash) AND expires_at > \(now)
            """)
        guard var row = rows.first else { return nil }
        return try Self.living(&row)
    }

    /// The same, and remembers that the guest was seen now.
    package func see(_ tokenHash: Bytes32, at now: StoreTime) async throws(StoreError) -> Living? {
        let rows = try await self.pool.query(
            """
            UPDATE auth.guests SET seen_at = \(now) WHERE token_hash = \(tokenHash) AND expires_at > \(now)
            RETURNING \(unsafeText: Self.columns), seen_at
            """)
        guard var row = rows.first else { return nil }
        return try Self.living(&row)
    }

    /// Marks the guest as banned. Locks it, so that no proof is under way at the commit.
    /// - Returns: the guest's epoch; nil if there is no such guest.
    package func ban(_ guest: GuestID, in transaction: borrowing Transaction) async throws(StoreError) -> Epoch? {
        let rows = try await transaction.query(
            "UPDATE auth.guests SET is_banned = true WHERE guest_id = \(guest) RETURNING epoch")
        return try rows.first.map { row throws(StoreError) in Epoch(value: try row.decode(0)) }
    }

    /// - Returns: whether the guest exists. It need not have been banned.
    package func unban(_ guest: GuestID, in transaction: borrowing Transaction) async throws(StoreError) -> Bool {
        let rows = try await transaction.query(
            "UPDATE auth.guests SET is_banned = false WHERE guest_id = \(guest) RETURNING 1")
        return !rows.isEmpty
    }

    package func tokenHashes(
        of guests: [GuestID], in transaction: borrowing Transaction
    ) async throws(StoreError) -> [Bytes32] {
        let rows = try await transaction.query(
            "SELECT token_hash FROM auth.guests WHERE guest_id = ANY (\(guests)::uuid[])")
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Removes guests that were not seen for their life, up to a bound. A banned guest stays as long as its ban.
    /// Rows that another sweep has locked are skipped.
    /// - Returns: how many.
    package func sweep(at now: StoreTime, limit: Int) async throws(StoreError) -> Int {
        try await self.pool.execute(
            """
            DELETE FROM auth.guests WHERE guest_id IN (
                SELECT guest_id FROM auth.guests WHERE seen_at <= \(now - self.life) AND NOT is_banned
                LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            """)
    }

    /// The last column is the time of the statement.
    private static func living(_ row: inout Row) throws(StoreError) -> Living {
        let guest = Guest(
            id: try row.next(), epoch: Epoch(value: try row.next()), tokenHash: try row.next(),
            expiresAt: try row.next(), signPublicKey: try row.next(), isBanned: try row.next())
        let now: Timestamp = try row.next()
        return Living(guest: guest, left: .milliseconds(guest.expiresAt.milliseconds - now.milliseconds))
    }
}

/// Guests have no peers: nobody is taken out of the count. When there is little room left, guests go early that came once and whose token
/// has ended: with the same keys they are the same guest again (contract §14.3). Erasures that guests have asked for count, too.
extension GuestTable: StrangerTable {
    package static let store = StrangerStore.guests
    package static let firstKey = ""

    package func relieve(after key: String, limit: Int) async throws(StoreError) -> String? {
        let gone: Int64 = try await self.pool.query(
            """
            WITH gone AS (
                DELETE FROM auth.guests WHERE guest_id IN (
                    SELECT guest_id FROM auth.guests
                    WHERE epoch = 1 AND expires_at <= now() AND NOT is_banned
                        AND (SELECT bytes FROM auth.stranger_bytes WHERE store = 'guests')
                            > \(Int64(self.strangersBytesMax) / 100 * AuthLimits.guestCarePercent)
                    ORDER BY seen_at LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
                RETURNING 1
            ), freed AS (
                UPDATE auth.stranger_bytes SET bytes = bytes - \(AuthLimits.guestBytes) * (SELECT count(*) FROM gone)
                WHERE store = 'guests' AND EXISTS (SELECT FROM gone)
            )
            SELECT count(*) FROM gone
            """)[0].decode(0)
        return gone == limit ? Self.firstKey : nil
    }

    package func recount(olderThan age: Duration) async throws(StoreError) {
        try await self.pool.execute(
            """
            UPDATE auth.stranger_bytes SET counted_at = now(), bytes = \(AuthLimits.guestBytes) * (
                (SELECT count(*) FROM auth.guests) + (SELECT count(*) FROM auth.erasures WHERE by = 'guest'))
            WHERE store = 'guests' AND counted_at <= \(StoreTime.now - age)
            """)
    }

    package func counted() async throws(StoreError) -> Int64 {
        try await self.pool.query("SELECT bytes FROM auth.stranger_bytes WHERE store = 'guests'")[0].decode(0)
    }
}
