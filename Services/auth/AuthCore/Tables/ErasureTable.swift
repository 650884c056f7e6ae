import ClusterContract
import Contract
package import Store

/// Statements of an erasure's transaction (contract §20.4). The only code that adds to `auth.erasures`.
enum ErasureTable {
    /// Locks the identity: no login, ban, report, backup or profile is under way at the commit.
    /// - Returns: its keys and epoch; `nil` if there is no such identity, or it is not as the order demands.
    static func lock(
        _ identity: WhisperID, for order: ErasureOrder, at now: StoreTime
    ) -> Statement<(keys: IdentityKeys, epoch: Epoch)?> {
        let (epoch, unseenFor) = (order.epoch, order.unseenForDays)
        return Statement(
            """
            SELECT sign_key, enc_key, epoch FROM auth.identities
            WHERE whisper_id = \(identity)
                AND (\(epoch?.value)::int8 IS NULL OR (epoch = \(epoch?.value) AND NOT is_banned))
                AND (\(unseenFor)::int8 IS NULL OR (
                    NOT is_banned AND seen_on < (\(now) AT TIME ZONE 'UTC')::date - \(unseenFor)::int4))
            FOR UPDATE
            """,
            first: { row throws(StoreError) in
                let keys = IdentityKeys(
                    whisperID: identity, signPublicKey: try row.next(), encPublicKey: try row.next())
                return (keys, Epoch(value: try row.next()))
            })
    }

    /// The same for a guest: no proof or ban is under way at the commit.
    /// - Returns: its epoch, and the hashes of its tokens.
    static func lock(_ guest: GuestID, in epoch: Epoch?) -> Statement<(epoch: Epoch, tokens: [Bytes32])?> {
        Statement(
            """
            SELECT epoch, token_hash, replaced_hash FROM auth.guests
            WHERE guest_id = \(guest)
                AND (\(epoch?.value)::int8 IS NULL OR (epoch = \(epoch?.value) AND NOT is_banned))
            FOR UPDATE
            """,
            first: { row throws(StoreError) in
                let epoch = Epoch(value: try row.next())
                let (token, replaced): (Bytes32, Bytes32?) = (try row.next(), try row.next())
                return (epoch, [token] + [replaced].compactMap(\.self))
            })
    }

    static func removeGuest(_ guest: GuestID) -> SQL { "DELETE FROM auth.guests WHERE guest_id = \(guest)" }

    /// Parts that keep nothing of guests. They are done from the beginning.
    private static let partsWithoutGuests = ["router", "ledger", "calls", "push", "attachments"]

    /// Locks the profiles of the identity, in one order. `others` must be asked for behind it.
    static func lockProfiles(of identity: WhisperID) -> Statement<[UUIDText]> {
        Statement(
            """
            SELECT p.profile_id FROM auth.profiles p
            WHERE EXISTS (
                SELECT FROM auth.profile_members m WHERE m.profile_id = p.profile_id AND m.whisper_id = \(identity))
            ORDER BY p.profile_id FOR UPDATE
            """,
            each: { row throws(StoreError) in UUIDText(try row.next(PostgresUUID.self)) })
    }

    /// The members of these profiles but the identity.
    static func others(in profiles: [UUIDText], than identity: WhisperID) -> Statement<[UUIDText: [WhisperID]]> {
        Statement(
            """
            SELECT profile_id, whisper_id FROM auth.profile_members
            WHERE profile_id = ANY (\(profiles.map { PostgresUUID($0) })::uuid[]) AND whisper_id <> \(identity)
            """,
            decode: { rows throws(StoreError) in
                var others: [UUIDText: [WhisperID]] = [:]
                for var row in rows {
                    others[UUIDText(try row.next(PostgresUUID.self)), default: []].append(try row.next())
                }
                return others
            })
    }

    /// Removes the rows of the identity itself, the profiles in which it is alone among them.
    static func removeRows(of identity: WhisperID, alone profiles: [UUIDText]) -> [SQL] {
        [
            "DELETE FROM auth.profiles WHERE profile_id = ANY (\(profiles.map { PostgresUUID($0) })::uuid[])",
            "DELETE FROM auth.profile_members WHERE whisper_id = \(identity)",
            "DELETE FROM auth.contact_backups WHERE whisper_id = \(identity)",
            // Most name no inviter.
            "DELETE FROM auth.invitations WHERE inviter = \(identity)",
            "DELETE FROM auth.devices WHERE whisper_id = \(identity)",
        ]
    }

    static func removeIdentity(_ identity: WhisperID) -> SQL {
        "DELETE FROM auth.identities WHERE whisper_id = \(identity)"
    }

    /// A guest whose proof was under way at the commit of an erasure may be there again. If it goes again, that erasure begins anew.
    /// - Returns: the erasure's number, and when it was decided.
    static func add(_ order: ErasureOrder, at now: StoreTime) -> Statement<(number: Int64, decidedAt: Timestamp)> {
        var (identity, guest): (WhisperID?, GuestID?)
        switch order.principal {
        case .identity(let one): identity = one
        case .guest(let one): guest = one
        }
        let done = guest == nil ? [] : Self.partsWithoutGuests
        return Statement(
            """
            INSERT INTO auth.erasures (erasure_id, whisper_id, guest_id, sent_mail, by, decided_at, done)
            VALUES (\(PostgresUUID(order.id)), \(identity), \(guest), \(order.sentMail.rawValue),
                \(order.origin.rawValue), \(now), \(done)::text[])
            ON CONFLICT (guest_id) DO UPDATE SET erasure_id = excluded.erasure_id, by = excluded.by,
                decided_at = excluded.decided_at, done = excluded.done
            RETURNING number, decided_at
            """,
            decode: { rows throws(StoreError) in
                var row = rows[0]
                return (try row.next(), try row.next())
            })
    }

    /// Takes the person out of the audit log, while the erasure is open.
    /// - Parameter inNotes: also where a note of another event names the person. Reads the whole log.
    /// - Returns: events that were changed.
    static func forgetInAudit(_ erasure: UUIDText, inNotes: Bool) -> Statement<Int64> {
        Statement(value: "SELECT auth.forget_in_audit(\(PostgresUUID(erasure)), \(inNotes))")
    }
}

/// The rows about persons that auth keeps when their identity has gone: the audit log.
package struct AuthErasedRows: ErasedRows {
    package static let part = ErasurePart.auth

    private let pool: PostgresPool
    private let operators: any OperatorRecords

    package init(_ pool: PostgresPool, operators: any OperatorRecords) {
        self.pool = pool
        self.operators = operators
    }

    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        guard erasure.isSettled else { return ErasedCount(removed: 0) }
        guard case .guest(let guest) = erasure.principal else {
            return ErasedCount(
                removed: Int(try await self.pool.query(ErasureTable.forgetInAudit(erasure.id, inNotes: true))))
        }
        // Strangers make these as they like: none of them reads the whole log.
        let events = try await self.pool.query(ErasureTable.forgetInAudit(erasure.id, inNotes: false))
        // One that was put back may have been banned.
        let guests = try await self.pool.persistently { transaction throws(StoreError) in
            guard try await transaction.query(ErasureTable.lock(guest, in: nil)) != nil else { return 0 }
            try await self.operators.forget(erasure.principal, in: transaction)
            return try await transaction.execute(ErasureTable.removeGuest(guest))
        }
        return ErasedCount(removed: Int(events) + guests)
    }
}

/// Erasures that were finished long ago. They name nobody.
package struct FinishedErasures: ExpiringTable {
    package static let sweepFailed: StaticString = "finished erasures not swept"

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package func sweep(at now: StoreTime, limit: Int) async throws(StoreError) -> Int {
        try await self.pool.execute(
            """
            DELETE FROM auth.erasures WHERE erasure_id IN (
                SELECT erasure_id FROM auth.erasures
                WHERE (decided_at <= \(now - AuthLimits.finishedErasureLife) OR by = 'guest') AND finished_at IS NOT NULL
                LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            """)
    }

    /// How many are open, and the age of the oldest in seconds. An erasure that waits for nothing but the ledger's walk counts when
    /// the walk is late. One that a guest has asked for comes last and has no age: there may be any number of them.
    package func open(at now: StoreTime) async throws(StoreError) -> (count: Int64, oldestSeconds: Int64) {
        var row = try await self.pool.query(
            """
            SELECT count(*),
                coalesce(extract(epoch FROM \(now) - min(decided_at) FILTER (WHERE NOT is_guests_own))::int8, 0)
            FROM auth.erasures_unfinished
            WHERE NOT done @> array_remove(auth.erasure_parts(), 'ledger')
                OR decided_at <= \(now - AuthLimits.ledgerWalkedWithin)
            """)[0]
        return (try row.next(), try row.next())
    }
}
