import ClusterContract
import Contract
import Store

/// Reads `auth.profile_membership`, which auth declares.
enum LiveViews {
    /// The members of these profiles that are not banned. A profile without any members does not exist, and has no entry.
    static func members(of profiles: [UUIDText]) -> Statement<[UUIDText: Set<WhisperID>]> {
        Statement(
            """
            SELECT profile_id, whisper_id, is_banned FROM auth.profile_membership
            WHERE profile_id = ANY (\(profiles.map { PostgresUUID($0) })::uuid[])
            """,
            decode: { rows throws(StoreError) in
                var members: [UUIDText: Set<WhisperID>] = [:]
                for var row in rows {
                    let profile = UUIDText(try row.next(PostgresUUID.self))
                    let member: WhisperID = try row.next()
                    members[profile, default: []].formUnion(try row.next() ? [] : [member])
                }
                return members
            })
    }
}
