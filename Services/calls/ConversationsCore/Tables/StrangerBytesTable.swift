import Contract
import Store
import Telemetry

/// The only code that writes `calls.stranger_bytes`: what all identities without a peer keep together (contract §13b).
enum StrangerBytesTable {
    /// Counts each store anew, unless that was just done. While everybody together keeps less than half of what strangers may, that sum
    /// stands for theirs: then nobody needs to be asked about.
    static func count(max: Int) -> SQL {
        let (half, pause) = (Int64(max) / 2, ConversationLimits.strangersCountedEvery.milliseconds)
        return """
            INSERT INTO calls.stranger_bytes AS known (store, bytes, counted_at)
            SELECT c.store, c.bytes, now() FROM (
                SELECT 'lines' AS store, CASE WHEN t.bytes < \(half) THEN t.bytes ELSE (
                    SELECT coalesce(sum(w.bytes) FILTER (WHERE NOT calls.has_peer(w.identity)), 0)
                    FROM (SELECT identity, sum(bytes) AS bytes FROM calls.kept_bytes GROUP BY identity) w) END AS bytes
                FROM (SELECT coalesce(sum(bytes), 0) AS bytes FROM calls.kept_bytes) t
                UNION ALL
                SELECT 'shares', CASE WHEN t.bytes < \(half) THEN t.bytes ELSE (
                    SELECT coalesce(sum(w.bytes) FILTER (WHERE NOT calls.has_peer(w.identity)), 0)
                    FROM (
                        SELECT identity, sum(octet_length(ciphertext)) AS bytes FROM calls.transcript_shares
                        WHERE identity IS NOT NULL GROUP BY identity) w) END
                FROM (SELECT coalesce(sum(octet_length(ciphertext)), 0) AS bytes FROM calls.transcript_shares) t
            ) c
            WHERE NOT EXISTS (
                SELECT FROM calls.stranger_bytes x
                WHERE x.counted_at > now() - \(pause) * interval '1 millisecond')
            ON CONFLICT (store) DO UPDATE SET bytes = excluded.bytes, counted_at = excluded.counted_at
            """
    }

    /// As last counted.
    static func read() -> Statement<[StrangerStore: Int64]> {
        Statement(
            "SELECT store, bytes FROM calls.stranger_bytes",
            decode: { rows throws(StoreError) in
                var bytes: [StrangerStore: Int64] = [:]
                for var row in rows {
                    let name: String = try row.next()
                    if let store = StrangerStore(rawValue: name) { bytes[store] = try row.next() }
                }
                return bytes
            })
    }
}
