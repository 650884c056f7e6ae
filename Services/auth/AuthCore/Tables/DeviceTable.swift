package import ClusterContract
package import Contract
package import Store

/// The only code that reads or writes `auth.devices`.
package struct DeviceTable: Sendable {
    /// A device as its session names it.
    package struct Device: Sendable {
        package var identity: WhisperID
        package var id: UUIDText
        package var platform: Platform
        /// As its login has said; `nil`: what an earlier one has said stays.
        package var client: ClientKind?

        package init(identity: WhisperID, id: UUIDText, platform: Platform, client: ClientKind? = nil) {
            self.identity = identity
            self.id = id
            self.platform = platform
            self.client = client
        }

        fileprivate var storedID: PostgresUUID { PostgresUUID(self.id) }
    }

    package init() {}

    /// Makes `device` the identity's only one; the push tokens of the others go with them.
    package func makeOnly(_ device: Device, in transaction: borrowing Transaction) async throws(StoreError) {
        try await transaction.execute(
            """
            DELETE FROM auth.devices WHERE whisper_id = \(device.identity) AND device_id <> \(device.storedID)
            """)
    }

    /// Changes push tokens, and the secret by which their pushes name the identity. A token that is set is taken from another device that had it (`taking`). Concurrent changes with the same
    /// token wait for each other: with retries only, the last of many would run out of retries.
    package func setTokens(
        of device: Device, push: UpdateTokens.Change<String>, voip: UpdateTokens.Change<String>,
        wakeSecret: UpdateTokens.Change<WakeSecret>, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) {
        let (push, voip, secret) = (StoredChange(push), StoredChange(voip), StoredChange(wakeSecret))
        var pipeline = Pipeline()
        pipeline.add(
            Self.taking(push: push.value, voip: voip.value, for: device, at: now))
        pipeline.add(
            """
            INSERT INTO auth.devices AS mine (
                whisper_id, device_id, platform, push_token, voip_token, updated_at, client,
                wake_secret)
            VALUES (\(device.identity), \(device.storedID), \(device.platform.rawValue),
                \(push.value), \(voip.value), \(now), \(device.client?.rawValue), \(secret.value?.bytes))
            ON CONFLICT (whisper_id, device_id) DO UPDATE SET
                platform = excluded.platform,
                client = coalesce(excluded.client, mine.client),
                push_token = CASE WHEN \(push.keeps) THEN mine.push_token ELSE excluded.push_token END,
                voip_token = CASE WHEN \(voip.keeps) THEN mine.voip_token ELSE excluded.voip_token END,
                wake_secret = CASE WHEN \(secret.keeps) THEN mine.wake_secret ELSE excluded.wake_secret END,
                -- Tokens that are kept are no newer than they were (`clear`).
                updated_at = CASE WHEN \(push.keeps && voip.keeps) THEN mine.updated_at ELSE excluded.updated_at END
            """)
        _ = try await transaction.pipeline(pipeline)
    }

    /// Takes tokens from other devices that have them. Identities of the same device keep them, up to
    /// `AuthLimits.identitiesOfTokenMax` with this one: those beyond have shown theirs longest ago. Transactions with the same token wait
    /// for each other.
    /// - Parameter session: SHA-256 of a token. If given, tokens are taken only if this session exists.
    static func taking(
        push: String?, voip: String?, for device: Device, at now: StoreTime, ifSession session: Bytes32? = nil
    ) -> [SQL] {
        guard push != nil || voip != nil else { return [] }
        return [
            """
            SELECT pg_advisory_xact_lock(tokens.key)
            FROM (SELECT DISTINCT hashtextextended(token, 1) AS key FROM unnest(\([push, voip])) AS token
                WHERE token IS NOT NULL ORDER BY key) AS tokens
            """,
            """
            UPDATE auth.devices AS other
            SET push_token = CASE WHEN push_token = \(push) THEN NULL ELSE push_token END,
                voip_token = CASE WHEN voip_token = \(voip) THEN NULL ELSE voip_token END,
                updated_at = \(now)
            WHERE (push_token = \(push) OR voip_token = \(voip))
                AND (whisper_id <> \(device.identity) OR device_id <> \(device.storedID))
                AND (device_id <> \(device.storedID) OR platform <> \(device.platform.rawValue) OR (
                    SELECT count(*) FROM auth.devices AS newer
                    WHERE (newer.push_token = \(push) OR newer.voip_token = \(voip))
                        AND newer.whisper_id <> \(device.identity)
                        AND (newer.updated_at, newer.whisper_id) > (other.updated_at, other.whisper_id)
                ) >= \(Int64(AuthLimits.identitiesOfTokenMax - 1)))
                AND (\(session)::bytea IS NULL OR EXISTS (SELECT FROM auth.sessions WHERE token_hash = \(session)))
            """,
        ]
    }

    package func remove(_ device: Device, in transaction: borrowing Transaction) async throws(StoreError) {
        try await transaction.execute(
            """
            DELETE FROM auth.devices WHERE whisper_id = \(device.identity) AND device_id = \(device.storedID)
            """)
    }

    /// Takes tokens from their devices, and from all identities that share them: those that are still the same, and have not been shown
    /// again since.
    /// - Returns: how many were.
    package func clear(_ tokens: [RejectedToken], in pool: PostgresPool) async throws(StoreError) -> Int {
        let isPush = tokens.map { $0.kind == .push }
        // A device may lose both of its tokens at once, and a statement changes a row only once: two statements.
        var pipeline = Pipeline()
        let push = pipeline.add(
            Statement(
                affecting: """
                    UPDATE auth.devices AS sharer SET push_token = NULL
                    FROM unnest(\(tokens.map(\.identity)), \(isPush), \(tokens.map(\.tokenHash)), \(tokens.map(\.asOf)))
                        AS gone (id, is_push, hash, as_of)
                    JOIN auth.devices AS woken ON woken.whisper_id = gone.id AND gone.is_push
                        AND sha256(convert_to(woken.push_token, 'UTF8')) = gone.hash AND woken.updated_at <= gone.as_of
                    WHERE sharer.push_token = woken.push_token AND sharer.updated_at <= gone.as_of
                    """))
        let voip = pipeline.add(
            Statement(
                affecting: """
                    UPDATE auth.devices AS sharer SET voip_token = NULL
                    FROM unnest(\(tokens.map(\.identity)), \(isPush), \(tokens.map(\.tokenHash)), \(tokens.map(\.asOf)))
                        AS gone (id, is_push, hash, as_of)
                    JOIN auth.devices AS woken ON woken.whisper_id = gone.id AND NOT gone.is_push
                        AND sha256(convert_to(woken.voip_token, 'UTF8')) = gone.hash AND woken.updated_at <= gone.as_of
                    WHERE sharer.voip_token = woken.voip_token AND sharer.updated_at <= gone.as_of
                    """))
        let cleared = try await pool.pipeline(pipeline)
        return try cleared[push] + cleared[voip]
    }

    /// A change as parameters: the new value, and whether the old one stays instead.
    private struct StoredChange<Value: Equatable & Sendable> {
        var value: Value?
        var keeps: Bool

        init(_ change: UpdateTokens.Change<Value>) { (self.value, self.keeps) = (change.new, change == .keep) }
    }
}

extension DeviceTable.Device {
    package init(of session: Session) {
        self.init(identity: session.caller.identity, id: session.device, platform: session.platform)
    }
}
