import Contract
import Store

/// The only code that reads or writes `router.group_quotas`; it also counts what `router.group_members` and `.group_news` hold of an
/// identity.
enum GroupQuotaTable {
    /// Makes the rows that are missing. Everybody makes and locks them in the same order, so nobody waits in a circle.
    static func make(_ identities: [WhisperID]) -> SQL {
        """
        INSERT INTO router.group_quotas (identity)
        SELECT g.identity FROM unnest(\(identities)::int8[]) AS g (identity) ORDER BY g.identity
        ON CONFLICT (identity) DO NOTHING
        """
    }

    /// Locks the rows until the transaction ends. `make` belongs before it, and what it protects behind it.
    static func lock(_ identities: [WhisperID]) -> SQL {
        """
        SELECT identity FROM router.group_quotas WHERE identity = ANY (\(identities)::int8[]) ORDER BY identity FOR UPDATE
        """
    }

    /// Waits for changes under way that raise a role of this identity.
    static func wait(for identity: WhisperID) -> SQL {
        "SELECT identity FROM router.group_quotas WHERE identity = \(identity) FOR SHARE"
    }

    static func usage(of identities: [WhisperID]) -> Statement<[WhisperID: GroupUsage]> {
        Statement(
            """
            SELECT g.identity, m.owned, m.joined, m.by_strangers,
                (SELECT count(*) FROM router.group_news n WHERE n.member = g.identity)
            FROM unnest(\(identities)::int8[]) AS g (identity)
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE role = 0) AS owned, count(*) AS joined,
                    count(*) FILTER (WHERE added_by_stranger) AS by_strangers
                FROM router.group_members WHERE member = g.identity
            ) m
            """,
            decode: { rows throws(StoreError) in
                var usage: [WhisperID: GroupUsage] = [:]
                usage.reserveCapacity(rows.count)
                for var row in rows {
                    usage[try row.next()] = GroupUsage(
                        owned: Int(try row.next(Int64.self)), joined: Int(try row.next(Int64.self)),
                        byStrangers: Int(try row.next(Int64.self)), unheard: Int(try row.next(Int64.self)))
                }
                return usage
            })
    }

    private static let window = RouterLimits.groupStrangersWindow.milliseconds

    /// The additions of strangers that still count: milliseconds until each counts no more, the least first. A time that is further ahead
    /// than it can be was written by a server whose clock has been set back since.
    static func additions(of actor: WhisperID) -> Statement<[Int64]> {
        Statement(
            """
            SELECT LEAST(\(Self.window), GREATEST(1,
                ceil(extract(epoch FROM a.at - now()) * 1000)::int8 + \(Self.window)))
            FROM router.group_quotas q CROSS JOIN LATERAL unnest(q.additions) AS a (at)
            WHERE q.identity = \(actor) AND a.at > now() - \(Self.window) * interval '1 millisecond'
                AND a.at < now() + \(Self.window) * interval '1 millisecond'
            ORDER BY a.at
            """, each: { row throws(StoreError) in try row.next() })
    }

    /// Counts so many more, and forgets those that count no more.
    static func add(_ count: Int, to actor: WhisperID) -> SQL {
        """
        UPDATE router.group_quotas SET additions = ARRAY(
                SELECT a.at FROM unnest(additions) AS a (at)
                WHERE a.at > now() - \(Self.window) * interval '1 millisecond'
                    AND a.at < now() + \(Self.window) * interval '1 millisecond'
                ORDER BY a.at
            ) || array_fill(now(), ARRAY[\(Int32(count))])
        WHERE identity = \(actor)
        """
    }
}
