package import Contract
import Store

/// `calls.conversations`, `.streams`, `.listeners` and the lines of transcripts, as far as live conversations go.
/// Transcripts' pages are not modelled: nobody asks for them. Nothing is ever old enough to be swept.
package struct CallsTables: Sendable {
    /// The columns of which no statement asks more than their values.
    struct Conversation: Sendable {
        var share: Int16
        var profile: PostgresUUID
        var creator: WhisperID
        var signKey: Bytes32
        var encKey: Bytes32
        var linkVerifier: Bytes32
        var infoNonce: [UInt8]
        var info: [UInt8]
        var transcriptDays: Int16
        var createdAt: Timestamp
        var updatedAt: Timestamp
        var usedAt: Timestamp
        var generation: Int32
        var epoch: Int64
        var lastHolder: WhisperID?
    }

    struct Stream: Sendable {
        var content: PostgresUUID
        var state: String
        var holder: WhisperID
        var node: Int64?
        var connection: Int64?
        var transcriptDays: Int16
        var startedAt: Timestamp
        var changedAt: Timestamp
    }

    struct ListenerKey: Hashable, Sendable {
        var isGuest: Bool
        var id: PostgresUUID
    }

    struct Listener: Sendable {
        var status: String
        var signKey: Bytes32
        var encKey: Bytes32
        var since: Timestamp
        var seenAt: Timestamp
        var knock: Seal
        var expiresAt: Timestamp?
        var grantFrom: Int64?
        var generation: Int32
        var grant: Seal
        var joinedContent: PostgresUUID?
        var joinedAt: Timestamp?
        var refusal: String?
        var refusalNonce: [UInt8]
    }

    struct Seal: Sendable {
        var at: Timestamp?
        var nonce: [UInt8]
        var ciphertext: [UInt8]
        var signature: Bytes64?
    }

    var conversations: [PostgresUUID: Conversation] = [:]
    /// Streams of each conversation, in the order in which they were inserted. One at most has not ended.
    var streams: [PostgresUUID: [Stream]] = [:]
    var listeners: [PostgresUUID: [ListenerKey: Listener]] = [:]
    /// Numbers of the stored lines of each stream.
    var lines: [PostgresUUID: Set<Int32>] = [:]

    // MARK: For judges

    package func epoch(of conversation: ConversationID) -> Int64 {
        self.conversations[PostgresUUID(conversation.uuid)]?.epoch ?? 0
    }

    package func generation(of conversation: ConversationID) -> Int {
        Int(self.conversations[PostgresUUID(conversation.uuid)]?.generation ?? 0)
    }

    package func storedLines(of content: UUIDText) -> Set<Int> {
        Set((self.lines[PostgresUUID(content)] ?? []).map { Int($0) })
    }

    // MARK: Statements

    static let statements = Self.reads + Self.writes + Self.silent

    private static let reads = [
        StoreModel.reads("SELECT clock_timestamp()") { model, _ in StatementAnswer([model.now]) { $1.add($0) } },
        StoreModel.reads(
            "SELECT conversation_id FROM calls.conversations c\nWHERE share = ANY ($1::int2[]) AND (\n    EXISTS"
        ) { model, parameters in
            let shares = Set(parameters(1, [Int16].self))
            let tables = model.calls
            let active = tables.conversations.filter { id, conversation in
                let somebodyWaits = tables.listeners[id]?.values.contains { $0.status == "waiting" } == true
                return shares.contains(conversation.share) && (tables.open(id)?.state == "live" || somebodyWaits)
            }
            return StatementAnswer(Self.sorted(active.keys)) { $1.add($0) }
        },
        StoreModel.reads("SELECT conversation_id, profile_id, creator, sign_key") { model, parameters in
            let ids = Self.sorted(Set(parameters(1, [PostgresUUID].self)))
            return StatementAnswer(ids.filter { model.calls.conversations[$0] != nil }) { id, row in
                let conversation = model.calls.conversations[id]!
                row.add(id)
                row.add(conversation.profile)
                row.add(conversation.creator)
                row.add(conversation.signKey)
                row.add(conversation.encKey)
                row.add(conversation.linkVerifier)
                row.add(conversation.infoNonce)
                row.add(conversation.info)
                row.add(conversation.transcriptDays)
                row.add(conversation.createdAt)
                row.add(conversation.updatedAt)
                row.add(conversation.usedAt)
                row.add(conversation.generation)
                row.add(conversation.epoch)
                row.add(conversation.lastHolder)
            }
        },
        StoreModel.reads("SELECT conversation_id, content_id, state, holder") { model, parameters in
            let open = Self.sorted(Set(parameters(1, [PostgresUUID].self))).compactMap { id in
                model.calls.open(id).map { (id, $0) }
            }
            return StatementAnswer(open) { item, row in
                let (id, stream) = item
                row.add(id)
                row.add(stream.content)
                row.add(stream.state)
                row.add(stream.holder)
                row.add(stream.node)
                row.add(stream.connection)
                row.add(stream.transcriptDays)
                row.add(stream.startedAt)
                row.add(stream.changedAt)
            }
        },
        StoreModel.reads("SELECT conversation_id, is_guest, listener, status") { model, parameters in
            let rows = Self.sorted(Set(parameters(1, [PostgresUUID].self))).flatMap { id in
                (model.calls.listeners[id] ?? [:]).sorted { Self.isBefore($0.key.id, $1.key.id) }
                    .map { (id, $0.key, $0.value) }
            }
            return StatementAnswer(rows) { item, row in
                let (id, key, listener) = item
                row.add(id)
                row.add(key.isGuest)
                row.add(key.id)
                row.add(listener.status)
                row.add(listener.signKey)
                row.add(listener.encKey)
                row.add(listener.since)
                row.add(listener.seenAt)
                Self.add(listener.knock, to: &row)
                row.add(listener.expiresAt)
                row.add(listener.grantFrom)
                row.add(listener.generation)
                Self.add(listener.grant, to: &row)
                row.add(listener.joinedContent)
                row.add(listener.joinedAt)
                row.add(listener.refusal)
                row.add(listener.refusalNonce)
            }
        },
        StoreModel.reads("SELECT c.conversation_id, c.profile_id, s.state") { model, parameters in
            let profiles = Set(parameters(1, [PostgresUUID].self))
            let ids = Self.sorted(model.calls.conversations.filter { profiles.contains($0.value.profile) }.keys)
            return StatementAnswer(ids) { id, row in
                let conversation = model.calls.conversations[id]!
                let stream = model.calls.open(id)
                row.add(id)
                row.add(conversation.profile)
                row.add(stream?.state)
                row.add(conversation.epoch)
                row.add(conversation.generation)
                row.add(stream?.content)
                row.add(stream?.holder)
                row.add(conversation.transcriptDays)
                row.add(conversation.createdAt)
                row.add(conversation.updatedAt)
            }
        },
        StoreModel.reads("SELECT s.conversation_id, s.content_id\nFROM unnest(") { model, parameters in
            let ended = Self.contents(parameters).filter { conversation, content in
                model.calls.streams[conversation]?.contains { $0.content == content && $0.state == "ended" } == true
            }
            return StatementAnswer(ended) {
                $1.add($0.0)
                $1.add($0.1)
            }
        },
        StoreModel.reads("SELECT s.node, s.connection, count(*)") { model, parameters in
            let (nodes, connections): ([Int64], [Int64]) = (parameters(1), parameters(2))
            let live = model.calls.streams.values.joined().filter { $0.state == "live" }
            let held = zip(nodes, connections).map { node, connection in
                (node, connection, Int64(live.count { $0.node == node && $0.connection == connection }))
            }
            return StatementAnswer(held.filter { $0.2 > 0 }) {
                $1.add($0.0)
                $1.add($0.1)
                $1.add($0.2)
            }
        },
        StoreModel.reads("SELECT holder, count(*) FROM calls.streams") { model, parameters in
            let holders = parameters(1, [WhisperID].self)
            let open = model.calls.streams.values.joined().filter { $0.state != "ended" }
            let counts = holders.map { holder in (holder, Int64(open.count { $0.holder == holder })) }
            return StatementAnswer(counts.filter { $0.1 > 0 }) {
                $1.add($0.0)
                $1.add($0.1)
            }
        },
        StoreModel.reads("SELECT c.profile_id, count(*) FROM calls.conversations c") { model, parameters in
            let profiles = Self.sorted(Set(parameters(1, [PostgresUUID].self)))
            let open = model.calls.conversations.filter { model.calls.open($0.key) != nil }
            let counts = profiles.map { profile in (profile, Int64(open.values.count { $0.profile == profile })) }
            return StatementAnswer(counts.filter { $0.1 > 0 }) {
                $1.add($0.0)
                $1.add($0.1)
            }
        },
        StoreModel.reads("SELECT t.conversation_id, t.content_id, t.last_line") { model, parameters in
            let last = Self.contents(parameters).compactMap { conversation, content in
                model.calls.lines[content]?.max().map { (conversation, content, $0) }
            }
            return StatementAnswer(last) {
                $1.add($0.0)
                $1.add($0.1)
                $1.add($0.2)
            }
        },
        StoreModel.reads("SELECT whisper_id, epoch, is_banned FROM auth.mail_identities") { model, parameters in
            let known = parameters(1, [WhisperID].self).filter { model.auth.identities[$0] != nil }
            return StatementAnswer(known) { id, row in
                row.add(id)
                row.add(model.auth.identities[id]!.epoch)
                row.add(model.auth.identities[id]!.isBanned)
            }
        },
        StoreModel.reads("SELECT profile_id, whisper_id, is_banned FROM auth.profile_membership") { model, parameters in
            let members = Self.sorted(Set(parameters(1, [PostgresUUID].self))).flatMap { profile in
                (model.auth.profiles[profile] ?? []).map { (profile, $0) }
            }
            return StatementAnswer(members) { member, row in
                row.add(member.0)
                row.add(member.1)
                row.add(model.auth.identities[member.1]?.isBanned ?? false)
            }
        },
        StoreModel.reads("SELECT conversation_id FROM calls.conversations\nWHERE profile_id = ANY") {
            model, parameters in
            let (profiles, shares) = (Set(parameters(1, [PostgresUUID].self)), Set(parameters(2, [Int16].self)))
            let found = model.calls.conversations.filter {
                profiles.contains($0.value.profile) && shares.contains($0.value.share)
            }
            return StatementAnswer(Self.sorted(found.keys)) { $1.add($0) }
        },
    ]

    private static let writes = [
        StoreModel.writes("INSERT INTO calls.conversations") { model, parameters in
            let id: PostgresUUID = parameters(1)
            var row = Conversation(
                share: parameters(2), profile: parameters(3), creator: parameters(4), signKey: parameters(5),
                encKey: parameters(6), linkVerifier: parameters(7), infoNonce: parameters(8), info: parameters(9),
                transcriptDays: parameters(10), createdAt: parameters(11), updatedAt: parameters(12),
                usedAt: parameters(13), generation: parameters(14), epoch: parameters(15), lastHolder: parameters(16))
            if let known = model.calls.conversations[id] {
                (row.share, row.profile, row.creator) = (known.share, known.profile, known.creator)
                (row.signKey, row.encKey, row.createdAt) = (known.signKey, known.encKey, known.createdAt)
            }
            model.calls.conversations[id] = row
            return .changed(1)
        },
        StoreModel.writes("UPDATE calls.streams SET state = 'ended'") { model, parameters in
            // The time stands in the text twice.
            let id: PostgresUUID = parameters(3)
            var ended = 0
            let streams = model.calls.streams[id] ?? []
            for index in streams.indices where streams[index].state != "ended" {
                model.calls.streams[id]![index].state = "ended"
                model.calls.streams[id]![index].node = nil
                model.calls.streams[id]![index].connection = nil
                model.calls.streams[id]![index].changedAt = parameters(1)
                ended += 1
            }
            return .changed(ended)
        },
        StoreModel.writes("INSERT INTO calls.streams") { model, parameters in
            let id: PostgresUUID = parameters(1)
            var row = Stream(
                content: parameters(2), state: parameters(3), holder: parameters(4), node: parameters(5),
                connection: parameters(6), transcriptDays: parameters(8), startedAt: parameters(9),
                changedAt: parameters(10))
            let index = model.calls.streams[id]?.firstIndex { $0.content == row.content }
            guard let index else {
                model.calls.streams[id, default: []].append(row)
                return .changed(1)
            }
            let known = model.calls.streams[id]![index]
            (row.transcriptDays, row.startedAt) = (known.transcriptDays, known.startedAt)
            model.calls.streams[id]![index] = row
            return .changed(1)
        },
        StoreModel.writes("INSERT INTO calls.listeners") { model, parameters in Self.upsert(&model, parameters) },
        StoreModel.writes("DELETE FROM calls.listeners l\nUSING unnest") { model, parameters in
            let (areGuests, ids): ([Bool], [PostgresUUID]) = (parameters(1), parameters(2))
            let id: PostgresUUID = parameters(3)
            for (isGuest, listener) in zip(areGuests, ids) {
                model.calls.listeners[id]?[ListenerKey(isGuest: isGuest, id: listener)] = nil
            }
            return .changed(ids.count)
        },
        // Bounds are not modelled: nobody comes near one.
        StoreModel.writes("WITH given AS MATERIALIZED (\n    SELECT g.*, octet_length") { model, parameters in
            let (contents, numbers): ([PostgresUUID], [Int32]) = (parameters(3), parameters(4))
            var stored: Int64 = 0
            for (content, number) in zip(contents, numbers)
            where model.calls.lines[content, default: []].insert(number).inserted { stored += 1 }
            return StatementAnswer([stored]) { stored, row in
                row.add(stored)
                row.add([Int64]())
            }
        },
    ]

    private static func upsert(_ model: inout StoreModel, _ parameters: Parameters) -> StatementAnswer {
        let id: PostgresUUID = parameters(1)
        let (areGuests, ids): ([Bool], [PostgresUUID]) = (parameters(2), parameters(3))
        let statuses: [String] = parameters(4)
        let (signKeys, encKeys): ([Bytes32], [Bytes32]) = (parameters(5), parameters(6))
        let (since, seen): ([Timestamp], [Timestamp]) = (parameters(7), parameters(8))
        let knocks = Self.seals(parameters, from: 9)
        let expires: [Timestamp?] = parameters(13)
        let (grantFrom, generations): ([Int64?], [Int32]) = (parameters(14), parameters(15))
        let grants = Self.seals(parameters, from: 16)
        let (contents, joined): ([PostgresUUID?], [Timestamp?]) = (parameters(20), parameters(21))
        let (refusals, refusalNonces): ([String?], [[UInt8]]) = (parameters(22), parameters(23))
        for index in ids.indices {
            let key = ListenerKey(isGuest: areGuests[index], id: ids[index])
            let known = model.calls.listeners[id]?[key]
            model.calls.listeners[id, default: [:]][key] = Listener(
                status: statuses[index], signKey: known?.signKey ?? signKeys[index],
                encKey: known?.encKey ?? encKeys[index], since: since[index], seenAt: seen[index],
                knock: knocks[index], expiresAt: expires[index], grantFrom: grantFrom[index],
                generation: generations[index], grant: grants[index], joinedContent: contents[index],
                joinedAt: joined[index], refusal: refusals[index], refusalNonce: refusalNonces[index])
        }
        return .changed(ids.count)
    }

    private static func seals(_ parameters: Parameters, from number: Int) -> [Seal] {
        let times: [Timestamp?] = parameters(number)
        let (nonces, ciphertexts): ([[UInt8]], [[UInt8]]) = (parameters(number + 1), parameters(number + 2))
        let signatures: [Bytes64?] = parameters(number + 3)
        return times.indices.map { index in
            Seal(
                at: times[index], nonce: nonces[index], ciphertext: ciphertexts[index], signature: signatures[index])
        }
    }

    private static func add(_ seal: Seal, to row: inout Columns) {
        row.add(seal.at)
        row.add(seal.nonce)
        row.add(seal.ciphertext)
        row.add(seal.signature)
    }

    private func open(_ conversation: PostgresUUID) -> Stream? {
        self.streams[conversation]?.first { $0.state != "ended" }
    }

    private static func contents(_ parameters: Parameters) -> [(PostgresUUID, PostgresUUID)] {
        Array(zip(parameters(1, [PostgresUUID].self), parameters(2, [PostgresUUID].self)))
    }

    private static func isBefore(_ a: PostgresUUID, _ b: PostgresUUID) -> Bool { (a.high, a.low) < (b.high, b.low) }

    private static func sorted(_ ids: some Sequence<PostgresUUID>) -> [PostgresUUID] { ids.sorted(by: Self.isBefore) }

    // MARK: What nobody has

    /// No rows, nothing changed.
    private static let silent = [
        "SELECT conversation_id FROM calls.conversations c\nWHERE share = ANY ($1::int2[]) AND (\n    NOT EXISTS",
        "SELECT pg_advisory_xact_lock(hashtextextended('calls.conversations'",
        "SELECT pg_advisory_xact_lock(hashtextextended('calls.streams'",
        "SELECT s.conversation_id FROM calls.streams s\nJOIN",
        "DELETE FROM calls.streams s USING calls.conversations",
        "DELETE FROM calls.listeners l USING calls.conversations",
        "DELETE FROM calls.transcript_lines", "WITH gone AS (\n    SELECT s.conversation_id, s.content_id",
        "DELETE FROM calls.transcript_shares", "INSERT INTO calls.stranger_bytes",
        "SELECT store, bytes FROM calls.stranger",
    ].map { StoreModel.reads($0) { _, _ in .nothing } }
}
