package import Contract
import FoundationEssentials
import SQLite

/// Our own message or change to a peer, or one member's copy of it, as it is to be sealed.
package struct OutgoingMail: Sendable, Equatable {
    package var id: UUIDText
    package var to: WhisperID
    package var groupID: String?
    package var body: [UInt8]
    /// The type in the envelope.
    package var messageType: String
    /// Time of its earlier signature, or of its first one; `nil`: the time of the attempt is signed.
    package var signedAt: Timestamp?
    /// `nil` for a change, which is no message of its own, and for a copy.
    package var message: Message?
    /// The message's file, if it has one.
    package var file: OutgoingFile?
}

/// Why a change was not taken. Nothing was stored.
package enum ChangeRefusal: Error, Equatable {
    /// There is no such message, or it is of a group.
    case notFound
    /// It is no text, or deleted.
    case notText
    /// Others of the group may.
    case notAllowed
    /// `ClientLimits.changesQueuedMax` wait already.
    case tooMany
}

/// The only code that reads or writes `outgoing_changes` and `waiting_changes`, and the columns of `messages` that
/// changes write.
///
/// Each change has a revision. The later of two edits, or of two reactions of one person, stays, in any order of
/// arrival; a deletion always stays. So repetitions and any order end in the same state.
package struct ChangeTable: Sendable {
    let store: ClientStore

    static func migrateChanges(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE messages ADD COLUMN reply_id TEXT;
                ALTER TABLE messages ADD COLUMN reply_author TEXT;
                ALTER TABLE messages ADD COLUMN revised_at INTEGER;
                ALTER TABLE messages ADD COLUMN revised_by TEXT;
                ALTER TABLE messages ADD COLUMN reactions TEXT;
                CREATE TABLE outgoing_changes (
                    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, id_key TEXT NOT NULL UNIQUE,
                    peer TEXT NOT NULL, body BLOB NOT NULL, place INTEGER NOT NULL, state TEXT NOT NULL,
                    attempts INTEGER NOT NULL DEFAULT 0);
                CREATE TABLE waiting_changes (
                    number INTEGER PRIMARY KEY AUTOINCREMENT, conversation TEXT NOT NULL, sender TEXT NOT NULL,
                    author TEXT NOT NULL, target_key TEXT NOT NULL, change_id TEXT NOT NULL, body BLOB NOT NULL);
                CREATE INDEX waiting_changes_target ON waiting_changes (conversation, author, target_key);
                CREATE INDEX waiting_changes_sender ON waiting_changes (sender, number);
                """)
    }

    // MARK: Ours

    /// Changes a message here, and keeps the change until the server has it, together.
    /// - Parameters:
    ///   - id: of the message that brings it.
    ///   - target: in the conversation `place`.
    ///   - now: the change is later than whatever we did to the message before, even if our clock was set back.
    /// - Returns: the message as it stands now, and whether there is anything to send.
    package func queue(
        _ kind: MessageChange.Kind, id: UUIDText, of target: MessageReference, in place: Conversation, ownID: WhisperID,
        at now: Timestamp
    ) throws(ClientStoreError) -> Result<(message: Message, isNew: Bool), ChangeRefusal> {
        try self.store.write { database -> Result<(message: Message, isNew: Bool), ChangeRefusal> in
            guard let row = try Self.row(of: target, in: place, ownID: ownID, in: database),
                let message = MessageTable.message(row)
            else { return .failure(.notFound) }
            let last: Int64?
            switch (kind, message.content) {
            case (.delete, .deleted): return .success((message, false))
            case (_, .deleted): return .failure(.notText)
            case (.edit(let text, let mentions), .text(let before)):
                if text == before, mentions == message.mentions { return .success((message, false)) }
                last = row["revised_at"]
            case (.edit, _): return .failure(.notText)
            case (.delete, _): last = row["revised_at"]
            case (.react(let reaction), _):
                let mine = KeptReaction.all(row["reactions"]).first { $0.from == "\(ownID)" }
                if reaction == mine?.text ?? "" { return .success((message, false)) }
                last = mine?.at
            case (.vote(let choices), _):
                guard ExtrasColumns.mayVote(choices, on: row, at: now) else { return .failure(.notText) }
                let mine = ExtrasColumns.lastVote(of: ownID, on: row)
                if choices == mine?.choices ?? [] { return .success((message, false)) }
                last = mine?.at
            }
            guard try Self.mayQueue(in: database) else { return .failure(.tooMany) }
            let change = MessageChange(
                target: target, kind: kind,
                revision: Revision(time: max(now.milliseconds, (last ?? 0) + 1), id: id))
            guard let changed = try Self.apply(change, by: ownID, to: row, in: database) else {
                return .success((message, false))
            }
            guard try Self.keep(.change(change), id: id, in: place, in: database) else { return .failure(.notFound) }
            return .success((changed, true))
        }
    }

    private static func mayQueue(in database: Database) throws -> Bool {
        let waiting = try Int.fetchOne(database, sql: "SELECT count(*) FROM outgoing_changes") ?? 0
        return try waiting + DeliveryTable.groupChangesQueued(in: database) < ClientLimits.changesQueuedMax
    }

    /// Keeps a change of a chat until the server has it.
    static func queue(
        _ body: MessageBody, id: UUIDText, in place: Conversation, in database: Database
    ) throws -> Result<Void, ChangeRefusal> {
        guard try Self.mayQueue(in: database) else { return .failure(.tooMany) }
        return try Self.keep(body, id: id, in: place, in: database) ? .success(()) : .failure(.notFound)
    }

    /// - Returns: `false` if there is no such group.
    private static func keep(
        _ body: MessageBody, id: UUIDText, in place: Conversation, in database: Database
    ) throws -> Bool {
        guard case .direct(let peer) = place else {
            guard let group = try GroupTable.group(place.name, in: database) else { return false }
            _ = try DeliveryTable.queue(id, toGroup: group, body: body.groupBytes, in: database)
            return true
        }
        try database.run(
            sql: """
                INSERT INTO outgoing_changes (id, id_key, peer, body, place, state)
                VALUES (?, ?, ?, ?, (SELECT coalesce(max(number), 0) FROM messages), 'queued')
                """,
            arguments: ["\(id)", MessageTable.key(id), "\(peer)", body.bytes])
        try ContactTable.accept(peer, in: database)
        return true
    }

    /// Drops edits that wait for messages of ours which are gone: they would tell a text again.
    /// - Parameter keys: of these messages.
    static func dropEdits(of keys: Set<String>, in database: Database) throws {
        guard !keys.isEmpty else { return }
        for table in ["outgoing_changes", "group_sendings"] {
            for row in try Row.fetchAll(
                database, sql: "SELECT number, id, body FROM \(table) WHERE body IS NOT NULL LIMIT ?",
                arguments: [ClientLimits.changesQueuedMax])
            {
                guard let id = UUIDText(row["id"] as String),
                    case .change(let change)? = MessageBody(row["body"] as [UInt8], id: id), case .edit = change.kind,
                    keys.contains(MessageTable.key(change.target.id))
                else { continue }
                try database.run(sql: "DELETE FROM \(table) WHERE number = ?", arguments: [row["number"] as Int64])
            }
        }
    }

    /// Changes that wait, with the number of the latest message that was there when each was made.
    static func queuedChanges(in database: Database) throws -> [Row] {
        try Row.fetchAll(
            database,
            sql: "SELECT id, peer, attempts, place FROM outgoing_changes WHERE state = 'queued' ORDER BY number")
    }

    /// The mail to send under this id; `nil` if the message was deleted meanwhile.
    package func mail(_ id: UUIDText) throws(ClientStoreError) -> OutgoingMail? {
        try self.store.read { database -> OutgoingMail? in
            if let row = try MessageTable.outgoingRow(id, in: database), let message = MessageTable.message(row) {
                guard case .text(let text) = message.content else { return nil }
                let file = try TransferTable.outgoingFile(row)
                let body = MessageBody(text, file, of: message)
                return OutgoingMail(
                    id: message.id, to: message.peer, body: body.bytes, messageType: body.messageType,
                    signedAt: Self.signedTime(row["signed_at"] ?? message.time.milliseconds), message: message,
                    file: file)
            }
            guard let row = try Self.outgoingChange(id, in: database), let peer = WhisperID(row["peer"] as String),
                let id = UUIDText(row["id"] as String)
            else { return nil }
            return OutgoingMail(
                id: id, to: peer, body: row["body"] as [UInt8], messageType: "system",
                signedAt: Self.signedTime(row["signed_at"]))
        }
    }

    private static func signedTime(_ milliseconds: Int64) -> Timestamp? {
        milliseconds == 0 ? nil : Timestamp(milliseconds: milliseconds)
    }

    /// To whom a change of ours goes; `nil` if there is no such change, or the server has it.
    package func recipientOfChange(_ id: UUIDText) throws(ClientStoreError) -> WhisperID? {
        try self.store.read { try Self.outgoingChange(id, in: $0).flatMap { WhisperID($0["peer"] as String) } }
    }

    /// The server has it.
    package func changeArrived(_ id: UUIDText) throws(ClientStoreError) {
        try self.store.write {
            try $0.execute(sql: "DELETE FROM outgoing_changes WHERE id_key = ?", arguments: [MessageTable.key(id)])
        }
    }

    /// - Parameter attempts: `nil` leaves the count.
    package func set(
        _ state: MessageState, ofChange id: UUIDText, attempts: Int?
    ) throws(ClientStoreError) {
        try self.store.write {
            try $0.execute(
                sql: "UPDATE outgoing_changes SET state = ?, attempts = coalesce(?, attempts) WHERE id_key = ?",
                arguments: [MessageTable.text(state), attempts, MessageTable.key(id)])
        }
    }

    /// Queues changes again that were given up, in the transaction that does so with messages.
    /// - Returns: them, in their order.
    static func requeueFailedChanges(to peer: WhisperID, limit: Int, in database: Database) throws -> [UUIDText] {
        let sql = "SELECT id FROM outgoing_changes WHERE peer = ? AND state LIKE 'failed:%' ORDER BY number LIMIT ?"
        let ids = try String.fetchAll(database, sql: sql, arguments: ["\(peer)", limit])
        for id in ids {
            try database.run(
                sql: "UPDATE outgoing_changes SET state = 'queued', attempts = 0 WHERE id = ?", arguments: [id])
        }
        return ids.compactMap { UUIDText($0) }
    }

    /// A change that is given up stays here alone.
    static func dropChange(_ id: UUIDText, in database: Database) throws {
        try database.run(sql: "DELETE FROM outgoing_changes WHERE id_key = ?", arguments: [MessageTable.key(id)])
    }

    private static func outgoingChange(_ id: UUIDText, in database: Database) throws -> Row? {
        try Row.fetchOne(
            database, sql: "SELECT * FROM outgoing_changes WHERE id_key = ?", arguments: [MessageTable.key(id)])
    }

    // MARK: Theirs

    /// Takes a change that came. One that comes before its message waits for it.
    /// - Returns: the message as it stands now, if it was changed.
    static func keep(
        _ change: MessageChange, from sender: WhisperID, groupID: String?, in database: Database
    ) throws -> Message? {
        let place = groupID.map { Conversation.group($0) } ?? .direct(sender)
        let key = change.revision.id
        guard try ClientStore.remember(key, in: place.name, in: database),
            let ownID = try SettingsTable.whisperID(in: database)
        else {
            return nil
        }
        guard change.isAllowed(to: sender, in: place, ownID: ownID) else { return nil }
        if let row = try Self.row(of: change.target, in: place, ownID: ownID, in: database) {
            return try Self.apply(change, by: sender, to: row, in: database)
        }
        // Changes wait only for messages that have not arrived. Our own, and those with a remembered id, were here and
        // are gone.
        let target = MessageTable.key(change.target.id)
        guard change.target.author != ownID, try !ClientStore.isRemembered(target, in: place.name, in: database) else {
            return nil
        }
        try database.run(
            sql: """
                INSERT INTO waiting_changes (conversation, sender, author, target_key, change_id, body, signed_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                place.name, "\(sender)", "\(change.target.author)", target, key,
                MessageBody.change(change).bytes, change.signedAt?.milliseconds,
            ])
        try database.run(
            sql: """
                DELETE FROM waiting_changes WHERE number IN (
                    SELECT number FROM waiting_changes WHERE sender = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
                """,
            arguments: ["\(sender)", ClientLimits.changesWaitingPerSenderMax])
        try database.run(
            sql: """
                DELETE FROM waiting_changes WHERE number IN (
                    SELECT number FROM waiting_changes ORDER BY number DESC LIMIT -1 OFFSET ?)
                """, arguments: [ClientLimits.changesWaitingMax])
        return nil
    }

    /// Changes a message that has just come by what waited for it.
    /// - Returns: whether anything did.
    static func applyWaiting(to message: Message, in database: Database) throws -> Bool {
        let place = message.place
        let arguments: StatementArguments = [place.name, "\(message.peer)", MessageTable.key(message.id)]
        let rows = try Row.fetchAll(
            database,
            sql:
                "SELECT * FROM waiting_changes WHERE conversation = ? AND author = ? AND target_key = ? ORDER BY number",
            arguments: arguments)
        guard !rows.isEmpty, let ownID = try SettingsTable.whisperID(in: database) else { return false }
        try database.run(
            sql: "DELETE FROM waiting_changes WHERE conversation = ? AND author = ? AND target_key = ?",
            arguments: arguments)
        let reference = MessageReference(id: message.id, author: message.peer)
        for waiting in rows {
            guard let sender = WhisperID(waiting["sender"] as String),
                let id = UUIDText(waiting["change_id"] as String),
                case .change(var change)? = MessageBody(waiting["body"] as [UInt8], id: id),
                let row = try Self.row(of: reference, in: place, ownID: ownID, in: database)
            else { continue }
            change.signedAt = (waiting["signed_at"] as Int64?).map { Timestamp(milliseconds: $0) }
            _ = try Self.apply(change, by: sender, to: row, in: database)
        }
        return true
    }

    package func waitingChanges() throws(ClientStoreError) -> Int {
        try self.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM waiting_changes") ?? 0 }
    }

    // MARK: Both

    /// - Parameter row: of the message.
    /// - Returns: the message as it stands now; `nil` if it is as it was.
    private static func apply(
        _ change: MessageChange, by person: WhisperID, to row: Row, in database: Database
    ) throws -> Message? {
        let number: Int64 = row["number"]
        guard row["kind"] as String != "deleted" else { return nil }
        switch change.kind {
        case .edit(let text, let mentions):
            guard row["kind"] as String == "text" else { return nil }
            if let time = row["revised_at"] as Int64?, let key = row["revised_by"] as String?,
                change.revision <= Revision(time: time, key: key)
            {
                return nil
            }
            try database.run(
                sql: "UPDATE messages SET body = ?, revised_at = ?, revised_by = ? WHERE number = ?",
                arguments: [text, change.revision.time, change.revision.id, number])
            let ownID = try SettingsTable.whisperID(in: database)
            try ExtrasColumns.set(
                MessageTable.message(row)?.poll, mentions,
                isMentioned: !row["is_outgoing"] && mentions.contains { $0.id == ownID }, of: number, in: database)
        case .vote(let choices):
            let time = max(change.revision.time, change.signedAt?.milliseconds ?? 0)
            guard try ExtrasColumns.vote(choices, by: person, change.revision, at: time, on: row, in: database) else {
                return nil
            }
        case .delete:
            if person == change.target.author, row["is_outgoing"] {
                try Self.dropEdits(of: [MessageTable.key(change.target.id)], in: database)
            }
            // Nobody is asked to read what is gone.
            try database.run(
                sql: """
                    UPDATE messages SET kind = 'deleted', body = NULL, reactions = NULL, reply_id = NULL,
                        reply_author = NULL, extras = NULL, votes = NULL, revised_at = ?, revised_by = ?, is_read = NOT is_outgoing
                    WHERE number = ?
                    """, arguments: [change.revision.time, change.revision.id, number])
            try ClientStore.dropEvidence(of: number, in: database)
        case .react(let reaction):
            var all = KeptReaction.all(row["reactions"])
            let kept = KeptReaction(
                from: "\(person)", text: reaction, at: change.revision.time, by: change.revision.id)
            if let place = all.firstIndex(where: { $0.from == kept.from }) {
                guard change.revision > all[place].revision else { return nil }
                all[place] = kept
            } else {
                guard all.count < ClientLimits.reactionsMax else { return nil }
                all.append(kept)
                all.sort { $0.from < $1.from }
            }
            try database.run(
                sql: "UPDATE messages SET reactions = ? WHERE number = ?",
                arguments: [String(decoding: try JSONEncoder().encode(all), as: UTF8.self), number])
        }
        try EventTable.noteRevised(number, in: database)
        return try Self.message(number: number, in: database)
    }

    static func message(number: Int64, in database: Database) throws -> Message? {
        try Row.fetchOne(database, sql: "SELECT * FROM messages WHERE number = ?", arguments: [number])
            .flatMap(MessageTable.message)
    }

    private static func row(
        of message: MessageReference, in place: Conversation, ownID: WhisperID, in database: Database
    ) throws -> Row? {
        let isOurs = message.author == ownID
        switch place {
        case .direct(let peer):
            guard isOurs || message.author == peer else { return nil }
            return try Row.fetchOne(
                database,
                sql: """
                    SELECT * FROM messages WHERE peer = ? AND is_outgoing = ? AND id_key = ? AND group_id IS NULL
                    """, arguments: ["\(peer)", isOurs, MessageTable.key(message.id)])
        case .group(let id):
            // Each member has a copy of ours: they go the same way.
            return try Row.fetchOne(
                database,
                sql: """
                    SELECT * FROM messages WHERE (is_outgoing OR peer = ?) AND is_outgoing = ? AND id_key = ?
                        AND group_id = ? ORDER BY number LIMIT 1
                    """, arguments: ["\(message.author)", isOurs, MessageTable.key(message.id), id])
        }
    }

    static func reactions(_ text: String?) -> [Reaction] {
        KeptReaction.all(text).compactMap { kept in
            guard !kept.text.isEmpty, let from = WhisperID(kept.from) else { return nil }
            return Reaction(from: from, text: kept.text)
        }
    }
}

extension MessageChange {
    /// - Parameter sender: who signed it. Only authors edit and delete.
    fileprivate func isAllowed(to sender: WhisperID, in place: Conversation, ownID: WhisperID) -> Bool {
        switch (self.kind, place) {
        case (.edit, _), (.delete, _): self.target.author == sender
        case (.react, .direct), (.vote, .direct): self.target.author == sender || self.target.author == ownID
        case (.react, .group), (.vote, .group): true
        }
    }
}

/// A reaction in the column `reactions`. One that was taken back stays, with an empty text: an older one may come late.
private struct KeptReaction: Codable {
    var from: String
    var text: String
    var at: Int64
    var by: String

    var revision: Revision { Revision(time: self.at, key: self.by) }

    static func all(_ text: String?) -> [KeptReaction] {
        guard let text else { return [] }
        return (try? JSONDecoder().decode([KeptReaction].self, from: Data(text.utf8))) ?? []
    }
}
