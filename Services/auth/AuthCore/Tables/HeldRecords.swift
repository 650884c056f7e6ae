package import ClusterContract
package import Contract
package import Store
import Synchronization

/// Everything that the services hold about one identity (contract §20.5), as the document that is given out. All parts are of one moment.
///
/// Each service declares `held_about` in its schema. One that is missing fails the statement: an export is whole, or is not given.
package final class HeldRecords: Sendable {
    package enum Reading: Equatable, Sendable {
        /// The caller is not `live`.
        case refused(CallerStatus)
        /// As many as may be are read for others.
        case busy
        case found([UInt8])
    }

    private static let entriesMax = Int64(Limits.exportEntriesMax)

    private let pool: PostgresPool
    private let underWay = Mutex(0)

    package init(_ pool: PostgresPool) { self.pool = pool }

    package func document(for caller: Caller) async throws(StoreError) -> Reading {
        guard self.begins() else { return .busy }
        defer { self.underWay.withLock { $0 -= 1 } }
        let rows = try await self.pool.query(
            """
            SELECT is_banned, \(unsafeText: Self.document)
            FROM auth.identities, (SELECT \(Self.entriesMax)::int8 AS entries, \(ExportOperations.erasable)::text::jsonb AS erasable) AS given
            WHERE whisper_id = \(caller.identity) AND epoch = \(caller.epoch.value)
            """)
        guard var row = rows.first else { return .refused(.stale) }
        if try row.next(Bool.self) { return .refused(.banned) }
        return .found(Array(try row.next(String.self).utf8))
    }

    /// For operators, who have few.
    /// - Returns: `nil` if there is no such identity.
    package func document(of identity: WhisperID) async throws(StoreError) -> [UInt8]? {
        let rows = try await self.pool.query(
            """
            SELECT \(unsafeText: Self.document)
            FROM auth.identities, (SELECT \(Self.entriesMax)::int8 AS entries, \(ExportOperations.erasable)::text::jsonb AS erasable) AS given
            WHERE whisper_id = \(identity)
            """)
        return try rows.first.map { row throws(StoreError) in Array(try row.decode(0, as: String.self).utf8) }
    }

    private func begins() -> Bool {
        self.underWay.withLock { count in
            guard count < AuthLimits.exportsAtOnceMax else { return false }
            count += 1
            return true
        }
    }

    private static let document: StaticString = """
        (SELECT (held || erasable || jsonb_build_object('isTruncated', jsonb_path_exists(
                held, 'strict $.* ? (@.type() == "array" && @.size() >= $most)', jsonb_build_object('most', entries))))::text
            FROM (SELECT auth.held_about(whisper_id, entries) || router.held_about(whisper_id, entries)
                || attachments.held_about(whisper_id, entries) || push.held_about(whisper_id, entries)
                || calls.held_about(whisper_id, entries) AS held) AS parts)
        """
}
