import Contract
import Store

/// Reads `auth.mail_identities` and `auth.call_sessions`, which auth declares.
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

    static func session(_ tokenHash: Bytes32, at now: Timestamp) -> SQL {
        """
        SELECT whisper_id, epoch, device_id, platform, ends_at, sign_key, is_banned FROM auth.call_sessions
        WHERE token_hash = \(tokenHash) AND ends_at > \(now)
        """
    }

    static func session(_ rows: Rows, tokenHash: Bytes32) throws(StoreError) -> Session? {
        guard var row = rows.first else { return nil }
        let caller = Caller(identity: try row.next(), epoch: Epoch(value: try row.next()))
        let device = try UUIDText(row.next(PostgresUUID.self))
        let platform = Platform(rawValue: try row.next())
        let expiresAt: Timestamp = try row.next()
        guard let platform else { return nil }
        return Session(
            caller: caller, device: device, platform: platform, tokenHash: tokenHash, expiresAt: expiresAt,
            signPublicKey: try row.next(), isBanned: try row.next())
    }
}
