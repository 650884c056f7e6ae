import ClusterContract
package import Contract
import Participants
package import Store

/// The only code that reads or writes `calls.conversations`, `calls.streams` and `calls.listeners`.
package enum LiveTable {
    // MARK: Reading

    /// Conversations of these shares in which something goes on, for their new owner. Paused ones are read when somebody comes.
    static func active(in shares: [LiveShare]) -> Statement<[ConversationID]> {
        Statement(
            """
            SELECT conversation_id FROM calls.conversations c
            WHERE share = ANY (\(shares.map { Int16($0.index) })::int2[]) AND (
                EXISTS (SELECT FROM calls.streams s WHERE s.conversation_id = c.conversation_id AND s.state = 'live')
                OR EXISTS (
                    SELECT FROM calls.listeners l WHERE l.conversation_id = c.conversation_id AND l.status = 'waiting'))
            """,
            each: { row throws(StoreError) in try Self.id(&row) })
    }

    /// Conversations of these shares that nobody may use any more: without a profile, or not used for too long.
    static func expired(in shares: [LiveShare], limit: Int) -> Statement<[ConversationID]> {
        Statement(
            """
            SELECT conversation_id FROM calls.conversations c
            WHERE share = ANY (\(shares.map { Int16($0.index) })::int2[]) AND (
                NOT EXISTS (SELECT FROM auth.profile_membership m WHERE m.profile_id = c.profile_id)
                OR used_at < now() - \(LiveLimits.conversationTTL.components.seconds) * interval '1 second'
                    AND NOT EXISTS (
                        SELECT FROM calls.streams s
                        WHERE s.conversation_id = c.conversation_id AND s.state <> 'ended'))
            LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in try Self.id(&row) })
    }

    /// Conversations of these shares whose stream has been paused for longer than this.
    static func overdue(in shares: [LiveShare], pausedFor most: Duration, limit: Int) -> Statement<[ConversationID]> {
        Statement(
            """
            SELECT s.conversation_id FROM calls.streams s
            JOIN calls.conversations c ON c.conversation_id = s.conversation_id
            WHERE s.state = 'paused' AND s.changed_at < now() - \(most.components.seconds) * interval '1 second'
                AND c.share = ANY (\(shares.map { Int16($0.index) })::int2[])
            LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in try Self.id(&row) })
    }

    /// Conversations of these profiles, of these shares.
    static func ids(of profiles: [UUIDText], in shares: [LiveShare]) -> Statement<[ConversationID]> {
        Statement(
            """
            SELECT conversation_id FROM calls.conversations
            WHERE profile_id = ANY (\(profiles.map { PostgresUUID($0) })::uuid[])
                AND share = ANY (\(shares.map { Int16($0.index) })::int2[])
            """,
            each: { row throws(StoreError) in try Self.id(&row) })
    }

    nonisolated(nonsending) static func load(
        _ ids: [ConversationID], on store: PostgresConnection
    ) async throws(StoreError) -> [LiveMachine] {
        let ids = ids.map { PostgresUUID($0.uuid) }
        var pipeline = Pipeline()
        let conversations = pipeline.add(Self.conversations(ids))
        let streams = pipeline.add(Self.streams(of: ids))
        let listeners = pipeline.add(Self.listeners(of: ids))
        let found = try await store.pipeline(pipeline)
        let (open, rows) = (try found[streams], try found[listeners])
        return try found[conversations].map { conversation in
            var conversation = conversation
            conversation.stream = open[conversation.id]
            conversation.listeners = rows[conversation.id] ?? [:]
            return conversation
        }
    }

    static func id(_ row: inout Row) throws(StoreError) -> ConversationID {
        let id: PostgresUUID = try row.next()
        return ConversationID(high: id.high, low: id.low)
    }

    private static func conversations(_ ids: [PostgresUUID]) -> Statement<[LiveMachine]> {
        Statement(
            """
            SELECT conversation_id, profile_id, creator, sign_key, enc_key, link_verifier, info_nonce, info,
                transcript_days, created_at, updated_at, used_at, generation, epoch, last_holder
            FROM calls.conversations WHERE conversation_id = ANY (\(ids)::uuid[])
            """,
            each: { row throws(StoreError) in
                let id = try Self.id(&row)
                let profile = UUIDText(try row.next(PostgresUUID.self))
                let creator: WhisperID = try row.next()
                let (sign, enc, verifier): (Bytes32, Bytes32, Bytes32) = (
                    try row.next(), try row.next(), try row.next()
                )
                let info = LiveMachine.Info(nonce: try row.next(), ciphertext: try row.next())
                let days: Int16 = try row.next()
                var conversation = LiveMachine(
                    id: id, profile: profile, creator: creator, signPublicKey: sign, encPublicKey: enc,
                    linkVerifier: verifier, info: info, transcriptDays: Int(days), createdAt: try row.next(),
                    updatedAt: try row.next(), usedAt: try row.next())
                conversation.generation = Int(try row.next(Int32.self))
                conversation.epoch = try row.next()
                conversation.lastHolder = try row.next()
                return conversation
            })
    }

    private static func streams(of ids: [PostgresUUID]) -> Statement<[ConversationID: LiveMachine.Stream]> {
        Statement(
            """
            SELECT conversation_id, content_id, state, holder, node, connection, transcript_days, started_at, changed_at
            FROM calls.streams WHERE conversation_id = ANY (\(ids)::uuid[]) AND state <> 'ended'
            """,
            decode: { rows throws(StoreError) in
                var streams: [ConversationID: LiveMachine.Stream] = [:]
                for var row in rows {
                    let id = try Self.id(&row)
                    let content = UUIDText(try row.next(PostgresUUID.self))
                    let state: String = try row.next()
                    let holder: WhisperID = try row.next()
                    let (node, connection): (Int64?, Int64?) = (try row.next(), try row.next())
                    let days: Int16 = try row.next()
                    let (startedAt, changedAt): (Timestamp, Timestamp) = (try row.next(), try row.next())
                    var at: LiveConnection?
                    if let node, let connection {
                        at = LiveConnection(
                            node: NodeID(value: UInt64(bitPattern: node)),
                            connection: ConnectionID(value: UInt64(bitPattern: connection)))
                    }
                    streams[id] = LiveMachine.Stream(
                        content: content, holder: holder,
                        phase: state == "paused" ? .paused : .live(at, goneAt: at == nil ? changedAt : nil),
                        transcriptDays: Int(days), startedAt: startedAt, changedAt: changedAt)
                }
                return streams
            })
    }

    private static func listeners(
        of ids: [PostgresUUID]
    ) -> Statement<[ConversationID: [PrincipalID: LiveMachine.Listener]]> {
        Statement(
            """
            SELECT conversation_id, is_guest, listener, status, sign_key, enc_key, since, seen_at, knock_at, knock_nonce,
                knock, knock_sig, expires_at, grant_from, generation, grant_at, grant_nonce, grant_box, grant_sig,
                joined_content, joined_at, refusal, refusal_nonce
            FROM calls.listeners WHERE conversation_id = ANY (\(ids)::uuid[])
            """,
            decode: { rows throws(StoreError) in
                var listeners: [ConversationID: [PrincipalID: LiveMachine.Listener]] = [:]
                for var row in rows {
                    let id = try Self.id(&row)
                    let isGuest: Bool = try row.next()
                    let stored: PostgresUUID = try row.next()
                    guard let listener = PrincipalID(stored, isGuest: isGuest),
                        let status = LiveMachine.Listener.Status(rawValue: try row.next())
                    else { throw .undecodable(column: 2) }
                    listeners[id, default: [:]][listener] = try Self.listener(listener, status, &row)
                }
                return listeners
            })
    }

    private static func listener(
        _ id: PrincipalID, _ status: LiveMachine.Listener.Status, _ row: inout Row
    ) throws(StoreError) -> LiveMachine.Listener {
        var listener = LiveMachine.Listener(
            status: status, signPublicKey: try row.next(), encPublicKey: try row.next(), since: try row.next(),
            seenAt: try row.next())
        listener.knock = try Self.seal(from: id, &row)
        listener.expiresAt = try row.next()
        let from: WhisperID? = try row.next()
        listener.generation = Int(try row.next(Int32.self))
        listener.grant = try Self.seal(from: from.map { .identity($0) }, &row)
        listener.joinedContent = try row.next(PostgresUUID?.self).map { UUIDText($0) }
        listener.joinedAt = try row.next()
        listener.refusal = try row.next(String?.self).flatMap { LiveRefused.Reason(rawValue: $0) }
        listener.refusalNonce = try row.next()
        return listener
    }

    private static func seal(from: PrincipalID?, _ row: inout Row) throws(StoreError) -> LiveSigned? {
        let timestamp: Timestamp? = try row.next()
        let (nonce, ciphertext): ([UInt8]?, [UInt8]?) = (try row.next(), try row.next())
        let signature: Bytes64? = try row.next()
        guard let from, let timestamp, let nonce, let ciphertext, let signature else { return nil }
        return LiveSigned(
            from: from, timestamp: timestamp, nonce: nonce, ciphertext: ciphertext, signature: signature)
    }

    /// Keeps others from creating a conversation of these profiles until the transaction's end: they are counted.
    static func lock(_ profiles: [UUIDText]) -> SQL {
        """
        SELECT pg_advisory_xact_lock(hashtextextended('calls.conversations', p.low))
        FROM unnest(\(profiles.map { Int64(truncatingIfNeeded: $0.low ^ $0.high) }.sorted())::int8[]) AS p (low)
        """
    }

    /// All conversations of these profiles, of all shares.
    static func lists(of profiles: [UUIDText]) -> Statement<[UUIDText: [LiveConversation]]> {
        Statement(
            """
            SELECT c.conversation_id, c.profile_id, s.state, c.epoch, c.generation, s.content_id, s.holder,
                c.transcript_days, c.created_at, c.updated_at
            FROM calls.conversations c
            LEFT JOIN calls.streams s ON s.conversation_id = c.conversation_id AND s.state <> 'ended'
            WHERE c.profile_id = ANY (\(profiles.map { PostgresUUID($0) })::uuid[])
            """,
            decode: { rows throws(StoreError) in
                var lists: [UUIDText: [LiveConversation]] = [:]
                for var row in rows {
                    let id = try Self.id(&row)
                    let profile = UUIDText(try row.next(PostgresUUID.self))
                    let state = try row.next(String?.self).flatMap { LiveStreamState(rawValue: $0) } ?? .idle
                    let epoch: Int64 = try row.next()
                    let generation = Int(try row.next(Int32.self))
                    let content = try row.next(PostgresUUID?.self).map { UUIDText($0) }
                    let holder: WhisperID? = try row.next()
                    let days: Int16 = try row.next()
                    lists[profile, default: []].append(
                        LiveConversation(
                            conversation: id, profile: profile, state: state, epoch: epoch, generation: generation,
                            content: content, holder: state == .live ? holder : nil, transcriptDays: Int(days),
                            createdAt: try row.next(), updatedAt: try row.next()))
                }
                return lists
            })
    }

    /// The streams among these that have ended.
    static func ended(_ contents: [LiveFacts.Content]) -> Statement<Set<LiveFacts.Content>> {
        Statement(
            """
            SELECT s.conversation_id, s.content_id
            FROM unnest(
                \(contents.map { PostgresUUID($0.conversation.uuid) })::uuid[],
                \(contents.map { PostgresUUID($0.content) })::uuid[]) AS g (conversation_id, content_id)
            JOIN calls.streams s ON s.conversation_id = g.conversation_id AND s.content_id = g.content_id
            WHERE s.state = 'ended'
            """,
            decode: { rows throws(StoreError) in
                var ended: Set<LiveFacts.Content> = []
                for var row in rows {
                    ended.insert(
                        .init(conversation: try Self.id(&row), content: UUIDText(try row.next(PostgresUUID.self))))
                }
                return ended
            })
    }

    /// How many streams each of these connections holds, in all shares.
    static func held(by connections: [LiveConnection]) -> Statement<[LiveConnection: Int]> {
        Statement(
            """
            SELECT s.node, s.connection, count(*)
            FROM unnest(\(connections.map(\.storedNode))::int8[], \(connections.map(\.storedConnection))::int8[])
                AS g (node, connection)
            JOIN calls.streams s ON s.node = g.node AND s.connection = g.connection AND s.state = 'live'
            GROUP BY s.node, s.connection
            """,
            decode: { rows throws(StoreError) in
                var held: [LiveConnection: Int] = [:]
                for var row in rows {
                    let (node, connection): (Int64, Int64) = (try row.next(), try row.next())
                    held[
                        LiveConnection(
                            node: NodeID(value: UInt64(bitPattern: node)),
                            connection: ConnectionID(value: UInt64(bitPattern: connection)))] = Int(
                            try row.next(Int64.self))
                }
                return held
            })
    }

    /// Keeps others from beginning streams of these holders and profiles until the transaction's end: they are counted.
    static func lockStreams(of holders: [WhisperID], in profiles: [UUIDText]) -> SQL {
        let keys = Set(holders.map { Int64($0.bits) } + profiles.map { Int64(truncatingIfNeeded: $0.low ^ $0.high) })
        return """
            SELECT pg_advisory_xact_lock(hashtextextended('calls.streams', p.low))
            FROM unnest(\(keys.sorted())::int8[]) AS p (low)
            """
    }

    /// How many streams of these holders have not ended, in all shares.
    static func open(of holders: [WhisperID]) -> Statement<[WhisperID: Int]> {
        Statement(
            """
            SELECT holder, count(*) FROM calls.streams
            WHERE holder = ANY (\(holders)::int8[]) AND state <> 'ended' GROUP BY holder
            """,
            decode: { rows throws(StoreError) in
                var counts: [WhisperID: Int] = [:]
                for var row in rows { counts[try row.next()] = Int(try row.next(Int64.self)) }
                return counts
            })
    }

    /// The same of the conversations of these profiles.
    static func open(in profiles: [UUIDText]) -> Statement<[UUIDText: Int]> {
        Statement(
            """
            SELECT c.profile_id, count(*) FROM calls.conversations c
            JOIN calls.streams s ON s.conversation_id = c.conversation_id AND s.state <> 'ended'
            WHERE c.profile_id = ANY (\(profiles.map { PostgresUUID($0) })::uuid[]) GROUP BY c.profile_id
            """,
            decode: { rows throws(StoreError) in
                var counts: [UUIDText: Int] = [:]
                for var row in rows {
                    counts[UUIDText(try row.next(PostgresUUID.self))] = Int(try row.next(Int64.self))
                }
                return counts
            })
    }

    /// The answer to `look`.
    package struct Look: Sendable {
        package var signPublicKey: Bytes32
        package var encPublicKey: Bytes32
        package var linkVerifier: Bytes32
        package var nonce: [UInt8]
        package var ciphertext: [UInt8]
        package var state: LiveStreamState
        package var isTranscribed: Bool
    }

    /// Not of a conversation whose profile is no more: its owner ends it a moment later.
    package static func look(_ id: ConversationID) -> Statement<Look?> {
        Statement(
            """
            SELECT c.sign_key, c.enc_key, c.link_verifier, c.info_nonce, c.info, s.state,
                coalesce(s.is_transcribed, c.transcript_days > 0)
            FROM calls.conversations c
            LEFT JOIN calls.streams s ON s.conversation_id = c.conversation_id AND s.state <> 'ended'
            WHERE c.conversation_id = \(PostgresUUID(id.uuid))
                AND EXISTS (SELECT FROM auth.profile_membership m WHERE m.profile_id = c.profile_id)
            """,
            first: { row throws(StoreError) in
                Look(
                    signPublicKey: try row.next(), encPublicKey: try row.next(), linkVerifier: try row.next(),
                    nonce: try row.next(), ciphertext: try row.next(),
                    state: try row.next(String?.self).flatMap { LiveStreamState(rawValue: $0) } ?? .idle,
                    isTranscribed: try row.next())
            })
    }

    // MARK: Writing

    /// Statements that write a batch's changes, in the required order.
    static func write(_ changes: [LiveBook.Change]) -> [SQL] {
        var statements: [SQL] = []
        let deleted = changes.filter { $0.after == nil }.compactMap { $0.before.map { PostgresUUID($0.id.uuid) } }
        if !deleted.isEmpty {
            statements.append("DELETE FROM calls.conversations WHERE conversation_id = ANY (\(deleted)::uuid[])")
        }
        for change in changes {
            guard let after = change.after else { continue }
            if change.before.map({ !after.isStored(like: $0) }) ?? true { statements.append(Self.upsert(after)) }
            statements += Self.streams(change.before?.stream, after.stream, of: after)
            statements += Self.listeners(change.before?.listeners ?? [:], after.listeners, of: after.id)
        }
        return statements
    }

    private static func upsert(_ c: LiveMachine) -> SQL {
        """
        INSERT INTO calls.conversations (conversation_id, share, profile_id, creator, sign_key, enc_key, link_verifier,
            info_nonce, info, transcript_days, created_at, updated_at, used_at, generation, epoch, last_holder)
        VALUES (\(PostgresUUID(c.id.uuid)), \(Int16(LiveShare(of: c.id).index)), \(PostgresUUID(c.profile)),
            \(c.creator), \(c.signPublicKey), \(c.encPublicKey), \(c.linkVerifier), \(c.info.nonce),
            \(c.info.ciphertext), \(Int16(c.transcriptDays)), \(c.createdAt), \(c.updatedAt), \(c.usedAt),
            \(Int32(c.generation)), \(c.epoch), \(c.lastHolder))
        ON CONFLICT (conversation_id) DO UPDATE SET
            link_verifier = excluded.link_verifier, info_nonce = excluded.info_nonce, info = excluded.info,
            transcript_days = excluded.transcript_days, updated_at = excluded.updated_at, used_at = excluded.used_at,
            generation = excluded.generation, epoch = excluded.epoch, last_holder = excluded.last_holder,
            creator = excluded.creator
        """
    }

    private static func streams(
        _ before: LiveMachine.Stream?, _ after: LiveMachine.Stream?, of conversation: LiveMachine
    ) -> [SQL] {
        guard before != after else { return [] }
        var statements: [SQL] = []
        let id = PostgresUUID(conversation.id.uuid)
        // All open streams: a batch may have begun streams that it has ended again.
        if before == nil || before?.content != after?.content {
            statements.append(
                """
                UPDATE calls.streams SET state = 'ended', node = NULL, connection = NULL, changed_at = \(conversation.usedAt),
                    expires_at = CASE WHEN transcript_days > 0
                        THEN \(conversation.usedAt)::timestamptz + transcript_days * interval '24 hours' END
                WHERE conversation_id = \(id) AND state <> 'ended'
                """)
        }
        if let after {
            let at = after.connection
            statements.append(
                """
                INSERT INTO calls.streams (conversation_id, content_id, state, holder, node, connection, is_transcribed,
                    transcript_days, started_at, changed_at)
                VALUES (\(id), \(PostgresUUID(after.content)), \(after.isPaused ? "paused" : "live"), \(after.holder),
                    \(at?.storedNode), \(at?.storedConnection), \(after.isTranscribed),
                    \(Int16(after.transcriptDays)), \(after.startedAt), \(after.changedAt))
                ON CONFLICT (conversation_id, content_id) DO UPDATE SET
                    state = excluded.state, holder = excluded.holder, node = excluded.node,
                    connection = excluded.connection, changed_at = excluded.changed_at
                """)
        }
        return statements
    }

    private static func listeners(
        _ before: [PrincipalID: LiveMachine.Listener], _ after: [PrincipalID: LiveMachine.Listener],
        of id: ConversationID
    ) -> [SQL] {
        var statements: [SQL] = []
        let gone = before.keys.filter { after[$0] == nil }
        if !gone.isEmpty {
            statements.append(
                """
                DELETE FROM calls.listeners l
                USING unnest(\(gone.map(\.isGuest))::bool[], \(gone.map(\.storedUUID))::uuid[]) AS g (is_guest, listener)
                WHERE l.conversation_id = \(PostgresUUID(id.uuid)) AND l.is_guest = g.is_guest AND l.listener = g.listener
                """)
        }
        let changed = after.filter { before[$0.key] != $0.value }.map { (id: $0.key, row: $0.value) }
        if !changed.isEmpty { statements.append(Self.upsert(changed, of: id)) }
        return statements
    }

    private static func upsert(
        _ listeners: [(id: PrincipalID, row: LiveMachine.Listener)], of id: ConversationID
    ) -> SQL {
        let rows = listeners.map(\.row)
        return """
            INSERT INTO calls.listeners (conversation_id, is_guest, listener, status, sign_key, enc_key, since, seen_at,
                knock_at, knock_nonce, knock, knock_sig, expires_at, grant_from, generation, grant_at, grant_nonce,
                grant_box, grant_sig, joined_content, joined_at, refusal, refusal_nonce)
            SELECT \(PostgresUUID(id.uuid)), * FROM unnest(
                \(listeners.map(\.id.isGuest))::bool[], \(listeners.map(\.id.storedUUID))::uuid[],
                \(rows.map(\.status.rawValue))::text[], \(rows.map(\.signPublicKey))::bytea[],
                \(rows.map(\.encPublicKey))::bytea[], \(rows.map(\.since))::timestamptz[],
                \(rows.map(\.seenAt))::timestamptz[], \(rows.map { $0.knock?.timestamp })::timestamptz[],
                \(rows.map { $0.knock?.nonce ?? [] })::bytea[], \(rows.map { $0.knock?.ciphertext ?? [] })::bytea[],
                \(rows.map { $0.knock?.signature })::bytea[], \(rows.map(\.expiresAt))::timestamptz[],
                \(rows.map { $0.grant?.from.identity })::int8[], \(rows.map { Int32($0.generation) })::int4[],
                \(rows.map { $0.grant?.timestamp })::timestamptz[], \(rows.map { $0.grant?.nonce ?? [] })::bytea[],
                \(rows.map { $0.grant?.ciphertext ?? [] })::bytea[], \(rows.map { $0.grant?.signature })::bytea[],
                \(rows.map { $0.joinedContent.map { PostgresUUID($0) } })::uuid[],
                \(rows.map(\.joinedAt))::timestamptz[], \(rows.map { $0.refusal?.rawValue })::text[],
                \(rows.map { $0.refusalNonce ?? [] })::bytea[])
            ON CONFLICT (conversation_id, is_guest, listener) DO UPDATE SET
                status = excluded.status, since = excluded.since, seen_at = excluded.seen_at,
                knock_at = excluded.knock_at, knock_nonce = excluded.knock_nonce, knock = excluded.knock,
                knock_sig = excluded.knock_sig, expires_at = excluded.expires_at, grant_from = excluded.grant_from,
                generation = excluded.generation, grant_at = excluded.grant_at, grant_nonce = excluded.grant_nonce,
                grant_box = excluded.grant_box, grant_sig = excluded.grant_sig,
                joined_content = excluded.joined_content, joined_at = excluded.joined_at, refusal = excluded.refusal,
                refusal_nonce = excluded.refusal_nonce
            """
    }

    /// Deletes what was kept long enough: ended streams without lines, and listeners that were not seen lately.
    static func sweep(in shares: [LiveShare]) -> [SQL] {
        let shares = shares.map { Int16($0.index) }
        return [
            """
            DELETE FROM calls.streams s USING calls.conversations c
            WHERE s.conversation_id = c.conversation_id AND c.share = ANY (\(shares)::int2[]) AND s.state = 'ended'
                AND s.expires_at IS NULL AND s.changed_at < now() - \(LiveLimits.pauseMax.components.seconds) * interval '1 second'
            """,
            """
            DELETE FROM calls.listeners l USING calls.conversations c
            WHERE l.conversation_id = c.conversation_id AND c.share = ANY (\(shares)::int2[])
                AND l.status IN ('admitted', 'refused')
                AND l.seen_at < now() - \(LiveLimits.listenerTTL.components.seconds) * interval '1 second'
            """,
        ]
    }
}

extension LiveMachine {
    /// Whether its own row need not be written.
    fileprivate func isStored(like other: LiveMachine) -> Bool {
        self.linkVerifier == other.linkVerifier && self.info == other.info
            && self.transcriptDays == other.transcriptDays && self.updatedAt == other.updatedAt
            && self.usedAt == other.usedAt && self.generation == other.generation && self.epoch == other.epoch
            && self.lastHolder == other.lastHolder && self.creator == other.creator
    }
}
