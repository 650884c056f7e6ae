import ClusterContract
import Contract
package import Store
package import Telemetry

/// The only code that reads or writes `auth.profile_documents`, whose ciphertext nobody here can read.
enum ProfileDocumentTable {
    enum Reading: Equatable, Sendable {
        /// The caller is not `live`.
        case refused(CallerStatus)
        /// There is no such document, or no such profile, or the caller is no member of it.
        case missing
        /// The caller has this version already.
        case unchanged(version: Int64)
        case found(ProfileDocument)
    }

    /// The list entries of all documents of the profile.
    static func list(of profile: UUIDText) -> Statement<[ProfileDocumentEntry]> {
        Statement(
            """
            SELECT name, version, updated_at, size_bytes FROM auth.profile_documents
            WHERE profile_id = \(PostgresUUID(profile)) ORDER BY name
            """,
            each: { row throws(StoreError) in
                guard let name = ProfileDocumentName(rawValue: try row.next()) else { throw .undecodable(column: 0) }
                return ProfileDocumentEntry(
                    name: name, version: try row.next(), updatedAt: try row.next(),
                    sizeBytes: Int64(try row.next(Int32.self)))
            })
    }

    /// - Parameter known: versions whose ciphertext is not read, because the caller has it.
    static func read(
        _ name: ProfileDocumentName, of profile: UUIDText, unless known: EntityTag.Expectation, for caller: Caller
    ) -> Statement<Reading> {
        let versions: [Int64] = if case .oneOf(let versions) = known { versions } else { [] }
        return Statement(
            """
            SELECT i.is_banned, d.version, d.updated_at, d.nonce,
                CASE WHEN \(known == .any) OR d.version = ANY (\(versions)) THEN NULL ELSE d.ciphertext END
            FROM auth.identities i
            LEFT JOIN (
                auth.profile_members m JOIN auth.profile_documents d
                    ON d.profile_id = m.profile_id AND d.name = \(name.rawValue)
            ) ON m.profile_id = \(PostgresUUID(profile)) AND m.whisper_id = i.whisper_id
            WHERE i.whisper_id = \(caller.identity) AND i.epoch = \(caller.epoch.value)
            """,
            decode: { rows throws(StoreError) in
                guard var row = rows.first else { return .refused(.stale) }
                if try row.next(Bool.self) { return .refused(.banned) }
                guard let version = try row.next(Int64?.self), let updatedAt = try row.next(Timestamp?.self),
                    let nonce = try row.next([UInt8]?.self)
                else { return .missing }
                guard let ciphertext = try row.next([UInt8]?.self) else { return .unchanged(version: version) }
                return .found(
                    ProfileDocument(
                        sealed: .init(nonce: nonce, ciphertext: ciphertext), version: version, updatedAt: updatedAt))
            })
    }

    /// The outcome of a write.
    enum Writing: Equatable, Sendable {
        case written(version: Int64)
        /// It is not what the caller thinks it is.
        case lostRace
        /// The profile's documents together would be larger than they may be.
        case tooLarge
        /// All strangers together keep as much as they may.
        case noRoom
    }

    /// Bounds on the documents of one profile together, in bytes.
    struct Bounds: Sendable {
        var bytesMax: Int
        /// The bound of a profile none of whose members has a peer; and of all such profiles together.
        var strangerBytesMax: Int
        var strangersBytesMax: Int
    }

    /// Writes a document, if it is what the caller thinks it is, and if the profile's documents stay within their bounds. The profile is
    /// held (`ProfileTable.hold`), so that two writers do not pass a bound together.
    static func write(
        _ sealed: ProfileDocument.Sealed, as name: ProfileDocumentName, of profile: UUIDText,
        if condition: ProfileDocument.Condition, within bounds: Bounds, at now: Timestamp
    ) -> Statement<Writing> {
        switch condition {
        case .isMissing:
            return Statement(
                """
                WITH total AS (\(unsafeText: Self.others) WHERE profile_id = \(PostgresUUID(profile)) AND name <> \(name.rawValue)),
                judged AS MATERIALIZED (
                    SELECT CASE WHEN bytes + \(sealed.bytes) > \(Int64(bounds.bytesMax)) THEN 1 ELSE auth.may_keep(
                        ARRAY(SELECT whisper_id FROM auth.profile_members WHERE profile_id = \(PostgresUUID(profile))),
                        'profiles', bytes + \(sealed.bytes), \(Int64(bounds.strangerBytesMax)), \(Int64(bounds.strangersBytesMax))) END
                        AS verdict
                    FROM total),
                written AS (
                    INSERT INTO auth.profile_documents (profile_id, name, version, nonce, ciphertext, updated_at)
                    SELECT \(PostgresUUID(profile)), \(name.rawValue), 1, \(sealed.nonce), \(sealed.ciphertext), \(now)
                    FROM judged WHERE verdict = 0
                    ON CONFLICT (profile_id, name) DO NOTHING
                    RETURNING version)
                SELECT verdict::int2, (SELECT version FROM written) FROM judged
                """, decode: Self.writing)
        case .version(let versions):
            return Statement(
                """
                WITH total AS (\(unsafeText: Self.others) WHERE profile_id = \(PostgresUUID(profile)) AND name <> \(name.rawValue)),
                judged AS MATERIALIZED (
                    SELECT CASE WHEN bytes + \(sealed.bytes) > \(Int64(bounds.bytesMax)) THEN 1 ELSE auth.may_keep(
                        ARRAY(SELECT whisper_id FROM auth.profile_members WHERE profile_id = \(PostgresUUID(profile))),
                        'profiles', bytes + \(sealed.bytes), \(Int64(bounds.strangerBytesMax)), \(Int64(bounds.strangersBytesMax))) END
                        AS verdict
                    FROM total),
                written AS (
                    UPDATE auth.profile_documents
                    SET nonce = \(sealed.nonce), ciphertext = \(sealed.ciphertext), version = version + 1, updated_at = \(now),
                        of_strangers = true
                    FROM judged
                    WHERE verdict = 0 AND profile_id = \(PostgresUUID(profile)) AND name = \(name.rawValue)
                        AND version = ANY (\(versions))
                    RETURNING version)
                SELECT verdict::int2, (SELECT version FROM written) FROM judged
                """, decode: Self.writing)
        }
    }

    /// Bytes of a profile's other documents.
    private static let others: StaticString =
        "SELECT coalesce(sum(size_bytes), 0)::int8 AS bytes FROM auth.profile_documents"

    private static func writing(_ rows: Rows) throws(StoreError) -> Writing {
        var row = rows[0]
        switch StrangerVerdict(rawValue: try row.next()) {
        case .may: return try row.next(Int64?.self).map { .written(version: $0) } ?? .lostRace
        case .tooMuch: return .tooLarge
        case .noRoom: return .noRoom
        case nil: throw .undecodable(column: 0)
        }
    }
}

extension ProfileDocument.Sealed {
    var bytes: Int64 { Int64(self.ciphertext.count) }
}

/// Documents of profiles none of whose members has a peer.
package struct StrangerProfiles: StrangerTable {
    package static let store = StrangerStore.profiles
    package static let firstKey = "00000000-0000-0000-0000-000000000000"

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package func relieve(after key: String, limit: Int) async throws(StoreError) -> String? {
        try await self.pool.query(
            """
            WITH page AS MATERIALIZED (
                SELECT DISTINCT profile_id FROM auth.profile_documents
                WHERE of_strangers AND profile_id > \(key)::text::uuid ORDER BY profile_id LIMIT \(Int64(limit))
            ), known AS (
                UPDATE auth.profile_documents d SET of_strangers = false FROM page
                WHERE d.profile_id = page.profile_id AND d.of_strangers AND EXISTS (
                    SELECT FROM auth.profile_members m WHERE m.profile_id = page.profile_id AND auth.has_peer(m.whisper_id))
            )
            SELECT profile_id::text FROM page ORDER BY profile_id DESC LIMIT 1
            """
        ).first?.decode(0)
    }

    package func recount(olderThan age: Duration) async throws(StoreError) {
        try await self.pool.execute(
            """
            UPDATE auth.stranger_bytes SET counted_at = now(), bytes = (
                SELECT coalesce(sum(size_bytes), 0)::int8 FROM auth.profile_documents WHERE of_strangers)
            WHERE store = 'profiles' AND counted_at <= \(StoreTime.now - age)
            """)
    }

    package func counted() async throws(StoreError) -> Int64 {
        try await self.pool.query("SELECT bytes FROM auth.stranger_bytes WHERE store = 'profiles'")[0].decode(0)
    }
}
