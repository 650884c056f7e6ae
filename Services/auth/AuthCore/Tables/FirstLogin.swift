import ClusterContract
import Contract
import Store

/// A new identity with its device and its first session: stored all or nothing.
///
/// One statement stores them: nobody has a session or a device to be ended yet. A login of an identity that is known changes the
/// same three tables step by step, in a transaction (`Registration`).
struct FirstLogin: Sendable {
    let identity: IdentityKeys
    /// Of the epoch that the identity begins with. Its expiry is that of `end`.
    let session: Session
    let pushToken: String?
    let voipToken: String?
    let now: StoreTime
    /// When the session expires.
    let end: StoreTime
    /// It is not stored later: its client has given it up.
    let deadline: ContinuousClock.Instant

    /// - Returns: for the time when the session expires; `nil` if the id or one of the keys is taken. The pipeline throws
    ///   `.unique` if another transaction has registered one of the keys, or one of the tokens, meanwhile.
    func add(to pipeline: inout Pipeline) -> Pipeline.Ticket<Timestamp?> {
        pipeline.add(
            DeviceTable.taking(
                push: self.pushToken, voip: self.voipToken, for: self.identity.whisperID,
                PostgresUUID(self.session.device), at: self.now))
        return pipeline.add(self.statement)
    }

    private var statement: Statement<Timestamp?> {
        Statement(
            """
            WITH added AS (
                INSERT INTO auth.identities (whisper_id, sign_key, enc_key, epoch)
                SELECT \(self.identity.whisperID), \(self.identity.signPublicKey), \(self.identity.encPublicKey),
                    \(self.session.caller.epoch.value)
                WHERE NOT EXISTS (
                    SELECT FROM auth.identities
                    WHERE sign_key = \(self.identity.signPublicKey) OR enc_key = \(self.identity.encPublicKey))
                ON CONFLICT (whisper_id) DO NOTHING
                RETURNING whisper_id, epoch
            ), device AS (
                INSERT INTO auth.devices (whisper_id, device_id, platform, push_token, voip_token, updated_at)
                SELECT whisper_id, \(PostgresUUID(self.session.device)), \(self.session.platform.rawValue),
                    \(self.pushToken), \(self.voipToken), \(self.now)
                FROM added
            )
            INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at)
            SELECT \(self.session.tokenHash), whisper_id, \(PostgresUUID(self.session.device)),
                \(self.session.platform.rawValue), epoch, \(self.end)
            FROM added
            RETURNING expires_at
            """, first: { row throws(StoreError) in try row.next() })
    }
}
