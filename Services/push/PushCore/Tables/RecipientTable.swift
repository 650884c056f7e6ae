package import Contract
package import Store
package import Telemetry

/// The only code that reads or writes `push.recipients` and adds to `push.dead_letters`; reads the tokens that auth shows
/// and the waiting mail that the router shows.
package struct RecipientTable: Sendable {
    /// How to reach the one device of an identity.
    package struct Device: Equatable, Sendable {
        package var platform: Platform
        package var pushToken: String?
        package var voipToken: String?
        /// With it each push has a tag.
        package var wakeSecret: WakeSecret?
        /// Other identities have the same push token.
        package var isShared: Bool

        package init(
            platform: Platform, pushToken: String? = nil, voipToken: String? = nil, wakeSecret: WakeSecret? = nil,
            isShared: Bool = false
        ) {
            self.platform = platform
            self.pushToken = pushToken
            self.voipToken = voipToken
            self.wakeSecret = wakeSecret
            self.isShared = isShared
        }
    }

    package struct Recipient: Sendable {
        package var id: WhisperID
        /// Nil: it has shown no token.
        package var device: Device?
        package var history: WakePlan.History
        /// Nothing that waited at the last push waits now: it was answered.
        package var hasAnswered: Bool
        package var hasMail: Bool
        /// When this was so, by the database's clock: what follows is reckoned from it.
        package var time: ToldTime
    }

    /// The result of a try.
    package struct Record: Sendable {
        package var recipient: WhisperID
        package var wakeID: UUIDText
        package var provider: PushProviderName
        package var result: PushResult
        package var history: WakePlan.History
        package var triedAt: Timestamp
    }

    /// A wake-up that is given up.
    package struct DeadLetter: Sendable {
        package var recipient: WhisperID
        package var wakeID: UUIDText
        package var kind: String
        package var provider: PushProviderName
        package var reason: PushResult
        package var tries: Int
    }

    /// A recipient whose time to look again has come.
    package struct Due: Sendable {
        package var id: WhisperID
        package var history: WakePlan.History
        package var hasMail: Bool
        /// When it was taken, by the database's clock.
        package var takenAt: Timestamp
    }

    private let pool: PostgresPool
    private let clock: ServiceClock

    package init(_ pool: PostgresPool, clock: ServiceClock = .real) {
        self.pool = pool
        self.clock = clock
    }

    /// The time that all others in these tables are written by.
    package func time() async throws(StoreError) -> Timestamp { try await self.pool.time(self.clock.store) }

    /// Reads recipients with a wake-up.
    package func read(_ recipients: [WhisperID]) async throws(StoreError) -> [WhisperID: Recipient] {
        let now = self.clock.store
        let rows = try await self.pool.query(
            """
            SELECT asked.id, t.platform, t.push_token, t.voip_token, t.wake_secret, t.is_shared, r.sent_at,
                COALESCE(r.unanswered, 0::int2), COALESCE(r.failures, 0::int2), r.due_at,
                COALESCE(r.unanswered > 0 AND NOT EXISTS (
                    SELECT FROM router.waiting w WHERE w.recipient = asked.id AND w.accepted_at <= r.sent_at), false),
                EXISTS (SELECT FROM router.waiting w WHERE w.recipient = asked.id), \(now)
            FROM unnest(\(recipients)) AS asked (id)
            LEFT JOIN auth.push_tokens t ON t.whisper_id = asked.id
            LEFT JOIN push.recipients r ON r.recipient = asked.id
            """)
        var found: [WhisperID: Recipient] = [:]
        for var row in rows {
            let id: WhisperID = try row.next()
            let device = try Self.device(&row)
            let history = WakePlan.History(
                sentAt: try row.next(), unanswered: Int(try row.next(Int16.self)),
                failures: Int(try row.next(Int16.self)),
                dueAt: try row.next())
            found[id] = Recipient(
                id: id, device: device, history: history, hasAnswered: try row.next(), hasMail: try row.next(),
                time: ToldTime(try row.next()))
        }
        return found
    }

    /// The devices of those who are called. Identities without a token are left out.
    package func devices(of recipients: [WhisperID]) async throws(StoreError) -> [WhisperID: Device] {
        let rows = try await self.pool.query(
            """
            SELECT whisper_id, platform, push_token, voip_token, wake_secret, is_shared FROM auth.push_tokens
            WHERE whisper_id = ANY(\(recipients))
            """)
        var found: [WhisperID: Device] = [:]
        for var row in rows {
            let id: WhisperID = try row.next()
            found[id] = try Self.device(&row)
        }
        return found
    }

    private static func device(_ row: inout Row) throws(StoreError) -> Device? {
        let platform = try row.next(String?.self).flatMap { Platform(rawValue: $0) }
        let (push, voip): (String?, String?) = (try row.next(), try row.next())
        let secret = try row.next([UInt8]?.self).flatMap { WakeSecret($0) }
        let isShared = try row.next(Bool?.self) ?? false
        return platform.map {
            Device(platform: $0, pushToken: push, voipToken: voip, wakeSecret: secret, isShared: isShared)
        }
    }

    /// Remembers one round of tries, and those given up: all or nothing, in one round trip.
    package func write(_ records: [Record], _ dead: [DeadLetter]) async throws(StoreError) {
        var statements = Pipeline()
        if !records.isEmpty {
            statements.add(
                """
                INSERT INTO push.recipients AS mine
                    (recipient, tried_at, provider, result, wake_id, sent_at, unanswered, failures, due_at)
                SELECT recipient, tried_at, provider, result, wake_id, NULLIF(sent_at, \(Self.never)), unanswered, failures,
                    NULLIF(due_at, \(Self.never))
                FROM unnest(
                    \(records.map(\.recipient)), \(records.map(\.triedAt)), \(records.map(\.provider.rawValue)),
                    \(records.map(\.result.rawValue)), \(records.map { PostgresUUID(high: $0.wakeID.high, low: $0.wakeID.low) }),
                    \(records.map { $0.history.sentAt ?? Self.never }), \(records.map { Int16(clamping: $0.history.unanswered) }),
                    \(records.map { Int16(clamping: $0.history.failures) }), \(records.map { $0.history.dueAt ?? Self.never }))
                    AS new (recipient, tried_at, provider, result, wake_id, sent_at, unanswered, failures, due_at)
                -- An erased identity gets no row, however late its wake-up is.
                WHERE EXISTS (SELECT FROM auth.mail_identities i WHERE i.whisper_id = new.recipient)
                ORDER BY recipient
                ON CONFLICT (recipient) DO UPDATE SET
                    tried_at = excluded.tried_at, provider = excluded.provider, result = excluded.result,
                    wake_id = excluded.wake_id, sent_at = excluded.sent_at, unanswered = excluded.unanswered,
                    failures = excluded.failures, due_at = excluded.due_at,
                    woke_at = CASE WHEN excluded.sent_at IS NOT DISTINCT FROM mine.sent_at THEN mine.woke_at END
                """)
        }
        if !dead.isEmpty {
            statements.add(
                """
                INSERT INTO push.dead_letters (recipient, wake_id, kind, provider, reason, tries, at)
                SELECT letters.*, \(self.clock.store) FROM unnest(
                    \(dead.map(\.recipient)), \(dead.map { PostgresUUID(high: $0.wakeID.high, low: $0.wakeID.low) }),
                    \(dead.map(\.kind)), \(dead.map(\.provider.rawValue)), \(dead.map(\.reason.rawValue)),
                    \(dead.map { Int32(clamping: $0.tries) })) AS letters (recipient, wake_id, kind, provider, reason, tries)
                WHERE EXISTS (SELECT FROM auth.mail_identities i WHERE i.whisper_id = letters.recipient)
                """)
        }
        guard !statements.isEmpty else { return }
        _ = try await self.pool.pipeline(statements)
    }

    /// Stands for NULL in arrays, which have none here.
    private static let never = Timestamp(milliseconds: 0)

    /// Sets when recipients are checked again, unless they are due earlier.
    package func hold(_ recipients: [(id: WhisperID, until: Timestamp)]) async throws(StoreError) {
        try await self.pool.execute(
            """
            UPDATE push.recipients SET due_at = LEAST(due_at, held.until)
            FROM unnest(\(recipients.map(\.id)), \(recipients.map(\.until))) AS held (id, until)
            WHERE recipient = held.id
            """)
    }

    /// Takes recipients whose time has come, for `lease`: if nothing is written about them until then, they come again.
    package func takeDue(lease: Duration, limit: Int) async throws(StoreError) -> [Due] {
        let now = self.clock.store
        let rows = try await self.pool.query(
            """
            UPDATE push.recipients SET due_at = \(now + lease)
            WHERE recipient IN (
                SELECT recipient FROM push.recipients WHERE due_at <= \(now)
                ORDER BY due_at LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            RETURNING recipient, sent_at, unanswered, failures, due_at,
                EXISTS (SELECT FROM router.waiting w WHERE w.recipient = recipients.recipient)
            """)
        var due: [Due] = []
        for var row in rows {
            let id: WhisperID = try row.next()
            let history = WakePlan.History(
                sentAt: try row.next(), unanswered: Int(try row.next(Int16.self)),
                failures: Int(try row.next(Int16.self)))
            let leasedUntil: Timestamp = try row.next()
            due.append(
                Due(
                    id: id, history: history, hasMail: try row.next(),
                    takenAt: Timestamp(milliseconds: leasedUntil.milliseconds - lease.milliseconds)))
        }
        return due
    }

    /// Remembers that devices came back, or that nothing waits for them any more. While mail waits, its time to be looked at
    /// stays: the presence key of a gateway that died outlives it, and says of everybody that they are there.
    /// - Returns: those whose last push nobody had seen answered before.
    package func woke(_ recipients: [WhisperID]) async throws(StoreError) -> [WhisperID] {
        let now = self.clock.store
        let rows = try await self.pool.query(
            """
            WITH old AS (
                SELECT recipient, unanswered FROM push.recipients WHERE recipient = ANY(\(recipients)) FOR UPDATE),
            new AS (
                UPDATE push.recipients SET woke_at = CASE WHEN old.unanswered > 0 THEN \(now) ELSE woke_at END,
                    unanswered = 0, failures = 0,
                    due_at = CASE WHEN EXISTS (SELECT FROM router.waiting w WHERE w.recipient = old.recipient) THEN due_at END
                FROM old WHERE recipients.recipient = old.recipient RETURNING old.recipient, old.unanswered)
            SELECT recipient FROM new WHERE unanswered > 0
            """)
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Forgets what is old by the database's clock.
    /// - Parameter deadLetterLife: how long operators see a dead letter.
    package func sweep(deadLetterLife: Duration, limit: Int) async throws(StoreError) {
        let now = self.clock.store
        _ = try await self.pool.pipeline([
            """
            DELETE FROM push.dead_letters WHERE number IN (
                SELECT number FROM push.dead_letters WHERE at < \(now - deadLetterLife) LIMIT \(Int64(limit)))
            """,
            """
            DELETE FROM push.recipients WHERE recipient IN (
                SELECT recipient FROM push.recipients
                WHERE due_at IS NULL AND tried_at < \(now - PushLimits.lastPushKept) LIMIT \(Int64(limit)))
            """,
        ])
    }
}
