import ClusterContract
import Contract
import Store

/// Reads `auth.mail_identities`, which auth declares.
enum IdentityView {
    static func accounts(of identities: [WhisperID]) -> Statement<[WhisperID: AccountStatus]> {
        Statement(
            """
            SELECT whisper_id, epoch, is_banned FROM auth.mail_identities
            WHERE whisper_id = ANY (\(identities)::int8[])
            """,
            decode: { rows throws(StoreError) in
                var accounts: [WhisperID: AccountStatus] = [:]
                for var row in rows {
                    accounts[try row.next()] = AccountStatus(
                        epoch: Epoch(value: try row.next()), isBanned: try row.next())
                }
                return accounts
            })
    }
}
