package import Contract
package import Store
package import Telemetry

/// The only code beside `RemovalTable` that reads or writes `attachments.attachments`; `attachments.link` writes it for the router.
package struct AttachmentTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package struct New: Sendable {
        package var key: ObjectKey
        package var uploader: WhisperID
        /// The hash of the token that asks for it.
        package var session: Bytes32
        package var sizeBytes: Int64
        package var contentType: String
        /// How long its URL is good for.
        package var urlLife: Duration
        /// The store's name for its upload in parts, if it was asked for.
        package var upload: String?

        package init(
            key: ObjectKey, uploader: WhisperID, session: Bytes32, sizeBytes: Int64, contentType: String,
            urlLife: Duration, upload: String?
        ) {
            self.key = key
            self.uploader = uploader
            self.session = session
            self.sizeBytes = sizeBytes
            self.contentType = contentType
            self.urlLife = urlLife
            self.upload = upload
        }
    }

    package struct Found: Equatable, Sendable {
        /// `nil`: the uploader was erased.
        package var uploader: WhisperID?
        package var sizeBytes: Int64
        package var upload: String?
        package var createdAt: Timestamp
        package var expiresAt: Timestamp
        package var uploadedAt: Timestamp?
    }

    package enum Adding: Int16, Sendable {
        case added = 0
        /// The uploader's live uploads would pass its quota.
        case overQuota = 1
        /// The live uploads of all identities without a peer would pass their bound.
        case noRoom = 2
        /// The session has ended since it was looked at: a body may take long.
        case sessionEnded = 3
    }

    /// Adds a presigned upload, if its uploader's live uploads stay within `quota`, and those of all identities without a peer within
    /// `strangersBytesMax`; in bytes. Two at once for the same uploader wait for each other.
    package func add(
        _ new: New, quota: Int64, strangersBytesMax: Int, at now: StoreTime
    ) async throws(StoreError) -> Adding {
        var pipeline = Pipeline()
        pipeline.add(Self.lockQuota(of: new.uploader))
        let adding = pipeline.add(
            Statement<Adding>(
                """
                WITH judged AS MATERIALIZED (
                    SELECT CASE
                        WHEN NOT EXISTS (
                            SELECT FROM auth.live_sessions
                            WHERE token_hash = \(new.session) AND whisper_id = \(new.uploader) AND ends_at > \(now)) THEN 3
                        WHEN \(new.sizeBytes) + (
                            SELECT COALESCE(sum(size_bytes), 0)::int8 FROM attachments.attachments
                            WHERE uploader = \(new.uploader) AND (state IN (1, 2) OR (state = 0 AND expires_at > \(now)))) > \(quota)
                            THEN 1
                        WHEN \(new.sizeBytes) + (SELECT bytes FROM attachments.stranger_bytes WHERE store = 'attachments')
                            <= \(Int64(strangersBytesMax)) THEN 0
                        WHEN attachments.has_peer(\(new.uploader)) THEN 0
                        ELSE 2 END AS adding
                ), added AS (
                    INSERT INTO attachments.attachments
                        (object_key, uploader, size_bytes, content_type, class, upload_id, created_at, expires_at, check_at)
                    SELECT \(new.key.description), \(new.uploader), \(new.sizeBytes), \(new.contentType),
                        \(AttachmentClass(contentType: new.contentType).rawValue), \(new.upload), \(now), \(now + new.urlLife),
                        \(now + new.urlLife + AttachmentsLimits.checkDelay)
                    FROM judged WHERE adding = 0
                ), counted AS (
                    -- As one without a peer, until the sweep counts again.
                    UPDATE attachments.stranger_bytes SET bytes = bytes + \(new.sizeBytes)
                    FROM judged WHERE adding = 0 AND store = 'attachments'
                )
                SELECT adding::int2 FROM judged
                """,
                decode: { rows throws(StoreError) in
                    guard let adding = Adding(rawValue: try rows[0].decode(0)) else { throw .undecodable(column: 0) }
                    return adding
                }))
        return try await self.pool.pipeline(pipeline)[adding]
    }

    /// Bytes that pending uploads may still bring to the store. Reads an index.
    package func pendingBytes(at now: StoreTime) async throws(StoreError) -> Int64 {
        var row = try await self.pool.query(
            """
            SELECT COALESCE(sum(size_bytes), 0)::int8 FROM attachments.attachments
            WHERE uploaded_at IS NULL AND state < 3 AND expires_at > \(now)
            """)[0]
        return try row.next()
    }

    /// Bytes of the uploads that the store holds. Reads an index, whole.
    package func storedBytes() async throws(StoreError) -> Int64 {
        var row = try await self.pool.query(
            "SELECT COALESCE(sum(size_bytes), 0)::int8 FROM attachments.attachments WHERE uploaded_at IS NOT NULL")[0]
        return try row.next()
    }

    /// Number and size of the stored attachments. Reads the whole table.
    package func statistics() async throws(StoreError) -> (count: Int64, bytes: Int64) {
        var row = try await self.pool.query("SELECT count, bytes FROM attachments.statistics")[0]
        return (try row.next(), try row.next())
    }

    /// Extends an upload in parts by the life of a further URL. An upload that no longer counted against the quota has
    /// to fit into it again.
    /// - Returns: whether it may.
    package func renew(
        _ key: ObjectKey, of uploader: WhisperID, for urlLife: Duration, quota: Int64, at now: StoreTime
    ) async throws(StoreError) -> Bool {
        var pipeline = Pipeline()
        pipeline.add(Self.lockQuota(of: uploader))
        let changed = pipeline.add(
            Statement(
                affecting: """
                    UPDATE attachments.attachments a
                    SET expires_at = \(now + urlLife), check_at = \(now + urlLife + AttachmentsLimits.checkDelay)
                    WHERE object_key = \(key.description) AND state < 3 AND uploaded_at IS NULL
                        AND (state = 2 OR expires_at > \(now) OR size_bytes + (
                            SELECT COALESCE(sum(size_bytes), 0)::int8 FROM attachments.attachments
                            WHERE uploader = \(uploader) AND (state IN (1, 2) OR (state = 0 AND expires_at > \(now)))) <= \(quota))
                    """))
        return try await self.pool.pipeline(pipeline)[changed] == 1
    }

    private static func lockQuota(of uploader: WhisperID) -> SQL {
        "SELECT pg_advisory_xact_lock(hashtextextended('attachments of', \(uploader)))"
    }

    /// - Returns: nil also for one that is being removed.
    package func find(_ key: ObjectKey) async throws(StoreError) -> Found? {
        let rows = try await self.pool.query(
            """
            SELECT uploader, size_bytes, upload_id, created_at, expires_at, uploaded_at
            FROM attachments.attachments WHERE object_key = \(key.description) AND state < 3
            """)
        guard var row = rows.first else { return nil }
        return Found(
            uploader: try row.next(), sizeBytes: try row.next(), upload: try row.next(), createdAt: try row.next(),
            expiresAt: try row.next(), uploadedAt: try row.next())
    }

    /// The whole object has been seen in the store.
    /// - Returns: whether the store is to keep it: false if it is being removed, or nobody knows it.
    package func markUploaded(_ key: ObjectKey, at now: StoreTime) async throws(StoreError) -> Bool {
        try await self.pool.execute(
            """
            UPDATE attachments.attachments
            SET uploaded_at = COALESCE(uploaded_at, \(now)), state = GREATEST(state, 1), check_at = NULL
            WHERE object_key = \(key.description) AND state < 3
            """) == 1
    }

    /// Uploads that may have ended meanwhile. They are this process's to ask the store about; if it does not come back, they come
    /// up again later.
    package func takeDueChecks(at now: StoreTime, limit: Int) async throws(StoreError) -> [ObjectKey] {
        let rows = try await self.pool.query(
            """
            UPDATE attachments.attachments SET check_at = \(now + AttachmentsLimits.checkAgainAfter)
            WHERE number IN (
                SELECT number FROM attachments.attachments WHERE check_at <= \(now) AND state < 3
                ORDER BY check_at LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            RETURNING object_key
            """)
        return try rows.map { row throws(StoreError) in try Self.key(try row.decode(0)) }
    }

    // MARK: Auditing

    /// Keys of files that the store should have, in the order of their bytes.
    package func uploaded(after key: String, limit: Int) async throws(StoreError) -> [String] {
        let rows = try await self.pool.query(
            """
            SELECT object_key FROM attachments.attachments
            WHERE object_key > \(key) AND uploaded_at IS NOT NULL AND state < 3 ORDER BY object_key LIMIT \(Int64(limit))
            """)
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Which of these keys have a row, in whatever state.
    package func known(_ keys: [String]) async throws(StoreError) -> Set<String> {
        let rows = try await self.pool.query(
            "SELECT object_key FROM attachments.attachments WHERE object_key = ANY (\(keys)::text[])")
        return Set(try rows.map { row throws(StoreError) in try row.decode(0, as: String.self) })
    }

    static func key(_ text: String) throws(StoreError) -> ObjectKey {
        guard let key = ObjectKey(text) else { throw .undecodable(column: 0) }
        return key
    }
}

extension AttachmentTable: StrangerTable {
    package static let store = StrangerStore.attachments
    package static let firstKey = "-1"

    package func relieve(after key: String, limit: Int) async throws(StoreError) -> String? {
        try await self.pool.query(
            """
            WITH page AS MATERIALIZED (
                SELECT number, uploader FROM attachments.attachments
                WHERE of_stranger AND number > \(key)::text::int8 ORDER BY number LIMIT \(Int64(limit))
            ), known AS (
                UPDATE attachments.attachments a SET of_stranger = false FROM page
                WHERE a.number = page.number AND attachments.has_peer(page.uploader)
            )
            SELECT max(number)::text FROM page HAVING count(*) > 0
            """
        ).first?.decode(0)
    }

    /// Counts uploads that never came until it is certain that they have not: the collector looks for them.
    package func recount(olderThan age: Duration) async throws(StoreError) {
        try await self.pool.execute(
            """
            UPDATE attachments.stranger_bytes SET counted_at = now(), bytes = (
                SELECT COALESCE(sum(size_bytes), 0)::int8 FROM attachments.attachments
                WHERE of_stranger AND (state > 0 OR expires_at > \(StoreTime.now - AttachmentsLimits.checkAgainAfter)))
            WHERE store = 'attachments' AND counted_at <= \(StoreTime.now - age)
            """)
    }

    package func counted() async throws(StoreError) -> Int64 {
        try await self.pool.query("SELECT bytes FROM attachments.stranger_bytes WHERE store = 'attachments'")[0].decode(
            0)
    }
}
