package import Contract
package import Store

/// The operators' choice of a mode, and invitations: `auth.registration` and `auth.invitations`. The core that owns identities reads both
/// in the statement that adds an identity, and counts the uses there.
package struct DoorTable: Sendable {
    package struct State: Equatable, Sendable {
        /// `nil`: no operator has chosen.
        package var chosen: RegistrationMode?
        package var changedAt: Timestamp?
    }

    /// An invitation as operators see it. Its token is nowhere.
    package struct Invitation: Equatable, Sendable {
        package var id: UUIDText
        package var number: Int64
        package var usesLeft, usesMax: Int64
        package var expiresAt: Timestamp
        package var revokedAt: Timestamp?
        package var label: String?
        /// Everybody who comes in with it gets this class.
        package var rateClass: String?
        package var createdAt: Timestamp
        /// Somebody has made it, and no operator.
        package var isByPerson: Bool
    }

    /// The maker of an invitation.
    package enum Maker: Sendable {
        case operators(label: String?)
        /// `nil`: it is not kept who.
        case person(WhisperID?)

        fileprivate var label: String? { if case .operators(let label) = self { label } else { nil } }
        fileprivate var inviter: WhisperID? { if case .person(let inviter) = self { inviter } else { nil } }
        fileprivate var isPerson: Bool { if case .person = self { true } else { false } }
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package func state() async throws(StoreError) -> State {
        guard var row = try await self.pool.query("SELECT mode, changed_at FROM auth.registration").first else {
            return State()
        }
        guard let mode = RegistrationMode(rawValue: try row.next()) else { throw .undecodable(column: 0) }
        return State(chosen: mode, changedAt: try row.next())
    }

    /// - Parameter mode: `nil`: the setting counts again.
    package func choose(
        _ mode: RegistrationMode?, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) {
        // Registrations share this lock: after this commit none of them adds an identity by the earlier mode.
        // All first logins wait for this lock. A process that stands still in between loses it.
        try await transaction.execute("SELECT set_config('idle_in_transaction_session_timeout', '2000', true)")
        try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended('auth.registration', 0))")
        guard let mode else {
            try await transaction.execute("DELETE FROM auth.registration")
            return
        }
        try await transaction.execute(
            """
            INSERT INTO auth.registration (mode, changed_at) VALUES (\(mode.rawValue), \(now))
            ON CONFLICT (is_only) DO UPDATE SET mode = excluded.mode, changed_at = excluded.changed_at
            """)
    }

    /// Adds an invitation, one transaction at a time, so that the bound holds. In people's share the oldest ended ones
    /// make room.
    /// - Returns: when it expires; `nil` if `Limits.openInvitationsMax` are open, or `Limits.peoplesInvitationsMax` of
    ///   people.
    package func add(
        _ id: UUIDText, tokenHash: Bytes32, uses: Int64, for life: Duration, by maker: Maker,
        rateClass: RateClassName? = nil, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Timestamp? {
        try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended('auth.invitations', 0))")
        let crowdedLife = min(life, .seconds(Limits.crowdedInvitationLifeSeconds))
        let rows = try await transaction.query(
            """
            WITH peoples AS MATERIALIZED (
                SELECT invitation_id, number, expires_at > \(now) AND revoked_at IS NULL AND uses_left > 0 AS is_open
                FROM auth.invitations WHERE by_identity AND \(maker.isPerson)
            ), made_room AS (
                DELETE FROM auth.invitations WHERE invitation_id IN (
                    SELECT invitation_id FROM peoples WHERE NOT is_open ORDER BY number
                    LIMIT (SELECT greatest(count(*) + 1 - \(Limits.peoplesInvitationsMax), 0) FROM peoples))
            ), places AS MATERIALIZED (
                SELECT count(*) AS taken FROM peoples WHERE is_open
            )
            INSERT INTO auth.invitations (
                invitation_id, token_hash, uses_left, uses_max, expires_at, label, rate_class, created_at, by_identity,
                inviter)
            SELECT \(PostgresUUID(id)), \(tokenHash), \(uses), \(uses),
                CASE WHEN taken < \(Limits.peoplesInvitationsCrowd) THEN \(now + life) ELSE \(now + crowdedLife) END,
                \(maker.label), \(rateClass?.description), \(now), \(maker.isPerson), \(maker.inviter)
            FROM places
            WHERE \(Limits.openInvitationsMax) > (
                SELECT count(*) FROM auth.invitations
                WHERE expires_at > \(now) AND revoked_at IS NULL AND uses_left > 0)
                AND taken < \(Limits.peoplesInvitationsMax)
            RETURNING expires_at
            """)
        return try rows.first.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Ends an invitation. A use under way is counted first, or not at all. Doing it twice changes nothing.
    /// - Returns: whether there is such an invitation.
    package func revoke(
        _ id: UUIDText, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Bool {
        let rows = try await transaction.query(
            """
            UPDATE auth.invitations SET revoked_at = coalesce(revoked_at, \(now))
            WHERE invitation_id = \(PostgresUUID(id)) RETURNING 1
            """)
        return !rows.isEmpty
    }

    /// The same for whoever has the token.
    package func revoke(
        _ tokenHash: Bytes32, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) {
        try await transaction.execute(
            "UPDATE auth.invitations SET revoked_at = coalesce(revoked_at, \(now)) WHERE token_hash = \(tokenHash)")
    }

    /// Newest first.
    package func list(before cursor: Cursor?, limit: Int) async throws(StoreError) -> [Invitation] {
        let rows = try await self.pool.query(
            """
            SELECT invitation_id, number, uses_left, uses_max, expires_at, revoked_at, label, rate_class,
                created_at, by_identity
            FROM auth.invitations WHERE number < \(cursor?.after ?? .max)
            ORDER BY number DESC LIMIT \(Int64(limit))
            """)
        var list: [Invitation] = []
        for var row in rows {
            let id: PostgresUUID = try row.next()
            list.append(
                Invitation(
                    id: UUIDText(high: id.high, low: id.low), number: try row.next(), usesLeft: try row.next(),
                    usesMax: try row.next(), expiresAt: try row.next(), revokedAt: try row.next(),
                    label: try row.next(), rateClass: try row.next(), createdAt: try row.next(),
                    isByPerson: try row.next()))
        }
        return list
    }
}
