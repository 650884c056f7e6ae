import Store

/// `router.stranger_bytes`: how much mail waits from senders without any peer, in all mailboxes together (contract §13b). One router
/// after the other counts it; `AcceptStatement` reads it.
enum StrangerBytesTable {
    struct Known: Equatable {
        var bytes: Int64
        /// It was counted so long ago that it should be again.
        var isOld: Bool
    }

    static func read() -> Statement<Known?> {
        Statement(
            """
            SELECT bytes, counted_at <= now() - \(RouterLimits.strangersCountedEvery.milliseconds) * interval '1 millisecond'
            FROM router.stranger_bytes WHERE store = 'mail'
            """,
            first: { row throws(StoreError) in Known(bytes: try row.next(), isOld: try row.next()) })
    }

    /// One of several routers claims the count.
    /// - Returns: 1 for that one.
    static func claim() -> Statement<Int> {
        Statement(
            affecting: """
                INSERT INTO router.stranger_bytes AS known (store, bytes, counted_at) VALUES ('mail', 0, now())
                ON CONFLICT (store) DO UPDATE SET counted_at = now()
                    WHERE known.counted_at
                        <= now() - \(RouterLimits.strangersCountedEvery.milliseconds) * interval '1 millisecond'
                """)
    }

    /// Bytes of all mail on the disk: an upper bound on the mail that waits.
    static func mailOnDisk() -> Statement<Int64> {
        Statement(
            value: """
                SELECT coalesce(sum(pg_table_size(t.relid)), 0)::int8
                FROM pg_partition_tree('router.mailbox') t WHERE t.isleaf
                """)
    }

    /// Bytes that wait for a run's recipients, of senders without any peer.
    static func count(in run: PartitionRun) -> Statement<Int64> {
        Statement(
            value: """
                SELECT coalesce(sum(s.bytes) FILTER (WHERE NOT router.has_peer(s.sender)), 0)::int8
                FROM (
                    SELECT sender, sum(octet_length(payload)) AS bytes FROM router.mailbox
                    WHERE recipient BETWEEN \(run.identities.lowerBound) AND \(run.identities.upperBound)
                    GROUP BY sender) s
                """)
    }

    static func write(_ bytes: Int64) -> SQL {
        """
        INSERT INTO router.stranger_bytes (store, bytes, counted_at) VALUES ('mail', \(bytes), now())
        ON CONFLICT (store) DO UPDATE SET bytes = excluded.bytes, counted_at = excluded.counted_at
        """
    }
}
