import Contract
import Store

/// The only code that reads or writes `calls.lines`.
enum LineTable {
    /// The lines of these people, held until the end of the transaction.
    static func lock(_ identities: [WhisperID]) -> SQL {
        """
        SELECT identity, wake_id, is_answered, seen_at FROM calls.lines
        WHERE identity = ANY (\(identities)::int8[]) ORDER BY identity FOR UPDATE
        """
    }

    static func lines(_ rows: Rows, notedSince: Timestamp) throws(StoreError) -> Lines {
        var lines: [WhisperID: Lines.Line] = [:]
        for var row in rows {
            let identity: WhisperID = try row.next()
            lines[identity] = Lines.Line(
                call: try UUIDText(row.next(PostgresUUID.self)), isAnswered: try row.next(), seenAt: try row.next())
        }
        return Lines(lines, notedSince: notedSince)
    }

    /// Which of these calls hold the lines of both sides.
    static func whole(among calls: [UUIDText]) -> SQL {
        """
        SELECT wake_id FROM calls.lines WHERE wake_id = ANY (\(calls.map { PostgresUUID($0) })::uuid[])
        GROUP BY wake_id HAVING count(*) = 2
        """
    }

    static func whole(_ rows: Rows) throws(StoreError) -> Set<UUIDText> {
        var calls: Set<UUIDText> = []
        for var row in rows { calls.insert(try UUIDText(row.next(PostgresUUID.self))) }
        return calls
    }

    /// Everything of calls that are over goes.
    static func release(_ calls: [UUIDText]) -> SQL {
        "DELETE FROM calls.lines WHERE wake_id = ANY (\(calls.map { PostgresUUID($0) })::uuid[])"
    }

    static func answer(_ calls: [UUIDText], at now: Timestamp) -> SQL {
        """
        UPDATE calls.lines SET is_answered = true, seen_at = \(now)
        WHERE wake_id = ANY (\(calls.map { PostgresUUID($0) })::uuid[])
        """
    }

    static func remove(_ identities: [WhisperID]) -> SQL {
        "DELETE FROM calls.lines WHERE identity = ANY (\(identities)::int8[])"
    }

    /// Fewer rows than given are affected if somebody else was faster.
    static func add(_ lines: [(identity: WhisperID, line: Lines.Line)]) -> SQL {
        """
        INSERT INTO calls.lines (identity, wake_id, is_answered, seen_at)
        SELECT g.* FROM unnest(
            \(lines.map(\.identity))::int8[], \(lines.map { PostgresUUID($0.line.call) })::uuid[],
            \(lines.map(\.line.isAnswered))::bool[], \(lines.map(\.line.seenAt))::timestamptz[])
            AS g (identity, wake_id, is_answered, seen_at)
        ORDER BY g.identity ON CONFLICT (identity) DO NOTHING
        """
    }

    /// These are connected now.
    static func seen(_ identities: [WhisperID], at now: Timestamp) -> SQL {
        "UPDATE calls.lines SET seen_at = \(now) WHERE identity = ANY (\(identities)::int8[])"
    }
}
