package import ClusterContract
package import Contract
package import Store

/// The only code that writes `auth.identities.rate_class`, but for the statement that adds an identity. There it moves a use of an
/// invitation to the identity, so the bound on both together holds.
package struct RateClassTable: Sendable {
    package enum Outcome: Equatable, Sendable {
        case done
        case unknownIdentity
        /// As many have a class, or may still come in with one, as may.
        case tooMany
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Keeps others from giving classes until the transaction's end: they are counted.
    static let lock: SQL = "SELECT pg_advisory_xact_lock(hashtextextended('auth.rate_classes', 0))"

    /// Whether so many more may get a class. The caller has the lock.
    static func hasRoom(for count: Int64, at now: StoreTime) -> Statement<Bool> {
        Statement(
            value: """
                SELECT \(Int64(Limits.rateClassGrantsMax)) - \(count) >=
                    (SELECT count(*) FROM auth.identities WHERE rate_class IS NOT NULL) + (
                        SELECT coalesce(sum(uses_left), 0) FROM auth.invitations
                        WHERE rate_class IS NOT NULL AND expires_at > \(now) AND revoked_at IS NULL)
                """)
    }

    /// Gives an identity a class, or takes it. Doing it twice changes nothing.
    package func set(
        _ name: RateClassName?, of identity: WhisperID, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Outcome {
        try await transaction.execute(Self.lock)
        let found = try await transaction.query(
            Statement(
                "SELECT rate_class IS NOT NULL FROM auth.identities WHERE whisper_id = \(identity) FOR NO KEY UPDATE",
                first: { row throws(StoreError) in try row.next(Bool.self) }))
        guard let hasOne = found else { return .unknownIdentity }
        if name != nil, !hasOne {
            guard try await transaction.query(Self.hasRoom(for: 1, at: now)) else { return .tooMany }
        }
        try await transaction.execute(
            "UPDATE auth.identities SET rate_class = \(name?.description) WHERE whisper_id = \(identity)")
        return .done
    }

    /// All who have one, in the order of their ids.
    package func grants() async throws(StoreError) -> [RateClassGrant] {
        try await self.pool.query(
            Statement(
                """
                SELECT whisper_id, rate_class FROM auth.identities WHERE rate_class IS NOT NULL
                ORDER BY whisper_id LIMIT \(Int64(Limits.rateClassGrantsMax))
                """,
                each: { row throws(StoreError) in
                    let identity: WhisperID = try row.next()
                    guard let name = RateClassName(try row.next()) else { throw .undecodable(column: 1) }
                    return RateClassGrant(identity, name)
                }))
    }
}
