import ClusterContract
import Contract
import Store

/// The only code that reads or writes `router.peers`. Two identities are peers if each has written to the other in the
/// last 30 days, outside groups (contract §7).
enum PeersTable {
    /// Writes down that these messages were sent, if they were accepted. Belongs behind the `AcceptStatement` that judged
    /// them, in its transaction. No pair of identities may be given twice.
    static func note(_ envelopes: [AcceptEnvelope]) -> SQL {
        let messageIDs = envelopes.map { PostgresUUID($0.messageID) }
        let senders = envelopes.map(\.sender.identity)
        let recipients = envelopes.map(\.to)
        let ledger = LedgerTable.LookUp(envelopes)
        return """
            INSERT INTO router.peers AS p (identity, peer, last_sent_at)
            SELECT l.sender, l.recipient, l.accepted_at
            FROM unnest(\(messageIDs)::uuid[], \(senders)::int8[], \(recipients)::int8[], \(ledger.days)::int4[])
                AS g (message_id, sender, recipient, day)
            JOIN router.ledger l
                ON l.message_id = g.message_id AND l.sender = g.sender AND l.recipient = g.recipient
                    AND l.day = ANY (ARRAY[\(unsafeText: ledger.rowDay)\(ledger.base)::int4, -1])
            -- A message that comes again may be of somebody who was erased since.
            WHERE EXISTS (SELECT FROM auth.mail_identities i WHERE i.whisper_id = l.sender)
                AND EXISTS (SELECT FROM auth.mail_identities i WHERE i.whisper_id = l.recipient)
            ON CONFLICT (identity, peer) DO UPDATE SET last_sent_at = excluded.last_sent_at
                WHERE p.last_sent_at < excluded.last_sent_at
            """
    }

    /// The peers of each identity, `ClusterLimits.peersMax` at most: those it wrote to most recently.
    static func read(_ identities: [WhisperID]) -> Statement<[WhisperID: [WhisperID]]> {
        Statement(
            """
            SELECT g.position - 1, o.peer
            FROM unnest(\(identities)::int8[]) WITH ORDINALITY AS g (identity, position)
            CROSS JOIN LATERAL (
                SELECT r.peer FROM (
                    SELECT peer, last_sent_at FROM router.peers
                    WHERE identity = g.identity AND last_sent_at > router.peers_since()
                    ORDER BY last_sent_at DESC LIMIT \(PresenceLimits.correspondentsMax)
                ) r
                JOIN router.peers b ON b.identity = r.peer AND b.peer = g.identity AND b.last_sent_at > router.peers_since()
                ORDER BY r.last_sent_at DESC LIMIT \(Int64(ClusterLimits.peersMax))
            ) o
            """,
            decode: { rows throws(StoreError) in
                var peers: [WhisperID: [WhisperID]] = [:]
                for var row in rows {
                    let position: Int64 = try row.next()
                    peers[identities[Int(position)], default: []].append(try row.next())
                }
                return peers
            })
    }

    /// - Returns: positions of those that are pairs of peers.
    static func check(_ pairs: [PeerPair]) -> Statement<Set<Int>> {
        Statement(
            """
            SELECT g.position - 1
            FROM unnest(\(pairs.map(\.from))::int8[], \(pairs.map(\.to))::int8[]) WITH ORDINALITY AS g (a, b, position)
            JOIN router.peers there ON there.identity = g.a AND there.peer = g.b AND there.last_sent_at > router.peers_since()
            JOIN router.peers back ON back.identity = g.b AND back.peer = g.a AND back.last_sent_at > router.peers_since()
            """,
            decode: { rows throws(StoreError) in
                var positions: Set<Int> = []
                for var row in rows { positions.insert(Int(try row.next(Int64.self))) }
                return positions
            })
    }

    /// Forgets traffic that makes nobody peers any more. Rows that a batch is just writing are left to the next sweep:
    /// a batch must never wait for a sweep that waits for it.
    static func forget() -> SQL {
        """
        DELETE FROM router.peers p USING (
            SELECT identity, peer FROM router.peers WHERE last_sent_at < router.peers_since()
            LIMIT \(RouterLimits.sweepRowsMax) FOR UPDATE SKIP LOCKED) old
        WHERE p.identity = old.identity AND p.peer = old.peer
        """
    }
}
