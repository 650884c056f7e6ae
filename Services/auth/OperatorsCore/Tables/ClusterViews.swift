package import Contract
package import Store

/// The cluster in numbers, and where its messages are. Reads, and writes nothing.
///
/// Counts of this schema come from its tables. Other services declare views for it; a view that is missing counts nothing.
package struct ClusterViews: Sendable {
    package struct Statistics: Equatable, Sendable {
        package var users: Int64 = 0
        package var devices: Int64 = 0
        /// By what their clients say they are; `nil`: those that say nothing.
        package var devicesByClient: [ClientKind?: Int64] = [:]
        package var sessions: Int64 = 0
        package var reportsOpen: Int64 = 0
        package var bansActive: Int64 = 0
        package var guests: Int64 = 0
        package var profiles: Int64 = 0
        package var conversations: Int64 = 0
        package var streams: Int64 = 0
        package var listeners: Int64 = 0
        package var rooms: Int64 = 0
        package var transcriptLines: Int64 = 0
        package var databaseBytes: Int64 = 0
        package var pendingMessages: Int64 = 0
        package var groups: Int64 = 0
        package var attachments: Int64 = 0
        package var attachmentBytes: Int64 = 0
    }

    /// A mailbox that holds much of what it may.
    package struct FullMailbox: Equatable, Sendable {
        package var recipient: WhisperID
        package var messages: Int64
        package var bytes: Int64
        /// Fraction used of the bound that is nearer. 1 is full.
        package var fill: Double

        package init(recipient: WhisperID, messages: Int64, bytes: Int64, fill: Double) {
            self.recipient = recipient
            self.messages = messages
            self.bytes = bytes
            self.fill = fill
        }
    }

    /// One recipient's share of a message.
    package struct Delivery: Equatable, Sendable {
        package var sender: WhisperID
        package var recipient: WhisperID
        package var group: UUIDText?
        package var status: AdminOperations.MessageStatus
        package var acceptedAt: Timestamp
        package var deliveredAt: Timestamp?
        package var readAt: Timestamp?
        package var expiredAt: Timestamp?
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Scans an index of each table, so it is for people, not for a poll each second.
    package func statistics(at now: StoreTime) async throws(StoreError) -> Statistics {
        let rows = try await self.pool.query(
            """
            SELECT (SELECT count(*) FROM auth.identities),
                (SELECT count(*) FROM auth.sessions WHERE LEAST(expires_at, dies_at) > \(now)),
                (SELECT count(*) FROM auth.reports WHERE status = 'open'),
                (SELECT count(*) FROM auth.bans WHERE expires_at IS NULL OR expires_at > \(now))
                    + (SELECT count(*) FROM auth.guest_bans WHERE expires_at IS NULL OR expires_at > \(now)),
                (SELECT count(*) FROM auth.guests), (SELECT count(*) FROM auth.profiles),
                pg_database_size(current_database())
            """)
        var statistics = Statistics()
        var own = rows[0]
        statistics.users = try own.next()
        statistics.sessions = try own.next()
        statistics.reportsOpen = try own.next()
        statistics.bansActive = try own.next()
        statistics.guests = try own.next()
        statistics.profiles = try own.next()
        statistics.databaseBytes = try own.next()
        for var row in try await self.pool.query("SELECT client, count(*) FROM auth.devices GROUP BY client") {
            let client = try row.next(String?.self).flatMap { ClientKind(rawValue: $0) }
            let count: Int64 = try row.next()
            // A kind that only a later release knows is unknown here.
            statistics.devicesByClient[client, default: 0] += count
            statistics.devices += count
        }
        if try await self.pool.canRead("router", "statistics") {
            var row = try await self.pool.query("SELECT pending_messages, groups FROM router.statistics")[0]
            statistics.pendingMessages = try row.next()
            statistics.groups = try row.next()
        }
        if try await self.pool.canRead("attachments", "statistics") {
            var row = try await self.pool.query("SELECT count::int8, bytes::int8 FROM attachments.statistics")[0]
            statistics.attachments = try row.next()
            statistics.attachmentBytes = try row.next()
        }
        if try await self.pool.canRead("calls", "statistics") {
            var row = try await self.pool.query(
                "SELECT conversations, streams, listeners, transcript_lines, rooms FROM calls.statistics")[0]
            statistics.conversations = try row.next()
            statistics.streams = try row.next()
            statistics.listeners = try row.next()
            statistics.transcriptLines = try row.next()
            statistics.rooms = try row.next()
        }
        return statistics
    }

    /// The fullest first, as routers saw them in the last minutes.
    package func fullestMailboxes(_ count: Int) async throws(StoreError) -> [FullMailbox] {
        guard try await self.pool.canRead("router", "fullest_mailboxes") else { return [] }
        let rows = try await self.pool.query(
            """
            SELECT recipient, messages, bytes, fill::float8 FROM router.fullest_mailboxes
            ORDER BY fill DESC, recipient LIMIT \(Int64(count))
            """)
        var mailboxes: [FullMailbox] = []
        for var row in rows {
            mailboxes.append(
                FullMailbox(
                    recipient: try row.next(), messages: try row.next(), bytes: try row.next(), fill: try row.next()))
        }
        return mailboxes
    }

    /// The delivery of a message to each of its recipients.
    package func deliveries(of message: UUIDText) async throws(StoreError) -> [Delivery] {
        guard try await self.pool.canRead("router", "message_standing") else { return [] }
        let rows = try await self.pool.query(
            """
            SELECT sender, recipient, group_id, status, accepted_at, delivered_at, read_at, expired_at
            FROM router.message_standing WHERE message_id = \(PostgresUUID(message))
            ORDER BY accepted_at, recipient LIMIT \(Int64(OperatorsLimits.deliveriesShownMax))
            """)
        var deliveries: [Delivery] = []
        for var row in rows {
            let (sender, recipient): (WhisperID, WhisperID) = (try row.next(), try row.next())
            let group = try row.next(PostgresUUID?.self)
            let status: AdminOperations.MessageStatus =
                switch try row.next(Int16.self) {
                case 1: .delivered
                case 2: .read
                case 3: .expired
                default: .pending
                }
            let acceptedAt: Timestamp = try row.next()
            deliveries.append(
                Delivery(
                    sender: sender, recipient: recipient, group: group.map { UUIDText(high: $0.high, low: $0.low) },
                    status: status, acceptedAt: acceptedAt, deliveredAt: try row.next(),
                    readAt: try row.next(), expiredAt: try row.next()))
        }
        return deliveries
    }

    /// Whether the router has accepted this very message: same sender, same recipient, same group or none.
    ///
    /// The router's ledger forgets after 14 days.
    package func knows(_ message: SignedEnvelope) async throws(StoreError) -> Bool {
        guard try await self.pool.canRead("router", "message_standing") else { return false }
        let rows = try await self.pool.query(
            """
            SELECT EXISTS (
                SELECT FROM router.message_standing
                WHERE message_id = \(PostgresUUID(message.messageID)) AND sender = \(message.from)
                    AND recipient = \(message.to)
                    AND group_id IS NOT DISTINCT FROM \(message.groupID.map { PostgresUUID($0) }))
            """)
        return try rows[0].decode(0)
    }

    /// Up to `limit` identities with a live session. Ids are digests, so the lowest ones are a fair sample.
    package func sample(limit: Int, at now: StoreTime) async throws(StoreError) -> [WhisperID] {
        let rows = try await self.pool.query(
            """
            SELECT DISTINCT whisper_id FROM auth.sessions WHERE LEAST(expires_at, dies_at) > \(now)
            ORDER BY whisper_id LIMIT \(Int64(limit))
            """)
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }
}

extension PostgresPool {
    /// Whether the view exists and may be read. Services start in any order, so its owner may not have made it yet.
    func canRead(_ schema: String, _ view: String) async throws(StoreError) -> Bool {
        let rows = try await self.query(
            """
            SELECT EXISTS (
                SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = \(schema) AND c.relname = \(view)
                    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))
            """)
        return try rows[0].decode(0)
    }

    /// Whether the function exists and may be called, as `canRead` for views.
    func canCall(_ schema: String, _ function: String) async throws(StoreError) -> Bool {
        let rows = try await self.query(
            """
            SELECT EXISTS (
                SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname = \(schema) AND p.proname = \(function)
                    AND has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE'))
            """)
        return try rows[0].decode(0)
    }
}
