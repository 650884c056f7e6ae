package import Contract
package import Store

/// The only code that reads or writes `auth.guests`.
package struct GuestTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Of a guest that has proved itself once: what `prove` writes for a new one.
    package static let firstEpoch = Epoch(value: 1)

    /// What a guest looks like to `living(_:)`.
    private static let columns: StaticString = "guest_id, epoch, token_hash, expires_at, sign_key, is_banned"

    /// A guest whose token lives, and for how long by the clock of the statement that has found it.
    package struct Living: Equatable, Sendable {
        package var guest: Guest
        package var left: Duration
    }

    /// What has become of a proof.
    package enum Proved: Equatable, Sendable {
        /// - replaced: the token (its hash) before this one.
        case done(Living, replaced: Bytes32?)
        case banned
        /// Other keys have the same id.
        case otherKeys
    }

    /// Gives the guest the next epoch and another token. Adds the guest if it is new.
    package func prove(
        _ guest: GuestID, signPublicKey: Bytes32, encPublicKey: Bytes32, tokenHash: Bytes32, at now: StoreTime
    ) async throws(StoreError) -> Proved {
        let rows = try await self.pool.query(
            """
            INSERT INTO auth.guests AS mine (guest_id, sign_key, enc_key, epoch, token_hash, expires_at, seen_at)
            VALUES (\(guest), \(signPublicKey), \(encPublicKey), 1, \(tokenHash), \(now + Limits.guestTokenTTL), \(now))
            ON CONFLICT (guest_id) DO UPDATE
            SET epoch = mine.epoch + 1, replaced_hash = mine.token_hash, token_hash = excluded.token_hash,
                expires_at = excluded.expires_at, seen_at = excluded.seen_at
            WHERE NOT mine.is_banned AND mine.sign_key = excluded.sign_key AND mine.enc_key = excluded.enc_key
            RETURNING \(unsafeText: Self.columns), seen_at, replaced_hash
            """)
        guard var row = rows.first else { return try await self.isBanned(guest) ? .banned : .otherKeys }
        return .done(try Self.living(&row), replaced: try row.next())
    }

    private func isBanned(_ guest: GuestID) async throws(StoreError) -> Bool {
        let rows = try await self.pool.query("SELECT is_banned FROM auth.guests WHERE guest_id = \(guest)")
        return try rows.first?.decode(0) ?? false
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

    /// Removes guests that were not seen for `Limits.guestTTL`, up to a bound. A banned guest stays as long as its ban.
    /// Those that another sweep is at are left to it.
    /// - Returns: how many.
    package func sweep(at now: StoreTime, limit: Int) async throws(StoreError) -> Int {
        try await self.pool.execute(
            """
            DELETE FROM auth.guests WHERE guest_id IN (
                SELECT guest_id FROM auth.guests WHERE seen_at <= \(now - Limits.guestTTL) AND NOT is_banned
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
