package import ClusterContract
package import Contract
package import Store
import Synchronization

/// Everything that the services hold about one identity or guest (contract §20.5), as the document that is given out. All parts are of one moment.
///
/// Each service declares `held_about` in its schema; those that keep something of guests declare `held_about_guest`. One that is missing fails the statement: an export is whole, or is not given.
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
            FROM auth.identities, (SELECT \(Self.entriesMax)::int8 AS entries, \(ExportOperations.erasable)::text::jsonb AS erasable) AS given,
                LATERAL (SELECT \(unsafeText: Self.parts) AS held) AS parts
            WHERE whisper_id = \(caller.identity) AND epoch = \(caller.epoch.value)
            """)
        guard var row = rows.first else { return .refused(.stale) }
        if try row.next(Bool.self) { return .refused(.banned) }
        return .found(Array(try row.next(String.self).utf8))
    }

    /// For operators, who have few.
    /// - Returns: `nil` if there is no such identity or guest.
    package func document(of principal: PrincipalID) async throws(StoreError) -> [UInt8]? {
        let statement: SQL =
            switch principal {
            case .identity(let identity):
                """
                SELECT \(unsafeText: Self.document)
                FROM auth.identities, (SELECT \(Self.entriesMax)::int8 AS entries, \(ExportOperations.erasable)::text::jsonb AS erasable) AS given,
                    LATERAL (SELECT \(unsafeText: Self.parts) AS held) AS parts
                WHERE whisper_id = \(identity)
                """
            case .guest(let guest):
                """
                SELECT \(unsafeText: Self.document)
                FROM (SELECT \(Self.entriesMax)::int8 AS entries, \(ExportOperations.erasable)::text::jsonb AS erasable) AS given,
                    LATERAL (SELECT auth.held_about_guest(\(guest)) || calls.held_about_guest(\(guest), entries) AS held) AS parts
                WHERE held IS NOT NULL
                """
            }
        return try await self.pool.query(statement).first.map { row throws(StoreError) in
            Array(try row.decode(0, as: String.self).utf8)
        }
    }

    private func begins() -> Bool {
        self.underWay.withLock { count in
            guard count < AuthLimits.exportsAtOnceMax else { return false }
            count += 1
            return true
        }
    }

    /// The parts of an identity.
    private static let parts: StaticString = """
        auth.held_about(whisper_id, entries) || router.held_about(whisper_id, entries)
            || attachments.held_about(whisper_id, entries) || push.held_about(whisper_id, entries)
            || calls.held_about(whisper_id, entries)
        """

    private static let document: StaticString = """
        (held || erasable || jsonb_build_object('isTruncated', jsonb_path_exists(
            held, 'strict $.* ? (@.type() == "array" && @.size() >= $most)', jsonb_build_object('most', entries))))::text
        """
}
