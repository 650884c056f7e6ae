import Contract
import Store

/// Reads `auth.mail_identities`, which auth declares.
enum IdentityView {
    static func standings(of identities: [WhisperID]) -> SQL {
        "SELECT whisper_id, epoch, is_banned FROM auth.mail_identities WHERE whisper_id = ANY (\(identities)::int8[])"
    }

    static func standings(_ rows: Rows) throws(StoreError) -> [WhisperID: CallStanding] {
        var standings: [WhisperID: CallStanding] = [:]
        for var row in rows {
            let identity: WhisperID = try row.next()
            standings[identity] = CallStanding(epoch: Epoch(value: try row.next()), isBanned: try row.next())
        }
        return standings
    }
}
