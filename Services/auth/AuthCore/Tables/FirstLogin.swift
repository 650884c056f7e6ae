import ClusterContract
import Contract
import Store

/// A new identity with its device and its first session: stored all or nothing.
///
/// One statement stores the identity and its session, and two the device: no session or device has to end first. A login of an identity that is known changes the
/// same three tables step by step, in a transaction (`Registration`).
struct FirstLogin: Sendable {
    let identity: IdentityKeys
    /// The first session, with the epoch that the identity begins with. It expires at `end`.
    let session: Session
    var client: ClientKind?
    let pushToken: String?
    let voipToken: String?
    var wakeSecret: WakeSecret?
    /// SHA-256 of the invitation's token, if the client has shown one.
    var invitation: Bytes32?
    /// Whether somebody new may register, if no operator has chosen.
    var usualMode = RegistrationMode.open
    let now: StoreTime
    /// When the session expires.
    let end: StoreTime
    /// It is not stored later: its client has given it up.
    let deadline: ContinuousClock.Instant

    /// The result. Nothing was stored unless it was `added`.
    enum Outcome: Equatable, Sendable {
        /// - rateClass: of the invitation.
        case added(expiresAt: Timestamp, rateClass: RateClassName?)
        /// The id or one of the keys is taken.
        case taken
        /// The keys are nobody's for all this statement knows, and nobody may come in with what they brought. If they are known
        /// nevertheless, another transaction has registered them.
        case refused(RefusalReason)
    }

    /// - Returns: for its outcome. The pipeline throws `.unique` if another transaction has registered one of the keys meanwhile.
    func add(to pipeline: inout Pipeline) -> Pipeline.Ticket<Outcome> {
        let outcome = pipeline.add(self.statement)
        // The session exists if the identity was added. Only then is the device stored, and takes its tokens from others.
        pipeline.add(
            DeviceTable.taking(
                push: self.pushToken, voip: self.voipToken, for: DeviceTable.Device(of: self.session), at: self.now,
                ifSession: self.session.tokenHash))
        pipeline.add(
            """
            INSERT INTO auth.devices (
                whisper_id, device_id, platform, push_token, voip_token, updated_at, client, wake_secret)
            SELECT whisper_id, device_id, platform, \(self.pushToken), \(self.voipToken), \(self.now),
                \(self.client?.rawValue), \(self.wakeSecret?.bytes)
            FROM auth.sessions WHERE token_hash = \(self.session.tokenHash)
            """)
        return outcome
    }

    /// Looks for tombstones, locks the invitation, adds the identity, and counts the use from what was added: a use that ends in `taken` costs nothing, and
    /// of parallel uses each waits for the one before and then looks again.
    private var statement: Statement<Outcome> {
        Statement(
            """
            WITH door AS MATERIALIZED (
                SELECT coalesce((SELECT mode FROM auth.registration), \(self.usualMode.rawValue)) AS mode
            ), invitation AS MATERIALIZED (
                SELECT invitation_id, rate_class FROM auth.invitations
                WHERE (SELECT mode FROM door) = 'invited' AND token_hash = \(self.invitation)
                    AND uses_left > 0 AND revoked_at IS NULL AND expires_at > \(self.now)
                FOR UPDATE
            ), buried AS MATERIALIZED (
                SELECT mark FROM auth.tombstones WHERE mark = ANY (\(Tombstones.marks(of: self.identity))::bytea[])
            ), added AS (
                INSERT INTO auth.identities (whisper_id, sign_key, enc_key, epoch, rate_class)
                SELECT \(self.identity.whisperID), \(self.identity.signPublicKey), \(self.identity.encPublicKey),
                    \(self.session.caller.epoch.value), (SELECT rate_class FROM invitation)
                WHERE NOT EXISTS (
                    SELECT FROM auth.identities
                    WHERE sign_key = \(self.identity.signPublicKey) OR enc_key = \(self.identity.encPublicKey))
                    AND ((SELECT mode FROM door) = 'open' OR EXISTS (SELECT FROM invitation))
                    AND NOT EXISTS (SELECT FROM buried)
                ON CONFLICT (whisper_id) DO NOTHING
                RETURNING whisper_id, epoch
            ), used AS (
                UPDATE auth.invitations SET uses_left = uses_left - 1
                WHERE invitation_id = (SELECT invitation_id FROM invitation) AND EXISTS (SELECT FROM added)
            ), session AS (
                INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at)
                SELECT \(self.session.tokenHash), whisper_id, \(PostgresUUID(self.session.device)),
                    \(self.session.platform.rawValue), epoch, \(self.end)
                FROM added
                RETURNING expires_at
            )
            SELECT (SELECT expires_at FROM session), (SELECT rate_class FROM invitation), (SELECT mode FROM door), EXISTS (SELECT FROM invitation),
                -- An id that is buried alone is taken: another one is tried.
                EXISTS (SELECT FROM buried WHERE mark <> \(Tombstones.mark(of: self.identity.whisperID)))
            """
        ) { rows throws(StoreError) in
            var row = rows[0]
            let (expiresAt, rateClass): (Timestamp?, String?) = (try row.next(), try row.next())
            if let expiresAt {
                return .added(expiresAt: expiresAt, rateClass: rateClass.flatMap { RateClassName($0) })
            }
            let (mode, isInvited, isErased): (String, Bool, Bool) = (try row.next(), try row.next(), try row.next())
            if isErased { return .refused(.erased) }
            switch RegistrationMode(rawValue: mode) {
            case .open: return .taken
            case .invited where isInvited: return .taken
            case .invited: return .refused(self.invitation == nil ? .invitationNeeded : .invitationInvalid)
            case .closed: return .refused(.registrationClosed)
            case nil: throw .undecodable(column: 2)
            }
        }
    }
}
