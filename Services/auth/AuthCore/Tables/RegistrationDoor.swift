import Contract
package import Store

/// Whether somebody new may register (contract §20.6). The statement that adds an identity reads it, and a lock keeps a change from
/// passing by one that is under way: after the commit of a change nobody is added by the rule of before.
enum RegistrationDoor {
    /// Registrations share this lock. An operator's change of the mode takes it alone: it waits for them, and they for it.
    static let pass: SQL = "SELECT pg_advisory_xact_lock_shared(hashtextextended('auth.registration', 0))"

    /// The mode that holds.
    /// - Parameter usual: if no operator has chosen one.
    static func mode(usual: RegistrationMode) -> Statement<RegistrationMode> {
        Statement("SELECT coalesce((SELECT mode FROM auth.registration), \(usual.rawValue))") {
            rows throws(StoreError) in
            guard let mode = RegistrationMode(rawValue: try rows[0].decode(0)) else { throw .undecodable(column: 0) }
            return mode
        }
    }
}

/// Invitations that ended a while ago: nobody asks any more what became of them.
package struct EndedInvitations: Sendable {
    private let pool: PostgresPool
    private let keepsInviters: Bool

    /// - Parameter keepsInviters: whether invitations say who has made them. If not, those of before forget it.
    package init(_ pool: PostgresPool, keepsInviters: Bool) { (self.pool, self.keepsInviters) = (pool, keepsInviters) }

    /// - Returns: how many were removed.
    package func sweep(at now: StoreTime, limit: Int) async throws(StoreError) -> Int {
        if !self.keepsInviters {
            _ = try await self.pool.execute(
                """
                UPDATE auth.invitations SET inviter = NULL WHERE invitation_id IN (
                    SELECT invitation_id FROM auth.invitations WHERE inviter IS NOT NULL
                    LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
                """)
        }
        let end = now - AuthLimits.endedInvitationLife
        return try await self.pool.execute(
            """
            DELETE FROM auth.invitations WHERE invitation_id IN (
                SELECT invitation_id FROM auth.invitations WHERE expires_at <= \(end) OR revoked_at <= \(end)
                LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            """)
    }
}
