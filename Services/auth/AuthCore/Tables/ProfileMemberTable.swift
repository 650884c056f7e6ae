import ClusterContract
import Contract
import Store

/// The only code that reads or writes `auth.profile_members`. A writer holds the profile's lock (`ProfileTable`).
enum ProfileMemberTable {
    /// By age of membership; empty if there is no such profile.
    static func members(of profile: UUIDText) -> Statement<[ProfileMember]> {
        Statement(
            """
            SELECT whisper_id, joined_at FROM auth.profile_members WHERE profile_id = \(PostgresUUID(profile))
            ORDER BY joined_at, whisper_id
            """,
            each: { row throws(StoreError) in
                ProfileMember(identity: try row.next(), joinedAt: try row.next())
            })
    }

    /// How many profiles an identity is in. It stays true while the identity is held alone (`IdentityTable.holdAlone`).
    static func profiles(of identity: WhisperID) -> Statement<Int64> {
        Statement(value: "SELECT count(*) FROM auth.profile_members WHERE whisper_id = \(identity)")
    }

    /// The status of the caller, and whether it is a member.
    static func standing(
        of caller: Caller, in profile: UUIDText
    ) -> Statement<(status: CallerStatus, isMember: Bool)> {
        Statement(
            """
            SELECT i.is_banned, EXISTS (
                SELECT FROM auth.profile_members m
                WHERE m.profile_id = \(PostgresUUID(profile)) AND m.whisper_id = i.whisper_id)
            FROM auth.identities i
            WHERE i.whisper_id = \(caller.identity) AND i.epoch = \(caller.epoch.value)
            """,
            decode: { rows throws(StoreError) in
                guard var row = rows.first else { return (.stale, false) }
                let isBanned = try row.next(Bool.self)
                return (isBanned ? .banned : .live, try row.next())
            })
    }

    static func add(_ member: ProfileMember, to profile: UUIDText) -> SQL {
        """
        INSERT INTO auth.profile_members (profile_id, whisper_id, joined_at)
        VALUES (\(PostgresUUID(profile)), \(member.identity), \(member.joinedAt))
        """
    }

    static func remove(_ member: WhisperID, from profile: UUIDText) -> SQL {
        """
        DELETE FROM auth.profile_members WHERE profile_id = \(PostgresUUID(profile)) AND whisper_id = \(member)
        """
    }
}
