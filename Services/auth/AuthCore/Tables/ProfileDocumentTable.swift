import Contract
import Store

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

    /// What of all documents is told in a list.
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

    /// Writes the first version of a document. The profile is held (`ProfileTable.hold`).
    /// - Returns: its version; `nil` if there is such a document.
    static func add(
        _ sealed: ProfileDocument.Sealed, as name: ProfileDocumentName, of profile: UUIDText, at now: Timestamp
    ) -> Statement<Int64?> {
        Statement(
            """
            INSERT INTO auth.profile_documents (profile_id, name, version, nonce, ciphertext, updated_at)
            VALUES (\(PostgresUUID(profile)), \(name.rawValue), 1, \(sealed.nonce), \(sealed.ciphertext), \(now))
            ON CONFLICT (profile_id, name) DO NOTHING
            RETURNING version
            """, first: { row throws(StoreError) in try row.next() })
    }

    /// Writes the next version of a document that has one of these. The profile is held.
    /// - Returns: the version that was written; `nil` if it has another one, or if there is no such document.
    static func replace(
        _ versions: [Int64], with sealed: ProfileDocument.Sealed, as name: ProfileDocumentName, of profile: UUIDText,
        at now: Timestamp
    ) -> Statement<Int64?> {
        Statement(
            """
            UPDATE auth.profile_documents
            SET nonce = \(sealed.nonce), ciphertext = \(sealed.ciphertext), version = version + 1, updated_at = \(now)
            WHERE profile_id = \(PostgresUUID(profile)) AND name = \(name.rawValue) AND version = ANY (\(versions))
            RETURNING version
            """, first: { row throws(StoreError) in try row.next() })
    }
}
