import Contract
import Store

/// Stores a new identity with its device and its first session, all or nothing.
///
/// One statement in one round trip: nobody has a session or a device to be ended yet. A login of an identity that is known changes the
/// same three tables step by step, in a transaction (`Registration`).
enum FirstLogin {
    /// - Parameters:
    ///   - session: of the epoch that the identity begins with.
    ///   - end: when the session expires, instead of what stands in `session`.
    /// - Returns: answers with the time when the session expires; `nil` if the id or one of the keys is taken.
    /// - Throws: when run: `.unique` if another transaction has registered one of the keys, or one of the tokens, meanwhile.
    static func statement(
        _ identity: IdentityKeys, _ session: Session, pushToken: String?, voipToken: String?, at now: StoreTime,
        until end: StoreTime
    ) -> Statement<Timestamp?> {
        Statement(
            """
            WITH added AS (
                INSERT INTO auth.identities (whisper_id, sign_key, enc_key, epoch)
                SELECT \(identity.whisperID), \(identity.signPublicKey), \(identity.encPublicKey), \(session.caller.epoch.value)
                WHERE NOT EXISTS (
                    SELECT FROM auth.identities
                    WHERE sign_key = \(identity.signPublicKey) OR enc_key = \(identity.encPublicKey))
                ON CONFLICT (whisper_id) DO NOTHING
                RETURNING whisper_id, epoch
            ), device AS (
                INSERT INTO auth.devices (whisper_id, device_id, platform, push_token, voip_token, updated_at)
                SELECT whisper_id, \(PostgresUUID(session.device)), \(session.platform.rawValue), \(pushToken), \(voipToken), \(now)
                FROM added
            )
            INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at)
            SELECT \(session.tokenHash), whisper_id, \(PostgresUUID(session.device)), \(session.platform.rawValue), epoch, \(end)
            FROM added
            RETURNING expires_at
            """, first: { row throws(StoreError) in try row.next() })
    }
}
