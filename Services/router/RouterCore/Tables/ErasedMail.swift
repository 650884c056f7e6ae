import ClusterContract
package import Contract
package import Store

/// Rows that routers keep of an erased identity, but the ledger (contract §20.3). The owner of its mailbox removes the mail in it; everything
/// else may be removed by any router, as confirmations and sweeps remove it.
package struct ErasedMail: ErasedRows {
    package static let part = ErasurePart.router

    private let pool: PostgresPool
    private let groups: GroupService
    private let expire: @Sendable (WhisperID) async throws(StoreError) -> Void

    /// - Parameter expire: removes a portion of the mail to this identity, if this process owns its mailbox.
    package init(
        _ pool: PostgresPool, groups: GroupService,
        expire: @escaping @Sendable (WhisperID) async throws(StoreError) -> Void
    ) {
        self.pool = pool
        self.groups = groups
        self.expire = expire
    }

    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        guard case .identity(let identity) = erasure.principal else { return .nothing }
        var found = ErasedCount(removed: 0, waiting: Int(try await self.pool.query(Self.waiting(for: identity))))
        if found.waiting > 0 { try await self.expire(identity) }
        // One statement at a time: none of them holds a lock while it waits for another.
        for removal in Self.removals(of: identity) { found.removed += try await self.pool.execute(removal) }
        found.removed += try await self.groups.leaveGroups(of: identity)
        // A statement that reads whole tables waits until nothing can be written any more.
        guard erasure.isSettled else { return found }
        if erasure.withdraws { found.removed += try await self.pool.execute(Self.withdrawal(of: identity)) }
        found.removed += try await self.groups.forgetInEvents(identity)
        // Rows under a lock were left out.
        if found.removed == 0 { found.waiting += Int(try await self.pool.query(Self.locked(of: identity, erasure))) }
        return found
    }

    private static func locked(of identity: WhisperID, _ erasure: OpenErasure) -> Statement<Int64> {
        Statement(
            value: """
                SELECT (SELECT count(*) FROM (
                        SELECT FROM router.outcomes WHERE sender = \(identity) LIMIT 1) o)
                    + (SELECT count(*) FROM (
                        SELECT FROM router.group_news WHERE member = \(identity) LIMIT 1) n)
                    + (SELECT count(*) FROM (
                        SELECT FROM router.mailbox WHERE \(erasure.withdraws) AND sender = \(identity) LIMIT 1) m)
                """)
    }

    private static func waiting(for identity: WhisperID) -> Statement<Int64> {
        Statement(
            value: """
                SELECT count(*) FROM (
                    SELECT FROM router.mailbox WHERE recipient = \(identity) LIMIT \(Int64(ErasureLimits.portion))) m
                """)
    }

    private static func removals(of identity: WhisperID) -> [SQL] {
        let portion = Int64(ErasureLimits.portion)
        return [
            """
            DELETE FROM router.outcomes WHERE number IN (
                SELECT number FROM router.outcomes WHERE sender = \(identity) ORDER BY number LIMIT \(portion)
                FOR UPDATE SKIP LOCKED)
            """,
            """
            DELETE FROM router.peers WHERE (identity, peer) IN (
                SELECT identity, peer FROM router.peers WHERE identity = \(identity) LIMIT \(portion))
            """,
            """
            DELETE FROM router.peers WHERE (identity, peer) IN (
                SELECT identity, peer FROM router.peers WHERE peer = \(identity) LIMIT \(portion))
            """,
            "DELETE FROM router.full_mailboxes WHERE recipient = \(identity)",
            "DELETE FROM router.group_quotas WHERE identity = \(identity)",
            """
            DELETE FROM router.group_news WHERE number IN (
                SELECT number FROM router.group_news WHERE member = \(identity) LIMIT \(portion) FOR UPDATE SKIP LOCKED)
            """,
        ]
    }

    /// Mail from the identity that waits for others goes without a word. Reads all mailboxes: senders have no index.
    private static func withdrawal(of identity: WhisperID) -> SQL {
        """
        DELETE FROM router.mailbox m USING (
            SELECT tableoid AS home, ctid AS place FROM router.mailbox WHERE sender = \(identity)
            LIMIT \(Int64(ErasureLimits.portion)) FOR UPDATE SKIP LOCKED) sent
        WHERE m.tableoid = sent.home AND m.ctid = sent.place AND m.sender = \(identity)
        """
    }
}
