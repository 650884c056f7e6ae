import ClusterContract
package import Contract
package import Store

/// The only code that writes `calls.transcripts` and `calls.transcript_lines`. Whether lines have expired stands in
/// `calls.streams`.
package enum TranscriptTable {
    // MARK: Storing

    struct Stored: Equatable {
        /// Lines that were not stored before.
        var count: Int
        /// Positions of the given lines for which there is no room.
        var notKept: [Int]
    }

    /// Stores lines that were not stored before, and for which the whisperer and the profile have room. Their streams must stand in
    /// their table. A transcript counts for the identity that began it. Whether that has a peer is asked only where it matters.
    static func store(_ lines: [LiveLine], within bounds: KeptBounds = KeptBounds()) -> Statement<Stored> {
        Statement(
            """
            WITH given AS MATERIALIZED (
                SELECT g.*, octet_length(g.ciphertext) + \(ConversationLimits.lineRowBytes) AS size, c.profile_id,
                    coalesce(t.identity, s.holder) AS identity, EXISTS (
                        SELECT FROM calls.transcript_lines l
                        WHERE l.conversation_id = g.conversation_id AND l.content_id = g.content_id AND l.line = g.line)
                    AS is_known
                FROM unnest(
                    \(lines.map { PostgresUUID($0.conversation.uuid) })::uuid[],
                    \(lines.map { PostgresUUID($0.content) })::uuid[], \(lines.map { Int32($0.line) })::int4[],
                    \(lines.map(\.position.epoch))::int8[], \(lines.map(\.position.seq))::int8[],
                    \(lines.map { Int32($0.generation) })::int4[], \(lines.map(\.seal.nonce))::bytea[],
                    \(lines.map(\.seal.ciphertext))::bytea[])
                    WITH ORDINALITY
                    AS g (conversation_id, content_id, line, epoch, seq, generation, nonce, ciphertext, position)
                JOIN calls.conversations c ON c.conversation_id = g.conversation_id
                JOIN calls.streams s ON s.conversation_id = g.conversation_id AND s.content_id = g.content_id
                LEFT JOIN calls.transcripts t ON t.conversation_id = g.conversation_id AND t.content_id = g.content_id
            ), whisperers AS MATERIALIZED (
                SELECT w.*, CASE
                    WHEN w.kept + w.given > \(Int64(bounds.strangerLineBytesMax))
                        OR w.together + w.given > \(Int64(bounds.strangersBytesMax))
                    THEN calls.has_peer(w.identity) ELSE true END AS is_no_stranger
                FROM (
                    SELECT identity, sum(size) AS given,
                        coalesce((SELECT sum(k.bytes) FROM calls.kept_bytes k WHERE k.identity = g.identity), 0) AS kept,
                        coalesce((SELECT x.bytes FROM calls.stranger_bytes x WHERE x.store = 'lines'), 0) AS together
                    FROM given g GROUP BY identity
                ) w
            ), profiles AS MATERIALIZED (
                SELECT profile_id, coalesce((
                    SELECT sum(k.bytes) FROM calls.kept_bytes k WHERE k.profile_id = g.profile_id), 0) AS kept
                FROM given g GROUP BY profile_id
            ), judged AS MATERIALIZED (
                SELECT g.*, g.is_known OR (
                    p.kept + g.of_profile <= \(Int64(bounds.profileLineBytesMax)) AND (w.is_no_stranger
                        OR w.kept + g.of_identity <= \(Int64(bounds.strangerLineBytesMax))
                            AND w.together + g.of_identity <= \(Int64(bounds.strangersBytesMax)))) AS is_kept
                FROM (
                    SELECT g.*, sum(size) FILTER (WHERE NOT is_known) OVER (
                            PARTITION BY profile_id ORDER BY position) AS of_profile,
                        sum(size) FILTER (WHERE NOT is_known) OVER (
                            PARTITION BY identity ORDER BY position) AS of_identity
                    FROM given g
                ) g
                JOIN whisperers w ON w.identity = g.identity
                JOIN profiles p ON p.profile_id = g.profile_id
            ), stored AS (
                INSERT INTO calls.transcript_lines
                    (conversation_id, content_id, line, epoch, seq, generation, nonce, ciphertext)
                SELECT conversation_id, content_id, line, epoch, seq, generation, nonce, ciphertext
                FROM judged WHERE is_kept
                ON CONFLICT DO NOTHING
                RETURNING conversation_id, content_id, line, octet_length(ciphertext) AS bytes
            ), added AS MATERIALIZED (
                SELECT s.*, o.identity, o.profile_id, s.bytes + \(ConversationLimits.lineRowBytes) * s.lines AS size
                FROM (
                    SELECT conversation_id, content_id, max(line) AS last_line, count(*) AS lines, sum(bytes) AS bytes
                    FROM stored GROUP BY conversation_id, content_id
                ) s
                JOIN (SELECT DISTINCT conversation_id, content_id, identity, profile_id FROM judged) o
                    ON o.conversation_id = s.conversation_id AND o.content_id = s.content_id
            ), counted AS (
                INSERT INTO calls.transcripts AS t
                    (conversation_id, content_id, last_line, lines, bytes, identity, profile_id, counted)
                SELECT conversation_id, content_id, last_line, lines, bytes, identity, profile_id, size FROM added
                ORDER BY conversation_id, content_id
                ON CONFLICT (conversation_id, content_id) DO UPDATE SET
                    last_line = greatest(t.last_line, excluded.last_line), lines = t.lines + excluded.lines,
                    bytes = t.bytes + excluded.bytes, identity = excluded.identity, profile_id = excluded.profile_id,
                    counted = t.counted + excluded.counted
                RETURNING 1
            ), kept AS (
                -- Behind the transcripts, as where one is deleted: two orders would be a deadlock.
                INSERT INTO calls.kept_bytes AS k (profile_id, identity, bytes)
                SELECT profile_id, identity, sum(size) FROM added WHERE (SELECT count(*) FROM counted) > 0
                GROUP BY profile_id, identity
                ORDER BY profile_id, identity
                ON CONFLICT (profile_id, identity) DO UPDATE SET bytes = k.bytes + excluded.bytes
            )
            SELECT (SELECT count(*) FROM stored),
                coalesce(array_agg(position - 1 ORDER BY position) FILTER (WHERE NOT is_kept), '{}')
            FROM judged
            """,
            decode: { rows throws(StoreError) in
                var row = rows[0]
                return Stored(
                    count: Int(try row.next(Int64.self)), notKept: try row.next([Int64].self).map { Int($0) })
            })
    }

    /// The greatest line of each of these streams that has one.
    static func lastLines(of contents: [LiveFacts.Content]) -> Statement<[LiveFacts.Content: Int]> {
        Statement(
            """
            SELECT t.conversation_id, t.content_id, t.last_line
            FROM unnest(
                \(contents.map { PostgresUUID($0.conversation.uuid) })::uuid[],
                \(contents.map { PostgresUUID($0.content) })::uuid[]) AS g (conversation_id, content_id)
            JOIN calls.transcripts t ON t.conversation_id = g.conversation_id AND t.content_id = g.content_id
            """,
            decode: { rows throws(StoreError) in
                var lines: [LiveFacts.Content: Int] = [:]
                for var row in rows {
                    let content = LiveFacts.Content(
                        conversation: try LiveTable.id(&row), content: UUIDText(try row.next(PostgresUUID.self)))
                    lines[content] = Int(try row.next(Int32.self))
                }
                return lines
            })
    }

    // MARK: Reading

    /// Whether there is such a conversation for this identity.
    package static func isMember(_ identity: WhisperID, of conversation: ConversationID) -> Statement<Bool> {
        Statement(
            value: """
                SELECT EXISTS (
                    SELECT FROM calls.conversations c
                    JOIN auth.profile_membership m ON m.profile_id = c.profile_id
                    WHERE c.conversation_id = \(PostgresUUID(conversation.uuid)) AND m.whisper_id = \(identity)
                        AND NOT m.is_banned)
                """)
    }

    /// Newest first.
    package static func list(
        of conversation: ConversationID, behind cursor: TranscriptCursor?, limit: Int, at now: StoreTime
    ) -> Statement<[TranscriptOperations.Transcript]> {
        Statement(
            """
            SELECT s.content_id, s.started_at, CASE WHEN s.state = 'ended' THEN s.changed_at END, t.lines, t.bytes,
                coalesce(s.expires_at, \(now) + s.transcript_days * interval '24 hours')
            FROM calls.transcripts t
            JOIN calls.streams s ON s.conversation_id = t.conversation_id AND s.content_id = t.content_id
            WHERE t.conversation_id = \(PostgresUUID(conversation.uuid))
                AND (s.expires_at IS NULL OR s.expires_at > \(now))
                AND (\(cursor?.startedAt)::timestamptz IS NULL
                    OR (s.started_at, s.content_id) < (\(cursor?.startedAt), \(cursor.map { PostgresUUID($0.content) })))
            ORDER BY s.started_at DESC, s.content_id DESC LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in
                TranscriptOperations.Transcript(
                    content: UUIDText(try row.next(PostgresUUID.self)), startedAt: try row.next(),
                    endedAt: try row.next(), lines: try row.next(), bytes: try row.next(), expiresAt: try row.next())
            })
    }

    /// A transcript that has not expired.
    package struct Head: Equatable, Sendable {
        /// Its stream has not ended.
        package var isOpen: Bool
        /// The greatest line.
        package var lastLine: Int
    }

    package static func head(of content: LiveFacts.Content, at now: StoreTime) -> Statement<Head?> {
        Statement(
            """
            SELECT s.state <> 'ended', t.last_line
            FROM calls.transcripts t
            JOIN calls.streams s ON s.conversation_id = t.conversation_id AND s.content_id = t.content_id
            WHERE t.conversation_id = \(PostgresUUID(content.conversation.uuid))
                AND t.content_id = \(PostgresUUID(content.content))
                AND (s.expires_at IS NULL OR s.expires_at > \(now))
            """,
            first: { row throws(StoreError) in
                Head(isOpen: try row.next(), lastLine: Int(try row.next(Int32.self)))
            })
    }

    /// Lines in their order, one at least if there is one.
    /// - Parameter bytesMax: of their JSON. More than that of one line.
    package static func lines(
        of content: LiveFacts.Content, after line: Int, limit: Int, bytesMax: Int
    ) -> Statement<[TranscriptOperations.Line]> {
        Statement(
            """
            SELECT line, epoch, seq, generation, nonce, ciphertext, stored_at
            FROM (
                SELECT *, sum((octet_length(ciphertext) + 2) / 3 * 4 + \(Int64(TranscriptOperations.Line.overheadBytesMax)))
                    OVER (ORDER BY line) AS size
                FROM (
                    SELECT * FROM calls.transcript_lines
                    WHERE conversation_id = \(PostgresUUID(content.conversation.uuid))
                        AND content_id = \(PostgresUUID(content.content)) AND line > \(Int32(line))
                    ORDER BY line LIMIT \(Int64(limit))) l) page
            WHERE size <= \(Int64(bytesMax)) ORDER BY line
            """,
            each: { row throws(StoreError) in
                TranscriptOperations.Line(
                    line: Int(try row.next(Int32.self)),
                    position: LivePosition(epoch: try row.next(), seq: try row.next()),
                    generation: Int(try row.next(Int32.self)),
                    seal: .init(nonce: try row.next(), ciphertext: try row.next()), storedAt: try row.next())
            })
    }

    // MARK: Deleting

    /// Deletes lines and shares. The stream stays known.
    package static func delete(_ content: LiveFacts.Content) -> SQL {
        """
        DELETE FROM calls.transcripts
        WHERE conversation_id = \(PostgresUUID(content.conversation.uuid))
            AND content_id = \(PostgresUUID(content.content))
        """
    }

    /// Deletes lines that have expired.
    static func sweepLines(in shares: [LiveShare], limit: Int, at now: StoreTime) -> Statement<Int> {
        Statement(
            affecting: """
                DELETE FROM calls.transcript_lines l
                USING (
                    SELECT l.conversation_id, l.content_id, l.line
                    FROM calls.streams s
                    JOIN calls.conversations c ON c.conversation_id = s.conversation_id
                    JOIN calls.transcript_lines l
                        ON l.conversation_id = s.conversation_id AND l.content_id = s.content_id
                    WHERE c.share = ANY (\(shares.map { Int16($0.index) })::int2[]) AND s.expires_at <= \(now)
                    LIMIT \(Int64(limit))) gone
                WHERE l.conversation_id = gone.conversation_id AND l.content_id = gone.content_id
                    AND l.line = gone.line
                """)
    }

    /// Deletes transcripts that have expired and have no lines any more, and lets their streams go.
    /// - Returns: how many streams.
    static func sweep(in shares: [LiveShare], limit: Int, at now: StoreTime) -> Statement<Int> {
        Statement(
            affecting: """
                WITH gone AS (
                    SELECT s.conversation_id, s.content_id
                    FROM calls.streams s JOIN calls.conversations c ON c.conversation_id = s.conversation_id
                    WHERE c.share = ANY (\(shares.map { Int16($0.index) })::int2[]) AND s.expires_at <= \(now)
                        AND NOT EXISTS (
                            SELECT FROM calls.transcript_lines l
                            WHERE l.conversation_id = s.conversation_id AND l.content_id = s.content_id)
                    LIMIT \(Int64(limit))
                ), deleted AS (
                    DELETE FROM calls.transcripts t USING gone
                    WHERE t.conversation_id = gone.conversation_id AND t.content_id = gone.content_id
                )
                UPDATE calls.streams s SET expires_at = NULL FROM gone
                WHERE s.conversation_id = gone.conversation_id AND s.content_id = gone.content_id
                """)
    }
}
