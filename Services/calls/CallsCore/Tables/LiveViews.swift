import ClusterContract
import Contract
import Store

/// Reads the views of auth that say who takes part in live conversations: `auth.mail_identities`, `auth.live_guests` and
/// `auth.profile_membership`.
enum LiveViews {
    /// Guests whose token lives.
    static func guests(_ guests: [GuestID]) -> Statement<[GuestID: AccountStatus]> {
        Statement(
            """
            SELECT guest_id, epoch, is_banned FROM auth.live_guests
            WHERE guest_id = ANY (\(guests)::uuid[]) AND ends_at > now()
            """,
            decode: { rows throws(StoreError) in
                var accounts: [GuestID: AccountStatus] = [:]
                for var row in rows {
                    accounts[try row.next()] = AccountStatus(
                        epoch: Epoch(value: try row.next()), isBanned: try row.next())
                }
                return accounts
            })
    }

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
