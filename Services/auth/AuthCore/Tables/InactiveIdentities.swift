import ClusterContract
import Contract
import Store

/// Identities that were not seen for too long (contract §20.9). The only code that reads or writes `auth.inactivity`.
enum InactiveIdentities {
    /// This process counts by so many days. If nobody has for a while, or by another number, the notice begins anew. Meanwhile nobody may
    /// have written who was seen, as before a restore or by a release of before: then the notice is as much longer, and at least as long
    /// as a session lives.
    /// - Returns: whether a whole notice has passed, so that identities may be erased, and by how many days was counted before.
    static func announce(_ days: Int64, at now: StoreTime) -> Statement<(isNoticed: Bool, daysBefore: Int64?)> {
        let notice = Duration.seconds(AuthLimits.inactivityNoticeDays * 86_400)
        return Statement(
            """
            WITH before AS (SELECT days FROM auth.inactivity)
            INSERT INTO auth.inactivity AS known (days, since, counted_at) VALUES (\(days), \(now), \(now))
            ON CONFLICT (is_only) DO UPDATE SET
                since = CASE
                    WHEN known.counted_at <= \(now - AuthLimits.inactivityBreakMax) THEN greatest(
                        excluded.since + (excluded.counted_at - known.counted_at), \(now + Limits.sessionTTL))
                    WHEN known.days = excluded.days THEN known.since
                    ELSE greatest(excluded.since, known.since) END,
                days = excluded.days, counted_at = excluded.counted_at
            RETURNING since <= \(now - notice), (SELECT days::int8 FROM before)
            """,
            decode: { rows throws(StoreError) in
                var row = rows[0]
                return (try row.next(), try row.next())
            })
    }

    static func count(_ days: Int64, at now: StoreTime) -> Statement<Int64> {
        Statement(
            value: """
                SELECT count(*) FROM auth.identities
                WHERE seen_on < (\(now) AT TIME ZONE 'UTC')::date - \(days)::int4 AND NOT is_banned
                """)
    }

    /// The longest absent ones first.
    static func list(_ days: Int64, at now: StoreTime, limit: Int) -> Statement<[WhisperID]> {
        Statement(
            """
            SELECT whisper_id FROM auth.identities
            WHERE seen_on < (\(now) AT TIME ZONE 'UTC')::date - \(days)::int4 AND NOT is_banned
            ORDER BY seen_on LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in try row.next() })
    }

    /// Keeps other processes from erasing until the transaction's end: all are counted together.
    static let lock: SQL = "SELECT pg_advisory_xact_lock(hashtextextended('auth.inactivity', 0))"

    /// Whether the hour has room for one more erasure. Comes behind the lock.
    static func mayErase(at now: StoreTime) -> Statement<Bool> {
        Statement(
            value: """
                SELECT count(*) < \(AuthLimits.inactiveErasedPerHour) FROM auth.erasures
                WHERE by = 'retention' AND decided_at > \(now - .seconds(3_600))
                """)
    }
}
