package import Contract
package import Store

/// The only code that reads or writes `attachments.links`; `attachments.link` writes it for the router.
package struct LinkTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package enum Fetching: Equatable, Sendable {
        case granted
        case unknown
        /// The caller is neither uploader nor linked recipient.
        case forbidden
    }

    /// May the caller have a URL to download from? If so it is noted down, unless the caller uploaded it. The lock keeps the
    /// collector from removing it at the same moment.
    package func fetch(_ key: ObjectKey, by caller: WhisperID, at now: StoreTime) async throws(StoreError) -> Fetching {
        let rows = try await self.pool.query(
            """
            WITH object AS MATERIALIZED (
                SELECT number, uploader, state FROM attachments.attachments
                WHERE object_key = \(key.description) FOR KEY SHARE
            ), fetched AS (
                UPDATE attachments.links l SET fetched_at = \(now) FROM object o
                WHERE l.attachment = o.number AND l.recipient = \(caller) AND o.state < 3
                RETURNING l.recipient
            )
            SELECT coalesce(o.uploader = \(caller), false) OR EXISTS (SELECT FROM fetched) FROM object o WHERE o.state < 3
            """)
        guard let row = rows.first else { return .unknown }
        return try row.decode(0, as: Bool.self) ? .granted : .forbidden
    }

    /// Takes over from the router which messages of these attachments are acknowledged by now.
    static func acknowledge(_ attachments: [Int64]) -> SQL {
        """
        UPDATE attachments.links l SET acknowledged_at = seen.acknowledged_at
        FROM (
            SELECT w.attachment, w.recipient, w.message_id, r.acknowledged_at
            FROM attachments.links w
            JOIN attachments.attachments a ON a.number = w.attachment
            JOIN router.acknowledgements r
                ON r.message_id = w.message_id AND (a.uploader IS NULL OR r.sender = a.uploader)
                    AND r.recipient = w.recipient
            WHERE w.attachment = ANY (\(attachments)::int8[]) AND w.acknowledged_at IS NULL
            FOR UPDATE OF w SKIP LOCKED
        ) seen
        WHERE l.attachment = seen.attachment AND l.recipient = seen.recipient AND l.message_id = seen.message_id
        """
    }
}
