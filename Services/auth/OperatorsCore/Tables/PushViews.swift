package import Contract
package import Store

/// Wake-ups, through the views that push declares. Views that are missing are read as empty.
package struct PushViews: Sendable {
    /// A recipient's last wake-up.
    package struct LastWakeUp: Equatable, Sendable {
        package var at: Timestamp
        package var provider: String
        package var result: String
        package var wakeID: UUIDText
        package var wokeAt: Timestamp?
    }

    /// A push that failed to the end.
    package struct DeadLetter: Equatable, Sendable {
        package var number: Int64
        package var at: Timestamp
        package var recipient: WhisperID
        package var wakeID: UUIDText
        package var kind: String
        package var provider: String
        package var reason: String
        package var tries: Int64
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package func lastWakeUps(of recipients: [WhisperID]) async throws(StoreError) -> [WhisperID: LastWakeUp] {
        guard try await self.pool.canRead("push", "standing") else { return [:] }
        let rows = try await self.pool.query(
            """
            SELECT recipient, tried_at, provider, result, wake_id, woke_at FROM push.standing
            WHERE recipient = ANY(\(recipients))
            """)
        var found: [WhisperID: LastWakeUp] = [:]
        for var row in rows {
            let recipient: WhisperID = try row.next()
            let (at, provider, result): (Timestamp, String, String) = (try row.next(), try row.next(), try row.next())
            let wake: PostgresUUID = try row.next()
            found[recipient] = LastWakeUp(
                at: at, provider: provider, result: result, wakeID: UUIDText(high: wake.high, low: wake.low),
                wokeAt: try row.next())
        }
        return found
    }

    /// Newest first.
    package func deadLetters(before cursor: Cursor?, limit: Int) async throws(StoreError) -> [DeadLetter] {
        guard try await self.pool.canRead("push", "given_up") else { return [] }
        let rows = try await self.pool.query(
            """
            SELECT number, at, recipient, wake_id, kind, provider, reason, tries::int8 FROM push.given_up
            WHERE number < \(cursor?.after ?? .max) ORDER BY number DESC LIMIT \(Int64(limit))
            """)
        var letters: [DeadLetter] = []
        for var row in rows {
            let (number, at, recipient): (Int64, Timestamp, WhisperID) = (
                try row.next(), try row.next(), try row.next()
            )
            let wake: PostgresUUID = try row.next()
            letters.append(
                DeadLetter(
                    number: number, at: at, recipient: recipient, wakeID: UUIDText(high: wake.high, low: wake.low),
                    kind: try row.next(), provider: try row.next(), reason: try row.next(), tries: try row.next()))
        }
        return letters
    }
}
