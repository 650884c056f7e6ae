package import Contract
package import Store

/// One identity in numbers. Reads, and writes nothing.
///
/// The router and attachments declare functions for it; a function that is missing counts nothing.
package struct PersonViews: Sendable {
    package struct Person: Equatable, Sendable {
        package var id: WhisperID
        package var createdAt: Timestamp
        package var isBanned: Bool
        /// As it stands there, whether the settings know it or not.
        package var rateClass: String?
        /// `nil`: it has no device.
        package var platform: String?
        /// Day in UTC of the newest login or renewal.
        package var seenOn: String
        package var waitingMessages: Int64 = 0
        package var groups: Int64 = 0
        package var files: Int64 = 0
        package var fileBytes: Int64 = 0
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// - Returns: `nil` if there is no such identity.
    package func find(_ id: WhisperID) async throws(StoreError) -> Person? {
        let rows = try await self.pool.query(
            """
            SELECT created_at, is_banned, rate_class,
                (SELECT platform FROM auth.devices WHERE whisper_id = \(id) ORDER BY updated_at DESC LIMIT 1),
                to_char(seen_on, 'YYYY-MM-DD')
            FROM auth.identities WHERE whisper_id = \(id)
            """)
        guard var own = rows.first else { return nil }
        var person = Person(
            id: id, createdAt: try own.next(), isBanned: try own.next(), rateClass: try own.next(),
            platform: try own.next(), seenOn: try own.next())
        if try await self.pool.canCall("router", "counts_of") {
            var row = try await self.pool.query("SELECT waiting_messages, groups FROM router.counts_of(\(id))")[0]
            person.waitingMessages = try row.next()
            person.groups = try row.next()
        }
        if try await self.pool.canCall("attachments", "counts_of") {
            var row = try await self.pool.query("SELECT files, file_bytes FROM attachments.counts_of(\(id))")[0]
            person.files = try row.next()
            person.fileBytes = try row.next()
        }
        return person
    }
}
