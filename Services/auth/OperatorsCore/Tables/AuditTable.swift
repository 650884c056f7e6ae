package import Contract
package import HTTPAccess
package import Store

extension AuditEvent {
    // Actions of the service itself, because of a ban.
    package static let sessionsEnded = "sessionsEnded"
    package static let loginRefused = "loginRefused"
    package static let banExpired = "banExpired"
}

/// The only code of this service that reads or writes `auth.audit_events`. The role may add rows, change none, and have old ones removed.
package struct AuditTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package func add(_ event: AuditEvent, at now: StoreTime) async throws(StoreError) {
        _ = try await self.pool.execute(Self.insertion(of: event, at: now))
    }

    package func add(
        _ event: AuditEvent, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) {
        try await transaction.execute(Self.insertion(of: event, at: now))
    }

    /// Adds an event at most once a minute for its target and action: clients can cause it at will.
    package func addAtMostOnceAMinute(_ event: AuditEvent, at now: StoreTime) async throws(StoreError) {
        _ = try await self.pool.execute(
            """
            INSERT INTO auth.audit_events (at, actor, action, target, result, note)
            SELECT \(now), \(event.actor.rawValue), \(event.action), \(event.target), \(event.result), \(event.note)
            WHERE NOT EXISTS (
                SELECT FROM (
                    SELECT action, at FROM auth.audit_events WHERE target = \(event.target) ORDER BY number DESC LIMIT 10
                ) latest WHERE action = \(event.action) AND at > \(now - .seconds(60)))
            """)
    }

    /// Removes the oldest events. The database keeps those of the last 30 days, whatever it is asked.
    /// - Parameter limit: looks at no more rows than this.
    /// - Returns: how many.
    package func removeEvents(before end: StoreTime, limit: Int) async throws(StoreError) -> Int {
        let removed: Int64 = try await self.pool.query("SELECT auth.forget_old_events(\(end), \(Int64(limit)))")[0]
            .decode(0)
        return Int(removed)
    }

    private static func insertion(of event: AuditEvent, at now: StoreTime) -> SQL {
        """
        INSERT INTO auth.audit_events (at, actor, action, target, result, note)
        VALUES (\(now), \(event.actor.rawValue), \(event.action), \(event.target), \(event.result), \(event.note))
        """
    }

    package struct Entry: Equatable, Sendable {
        package var number: Int64
        package var at: Timestamp
        package var event: AuditEvent
    }

    /// Which events are asked for.
    package enum Kind: Sendable {
        case all
        /// All but reading operations, whose names begin with get or list.
        case changes
    }

    /// Newest first.
    /// - Parameter target: nil for all.
    package func list(
        _ kind: Kind = .all, target: String?, before cursor: Cursor?, limit: Int
    ) async throws(StoreError) -> [Entry] {
        // Two statements: Postgres uses a partial index only if its condition stands in the text.
        let sql: SQL =
            switch kind {
            case .all:
                """
                SELECT number, at, actor, action, target, result, note FROM auth.audit_events
                WHERE number < \(cursor?.after ?? .max) AND (\(target)::text IS NULL OR target = \(target))
                ORDER BY number DESC LIMIT \(Int64(limit))
                """
            case .changes:
                """
                SELECT number, at, actor, action, target, result, note FROM auth.audit_events
                WHERE number < \(cursor?.after ?? .max) AND (\(target)::text IS NULL OR target = \(target))
                    AND action NOT LIKE 'get%' AND action NOT LIKE 'list%'
                ORDER BY number DESC LIMIT \(Int64(limit))
                """
            }
        let rows = try await self.pool.query(sql)
        var list: [Entry] = []
        for var row in rows {
            let (number, at): (Int64, Timestamp) = (try row.next(), try row.next())
            guard let actor = AuditEvent.Actor(rawValue: try row.next()) else { throw .undecodable(column: 2) }
            list.append(
                Entry(
                    number: number, at: at,
                    event: AuditEvent(
                        actor, try row.next(), target: try row.next(), result: try row.next(), note: try row.next())))
        }
        return list
    }
}
