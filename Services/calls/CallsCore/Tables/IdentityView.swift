import Contract
import Store

/// Reads `auth.mail_identities`, which auth declares.
enum IdentityView {
    static func accounts(of identities: [WhisperID]) -> SQL {
        "SELECT whisper_id, epoch, is_banned FROM auth.mail_identities WHERE whisper_id = ANY (\(identities)::int8[])"
    }

    static func accounts(_ rows: Rows) throws(StoreError) -> [WhisperID: AccountStatus] {
        var accounts: [WhisperID: AccountStatus] = [:]
        for var row in rows {
            let identity: WhisperID = try row.next()
            accounts[identity] = AccountStatus(epoch: Epoch(value: try row.next()), isBanned: try row.next())
        }
        return accounts
    }
}
