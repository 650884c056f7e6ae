import ClusterContract
import Contract
package import Store

/// The only code that reads or writes `auth.profiles`. The row of a profile is also the lock of its members.
enum ProfileTable {
    /// Locks a profile: until the end of the transaction nobody joins, leaves or writes a document.
    /// - Returns: the hash of its join key; `nil` if there is no such profile.
    static func lock(_ profile: UUIDText) -> Statement<Bytes32?> {
        Statement(
            "SELECT join_hash FROM auth.profiles WHERE profile_id = \(PostgresUUID(profile)) FOR UPDATE",
            first: { row throws(StoreError) in try row.next() })
    }

    /// The same for a member. A caller that is no member locks nothing, so a profile of others takes as long as none.
    /// - Returns: whether it is locked. The member may have been removed while this waited.
    static func lock(_ profile: UUIDText, for member: WhisperID) -> Statement<Bool> {
        Statement(
            """
            SELECT FROM auth.profiles p
            WHERE profile_id = \(PostgresUUID(profile)) AND EXISTS (
                SELECT FROM auth.profile_members m WHERE m.profile_id = p.profile_id AND m.whisper_id = \(member))
            FOR UPDATE
            """, decode: { rows in !rows.isEmpty })
    }

    /// Keeps others from joining, leaving and writing until the end of the transaction: what the documents hold together is judged.
    /// - Returns: as `lock(_:for:)`.
    static func hold(_ profile: UUIDText, for member: WhisperID) -> Statement<Bool> {
        Statement(
            """
            SELECT FROM auth.profiles p
            WHERE profile_id = \(PostgresUUID(profile)) AND EXISTS (
                SELECT FROM auth.profile_members m WHERE m.profile_id = p.profile_id AND m.whisper_id = \(member))
            FOR NO KEY UPDATE
            """, decode: { rows in !rows.isEmpty })
    }

    /// The hash that a joining caller's key is compared with. Locks nothing.
    /// - Returns: the status of the caller, and the hash of the join key; `nil` if there is no such profile.
    static func joinHash(
        of profile: UUIDText, for caller: Caller
    ) -> Statement<(status: CallerStatus, joinHash: Bytes32?)> {
        Statement(
            """
            SELECT i.is_banned, p.join_hash
            FROM auth.identities i LEFT JOIN auth.profiles p ON p.profile_id = \(PostgresUUID(profile))
            WHERE i.whisper_id = \(caller.identity) AND i.epoch = \(caller.epoch.value)
            """,
            decode: { rows throws(StoreError) in
                guard var row = rows.first else { return (.stale, nil) }
                let isBanned = try row.next(Bool.self)
                return (isBanned ? .banned : .live, try row.next())
            })
    }

    /// - Throws: when run: `.unique` if another transaction has made it meanwhile.
    static func add(_ profile: UUIDText, joinHash: Bytes32, at now: StoreTime) -> SQL {
        """
        INSERT INTO auth.profiles (profile_id, join_hash, touched_at)
        VALUES (\(PostgresUUID(profile)), \(joinHash), \(now))
        """
    }

    static func exchangeJoinHash(of profile: UUIDText, for joinHash: Bytes32) -> SQL {
        "UPDATE auth.profiles SET join_hash = \(joinHash) WHERE profile_id = \(PostgresUUID(profile))"
    }

    /// A member has done something with the profile. Written down once a day.
    static func touch(_ profile: UUIDText, by member: WhisperID, at now: StoreTime) -> SQL {
        """
        UPDATE auth.profiles p SET touched_at = \(now)
        WHERE profile_id = \(PostgresUUID(profile)) AND touched_at <= \(now - AuthLimits.profileTouchEvery) AND EXISTS (
            SELECT FROM auth.profile_members m WHERE m.profile_id = p.profile_id AND m.whisper_id = \(member))
        """
    }

    /// Removes the profile with its members and documents.
    static func remove(_ profile: UUIDText) -> SQL {
        "DELETE FROM auth.profiles WHERE profile_id = \(PostgresUUID(profile))"
    }
}

/// Profiles that no member has touched for a long time.
package struct AbandonedProfiles: Sendable {
    private let pool: PostgresPool
    private let life: Duration

    package init(_ pool: PostgresPool, life: Duration = Limits.profileTTL) {
        self.pool = pool
        self.life = life
    }

    /// Removes profiles with their members and documents, up to a bound. Locked profiles stay for the next sweep.
    /// - Returns: how many.
    package func sweep(at now: StoreTime, limit: Int) async throws(StoreError) -> Int {
        try await self.pool.execute(
            """
            DELETE FROM auth.profiles WHERE profile_id IN (
                SELECT profile_id FROM auth.profiles WHERE touched_at <= \(now - self.life)
                LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            """)
    }
}
