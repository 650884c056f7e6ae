package import Contract
import FoundationEssentials
import SQLite

/// A message that is not settled, as the outbox starts with it.
package struct UnsettledMessage: Sendable, Equatable {
    package var id: UUIDText
    package var to: WhisperID
    package var attempts: Int
}

/// Received mail to store.
package enum Arrival: Sendable {
    case message(Message, Evidence? = nil)
    /// One with a file, and what opens it.
    case file(Message, FileSecret?, Evidence? = nil)
    /// - from: who signed it. `groupID`: the group that it was sent to.
    case change(MessageChange, from: WhisperID, groupID: String?)
    case timer(ChatTimer, from: WhisperID, groupID: String?)
    /// The payload of a `message_received` that is kept apart.
    case suspicious([UInt8], id: UUIDText, Suspicion)

    /// Where its id is remembered; `nil` for what is kept apart.
    fileprivate var place: Conversation? {
        switch self {
        case .message(let message, _), .file(let message, _, _): message.place
        case .change(_, let sender, let groupID), .timer(_, let sender, let groupID):
            groupID.map { .group($0) } ?? .direct(sender)
        case .suspicious: nil
        }
    }

    fileprivate var evidence: Evidence? {
        switch self {
        case .message(_, let evidence), .file(_, _, let evidence): evidence
        case .change, .timer, .suspicious: nil
        }
    }
}

/// A read mark that the sender has perhaps not been told.
package struct OwedReceipt: Hashable, Sendable {
    package var id: UUIDText
    package var to: WhisperID
}

/// The content of `messages`. Tables of files, groups, changes and search read it too, or write columns of their own.
///
/// A UUID is compared without regard to case but kept as it was spelled, because receipts repeat the spelling:
/// `id_key` is the lower-case form.
package struct MessageTable: Sendable {
    let store: ClientStore

    // MARK: Ours

    /// Keeps a new message of ours, before anything is sent.
    package func queue(_ message: Message) throws(ClientStoreError) {
        try self.store.write { database in
            try Self.insert(message, in: database)
            try EventTable.noteChanged(Self.key(message.id), to: Self.text(message.state ?? .queued), in: database)
            try ContactTable.accept(message.peer, in: database)
        }
    }

    /// Messages and changes, to people and to groups, that the server does not have yet. Nothing is read but an index.
    package func unsettledCount() throws(ClientStoreError) -> Int64 {
        try self.store.read { database in
            try Int64.fetchOne(
                database,
                sql: """
                    SELECT (SELECT count(*) FROM messages WHERE state IN ('queued', 'sending'))
                        + (SELECT count(*) FROM outgoing_changes WHERE state = 'queued')
                        + (SELECT count(*) FROM group_sendings WHERE body IS NOT NULL AND EXISTS (
                            SELECT 1 FROM group_deliveries WHERE sending = number AND state = 'queued'))
                    """) ?? 0
        }
    }

    /// Messages and changes that are not settled, as they were written: a change stands behind the messages that were
    /// there when it was made.
    package func unsettled() throws(ClientStoreError) -> [UnsettledMessage] {
        try self.store.read { database in
            let sql = """
                SELECT id, peer, attempts, number AS place FROM messages
                WHERE state IN ('queued', 'sending') AND group_id IS NULL
                    AND (file_state IS NULL OR file_state IN ('complete', 'kept'))
                ORDER BY number
                """
            let messages = try Row.fetchAll(database, sql: sql)
            var changes = try ChangeTable.queuedChanges(in: database)[...]
            var rows: [Row] = []
            for message in messages {
                let place: Int64 = message["place"]
                while let change = changes.first, (change["place"] as Int64) < place {
                    rows.append(changes.removeFirst())
                }
                rows.append(message)
            }
            return (rows + changes).compactMap { row in
                guard let id = UUIDText(row["id"] as String), let to = WhisperID(row["peer"] as String) else {
                    return nil
                }
                return UnsettledMessage(id: id, to: to, attempts: row["attempts"])
            }
        }
    }

    /// One of our own messages.
    package func outgoing(_ id: UUIDText) throws(ClientStoreError) -> Message? {
        try self.store.read { try Self.outgoing(id, in: $0) }
    }

    /// `sending` need not be kept: after a restart it would be `queued`.
    /// - Parameter attempts: `nil` leaves the count.
    package func set(_ state: MessageState, of id: UUIDText, attempts: Int? = nil) throws(ClientStoreError) {
        try self.store.write { try Self.set(state, of: id, attempts: attempts, in: $0) }
    }

    /// Takes news about one of our messages.
    /// - Returns: the message if its state changed.
    package func advance(_ id: UUIDText, _ progress: MessageState.Progress) throws(ClientStoreError) -> Message? {
        // If a power cut takes an acceptance back, the message is sent again and the server knows it. Receipts come once.
        try self.store.write(waits: progress != .accepted) { database in
            guard let message = try Self.outgoing(id, in: database), var state = message.state,
                state.advance(progress)
            else { return nil }
            try Self.set(state, of: id, attempts: nil, in: database)
            return message.moved(to: state)
        }
    }

    /// Queues again what was given up: messages, then changes, the oldest first. Cancelled ones stay where they are, and so do expired
    /// ones: the server knows their ids, and would not deliver them again.
    /// - Returns: them, in their order.
    package func requeueFailed(
        to peer: WhisperID, limit: Int
    ) throws(ClientStoreError) -> (messages: [Message], changes: [UUIDText]) {
        try self.store.write { database -> (messages: [Message], changes: [UUIDText]) in
            let sql = """
                SELECT * FROM messages WHERE peer = ? AND group_id IS NULL AND state LIKE 'failed:%' AND state <> ?
                    AND kind <> 'deleted'
                ORDER BY number LIMIT ?
                """
            let cancelled = Self.text(.failed(.cancelled))
            let messages = try Row.fetchAll(database, sql: sql, arguments: ["\(peer)", cancelled, limit])
                .compactMap(Self.message)
                .map { message in
                    try Self.set(.queued, of: message.id, attempts: 0, in: database)
                    return try TransferTable.restartUpload(of: message.id, in: database) ?? message.moved(to: .queued)
                }
            return (messages, try ChangeTable.requeueFailedChanges(to: peer, limit: limit, in: database))
        }
    }

    /// Gives messages and changes up that were queued.
    /// - Returns: the messages, in the order of the ids.
    package func cancel(
        _ ids: [UUIDText], because reason: FailureReason = .cancelled
    ) throws(ClientStoreError) -> [Message] {
        guard !ids.isEmpty else { return [] }
        return try self.store.write { database -> [Message] in
            try ids.compactMap { id in
                guard try Self.outgoing(id, in: database) != nil else {
                    try ChangeTable.dropChange(id, in: database)
                    return nil
                }
                try Self.set(.failed(reason), of: id, attempts: nil, in: database)
                return try Self.outgoing(id, in: database)
            }
        }
    }

    // MARK: Theirs

    /// Keeps what came together, each message once, in one transaction. All of it is safe here afterwards, and receipts
    /// may go out.
    /// - Returns: what is new, in its order: `.received` and `.changed`.
    package func keep(_ arrivals: [Arrival], at now: Timestamp) throws(ClientStoreError) -> [ClientEvent] {
        guard !arrivals.isEmpty else { return [] }
        return try self.store.write { database -> [ClientEvent] in
            let news = try arrivals.flatMap { arrival -> [ClientEvent] in
                switch arrival {
                case .message(let message, let evidence):
                    return try Self.keepNew(message, secret: nil, evidence, at: now, in: database)
                case .file(let message, let secret, let evidence):
                    return try Self.keepNew(message, secret: secret, evidence, at: now, in: database)
                case .change(let change, let sender, let groupID):
                    return try ChangeTable.keep(change, from: sender, groupID: groupID, in: database).map {
                        [.changed($0)]
                    }
                        ?? []
                case .timer(let timer, let sender, let groupID):
                    guard try DisappearingTable.keep(timer, from: sender, groupID: groupID, at: now, in: database)
                    else {
                        return []
                    }
                    let place = groupID.map { Conversation.group($0) } ?? .direct(sender)
                    return [.passing(.timer(place, by: sender, seconds: timer.seconds))]
                case .suspicious(let frame, let id, let suspicion):
                    try ClientStore.quarantine(frame, id: id, suspicion, at: now, in: database)
                    return []
                }
            }
            for place in Set(arrivals.compactMap(\.place)) {
                try ClientStore.forgetOldIDs(in: place.name, in: database)
            }
            try ClientStore.dropOldEvidence(of: Set(arrivals.compactMap { $0.evidence?.sealed.from }), in: database)
            return news
        }
    }

    private static func keepNew(
        _ message: Message, secret: FileSecret?, _ evidence: Evidence?, at now: Timestamp, in database: Database
    ) throws -> [ClientEvent] {
        let isRequest = try message.isDirect && GroupTable.isFirstRequest(of: message.peer, in: database)
        guard let kept = try Self.keep(message, secret: secret, evidence, at: now, in: database) else { return [] }
        var news: [ClientEvent] = [.received(kept)]
        if try TimerPeopleTable.judge(message, in: database) {
            news.append(.passing(.chat(try ClientStore.chatState(of: message.place, in: database))))
        }
        guard isRequest, let contact = try ContactTable.contact(message.peer, in: database) else { return news }
        try EventTable.note(.request(contact), in: database)
        return [.request(contact)] + news
    }

    /// - Returns: it as it stands now, if it was new.
    private static func keep(
        _ message: Message, secret: FileSecret?, _ evidence: Evidence?, at now: Timestamp, in database: Database
    ) throws -> Message? {
        guard try ClientStore.remember(Self.key(message.id), in: message.groupID ?? "\(message.peer)", in: database)
        else {
            return nil
        }
        guard try Self.insert(message, in: database) else { return nil }
        let number = database.lastInsertedRowID
        try DisappearingTable.limit(message, number: number, at: now, in: database)
        if let attachment = message.attachment { try TransferTable.set(attachment, secret, of: number, in: database) }
        if let evidence { try ClientStore.keep(evidence, of: number, in: database) }
        if let group = message.groupID { try GroupTable.meet(group: group, in: database) }
        try EventTable.noteReceived(number, in: database)
        let hasChanged = try ChangeTable.applyWaiting(to: message, in: database)
        guard var kept = hasChanged ? try ChangeTable.message(number: number, in: database) : message else {
            return nil
        }
        kept.isSilent = try ClientStore.isSilent(kept, in: database)
        return kept
    }

    /// Marks messages as read here, and their read marks to the senders as pending. Our own messages, and those already
    /// read, stay as they are. A stranger gets no mark before the request is accepted.
    package func markRead(_ messages: some Collection<Message>) throws(ClientStoreError) {
        guard !messages.isEmpty else { return }
        try self.store.write { database in
            let owes = try ClientStore.preferences(in: database).sendsReadReceipts
            for message in messages {
                try database.run(
                    sql: """
                        UPDATE messages SET is_read = 1, owes_read = ? AND \(Self.mayTell)
                        WHERE peer = ? AND is_outgoing = 0 AND id_key = ? AND NOT is_read
                        """,
                    arguments: [owes, "\(message.peer)", Self.key(message.id)])
            }
        }
    }

    /// The oldest read marks that the server may not know.
    /// - Parameter others: whose mail is left out.
    package func owedReceipts(limit: Int, except others: [WhisperID] = []) throws(ClientStoreError) -> [OwedReceipt] {
        try self.store.read { database in
            let marks = others.map { _ in "?" }.joined(separator: ", ")
            let sql = "SELECT id, peer FROM messages WHERE owes_read AND peer NOT IN (\(marks)) ORDER BY number LIMIT ?"
            let arguments = StatementArguments(others.map { "\($0)" }) + [limit]
            return try Row.fetchAll(database, sql: sql, arguments: arguments).compactMap { row in
                guard let id = UUIDText(row["id"] as String), let to = WhisperID(row["peer"] as String) else {
                    return nil
                }
                return OwedReceipt(id: id, to: to)
            }
        }
    }

    /// The server has these read marks.
    package func receiptsArrived(_ receipts: some Sequence<OwedReceipt>) throws(ClientStoreError) {
        try self.store.write { database in
            for receipt in receipts {
                try database.run(
                    sql: "UPDATE messages SET owes_read = 0 WHERE peer = ? AND is_outgoing = 0 AND id_key = ?",
                    arguments: ["\(receipt.to)", Self.key(receipt.id)])
            }
        }
    }

    /// A read mark did not arrive after all.
    package func owesRead(_ id: UUIDText) throws(ClientStoreError) {
        try self.store.write { database in
            guard try ClientStore.preferences(in: database).sendsReadReceipts else { return }
            try database.run(
                sql: """
                    UPDATE messages SET owes_read = 1
                    WHERE NOT is_outgoing AND is_read AND id_key = ? AND \(Self.mayTell)
                    """,
                arguments: [Self.key(id)])
        }
    }

    /// Whether a message's sender may be told that it was read. Nobody who is blocked may, nor a stranger who wrote to us alone.
    private static let mayTell = """
        NOT EXISTS (
            SELECT 1 FROM contacts
            WHERE id = messages.peer AND (is_blocked OR is_stranger AND messages.group_id IS NULL))
        """

    /// A stranger is none any more: they are told what was read before. A blocked person is told nothing more.
    static func oweReadMarks(to peer: WhisperID, in database: Database) throws {
        guard try ClientStore.preferences(in: database).sendsReadReceipts else { return }
        try database.run(
            sql: """
                UPDATE messages SET owes_read = 1 WHERE number IN (
                    SELECT number FROM messages
                    WHERE peer = ? AND group_id IS NULL AND NOT is_outgoing AND is_read ORDER BY number DESC LIMIT ?)
                """, arguments: ["\(peer)", ClientLimits.readMarksOnAcceptMax])
    }

    static func forgetOwedReadMarks(to peer: WhisperID, in database: Database) throws {
        try database.run(sql: "UPDATE messages SET owes_read = 0 WHERE owes_read AND peer = ?", arguments: ["\(peer)"])
    }

    /// Nobody is told any more what was read here.
    static func forgetOwedReadMarks(in database: Database) throws {
        try database.run(sql: "UPDATE messages SET owes_read = 0 WHERE owes_read")
    }

    // MARK: Both

    /// Messages of a conversation, the latest of them, oldest first. Mail to a group is none of those with its sender.
    /// - Parameters:
    ///   - before: only what is older than the message of this number; `after` the other way: then the oldest of them.
    /// - Returns: them with their numbers, which grow in the order in which they came here.
    package func page(
        in place: Conversation, before: Int64? = nil, after: Int64? = nil, limit: Int
    ) throws(ClientStoreError) -> [(number: Int64, message: Message)] {
        try self.store.read { database -> [(number: Int64, message: Message)] in
            let order = after == nil ? "DESC" : "ASC"
            let sql = """
                SELECT * FROM messages WHERE \(place.rows) AND number < ? AND number > ?
                ORDER BY number \(order) LIMIT ?
                """
            let rows = try Row.fetchAll(
                database, sql: sql, arguments: [place.name, before ?? .max, after ?? 0, limit])
            let page = rows.compactMap { row in
                Self.message(row).map { (number: row["number"] as Int64, message: $0) }
            }
            return after == nil ? page.reversed() : page
        }
    }

    /// The same with a peer.
    package func page(
        with peer: WhisperID, before: Int64? = nil, after: Int64? = nil, limit: Int
    ) throws(ClientStoreError) -> [(number: Int64, message: Message)] {
        try self.page(in: .direct(peer), before: before, after: after, limit: limit)
    }

    /// A message that came, by its sender and id.
    package func incoming(_ id: UUIDText, from peer: WhisperID) throws(ClientStoreError) -> Message? {
        try self.store.read { database -> Message? in
            try Row.fetchOne(
                database, sql: "SELECT * FROM messages WHERE peer = ? AND is_outgoing = 0 AND id_key = ?",
                arguments: ["\(peer)", Self.key(id)]
            ).flatMap(Self.message)
        }
    }

    /// The number of a message, by which `page` finds its place.
    /// - Parameter sender: nil for one of ours.
    package func number(of id: UUIDText, from sender: WhisperID?) throws(ClientStoreError) -> Int64? {
        let (whose, sender) = sender.map { ("is_outgoing = 0 AND peer = ?", ["\($0)"]) } ?? ("is_outgoing", [])
        return try self.store.read { database in
            try Int64.fetchOne(
                database, sql: "SELECT number FROM messages WHERE id_key = ? AND \(whose)",
                arguments: StatementArguments([Self.key(id)] + sender))
        }
    }

    /// The latest messages with a peer, oldest first. Mail to a group is none of them.
    package func messages(with peer: WhisperID, limit: Int) throws(ClientStoreError) -> [Message] {
        try self.store.read { database in
            let sql = "SELECT * FROM messages WHERE peer = ? AND group_id IS NULL ORDER BY number DESC LIMIT ?"
            return try Row.fetchAll(database, sql: sql, arguments: ["\(peer)", limit]).compactMap(Self.message)
                .reversed()
        }
    }

    /// Everything that came and was not read, mail to groups too, oldest first.
    package func unread(limit: Int) throws(ClientStoreError) -> [Message] {
        try self.store.read { database in
            let sql = "SELECT * FROM messages WHERE NOT is_outgoing AND NOT is_read ORDER BY number LIMIT ?"
            return try Row.fetchAll(database, sql: sql, arguments: [limit]).compactMap(Self.message)
        }
    }

    /// Unread direct messages from a peer, oldest first.
    package func unread(with peer: WhisperID, limit: Int) throws(ClientStoreError) -> [Message] {
        try self.store.read { database in
            let sql = """
                SELECT * FROM messages WHERE NOT is_outgoing AND NOT is_read AND group_id IS NULL AND peer = ?
                ORDER BY number LIMIT ?
                """
            return try Row.fetchAll(database, sql: sql, arguments: ["\(peer)", limit]).compactMap(Self.message)
        }
    }

    /// Unread received messages, oldest first, each with its number.
    /// - Parameters:
    ///   - place: `nil` for all conversations.
    ///   - after: only messages with a higher number.
    package func unread(
        in place: Conversation?, after: Int64, limit: Int
    ) throws(ClientStoreError) -> [(number: Int64, message: Message)] {
        try self.store.read { database in
            let sql = """
                SELECT * FROM messages WHERE NOT is_outgoing AND NOT is_read AND number > ?
                    \(place.map { "AND \($0.rows)" } ?? "") ORDER BY number LIMIT ?
                """
            let arguments: StatementArguments = place.map { [after, $0.name, limit] } ?? [after, limit]
            return try Row.fetchAll(database, sql: sql, arguments: arguments).compactMap { row in
                Self.message(row).map { (number: row["number"] as Int64, message: $0) }
            }
        }
    }

    /// Unread received messages of a conversation, up to this number.
    package func unread(
        in place: Conversation, upTo number: Int64, limit: Int
    ) throws(ClientStoreError) -> [Message] {
        try self.store.read { database -> [Message] in
            let sql = """
                SELECT * FROM messages WHERE NOT is_outgoing AND NOT is_read AND \(place.rows)
                    AND number <= ? ORDER BY number LIMIT ?
                """
            return try Row.fetchAll(database, sql: sql, arguments: [place.name, number, limit]).compactMap(Self.message)
        }
    }

    /// How much `unread(limit:)` has in all.
    package func unreadCount() throws(ClientStoreError) -> Int {
        try self.store.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM messages WHERE NOT is_outgoing AND NOT is_read") ?? 0
        }
    }

    /// The number of the newest message; 0 if there is none.
    package func newestNumber() throws(ClientStoreError) -> Int64 {
        try self.store.read { try Int64.fetchOne($0, sql: "SELECT max(number) FROM messages") ?? 0 }
    }

    /// The same behind a number, without chats that are muted.
    package func loudUnreadCount(after number: Int64) throws(ClientStoreError) -> Int {
        let sql = """
            SELECT count(*) FROM messages WHERE NOT is_outgoing AND NOT is_read AND number > ?
                AND NOT EXISTS (SELECT 1 FROM contacts WHERE id = peer AND group_id IS NULL AND is_muted)
                AND NOT EXISTS (SELECT 1 FROM chat_marks WHERE chat = group_id AND is_muted)
            """
        return try self.store.read { try Int.fetchOne($0, sql: sql, arguments: [number]) ?? 0 }
    }

    /// How much `unread(with:limit:)` has for each peer.
    package func unreadCounts() throws(ClientStoreError) -> [WhisperID: Int] {
        try self.store.read { database in
            let sql = """
                SELECT peer, count(*) AS count FROM messages
                WHERE NOT is_outgoing AND NOT is_read AND group_id IS NULL GROUP BY peer
                """
            return try Row.fetchAll(database, sql: sql).reduce(into: [:]) { counts, row in
                if let peer = WhisperID(row["peer"] as String) { counts[peer] = row["count"] }
            }
        }
    }

    // MARK: Rows

    static func key(_ id: UUIDText) -> String { "\(id)".lowercased() }

    /// - Returns: whether a row was added.
    @discardableResult
    static func insert(_ message: Message, in database: Database) throws -> Bool {
        // Text is a string, all else a blob. Before there were blobs, nothing was kept of it.
        let kind: String
        var body = DatabaseValue.null
        switch message.content {
        case .text(let text): (kind, body) = ("text", text.databaseValue)
        case .other(let other, let bytes): (kind, body) = (other, bytes.databaseValue)
        case .unreadable: kind = "unreadable"
        case .deleted: kind = "deleted"
        }
        let isRead = message.direction == .incoming(isRead: true)
        try database.run(
            sql: """
                INSERT INTO messages (
                    id, id_key, peer, group_id, is_outgoing, kind, body, time, state, is_read, reply_id, reply_author)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                """,
            arguments: [
                "\(message.id)", Self.key(message.id), "\(message.peer)", message.groupID, message.state != nil, kind,
                body,
                message.time.milliseconds, message.state.map(Self.text), isRead,
                message.replyTo.map { "\($0.id)" }, message.replyTo.map { "\($0.author)" },
            ])
        guard database.changesCount == 1 else { return false }
        let number = database.lastInsertedRowID
        try DisappearingTable.set(message, number: number, in: database)
        if message.poll != nil || !message.mentions.isEmpty {
            try ExtrasColumns.set(
                message.poll, message.mentions, isMentioned: message.isMentioned, of: number, in: database)
        }
        return true
    }

    static func outgoing(_ id: UUIDText, in database: Database) throws -> Message? {
        try Self.outgoingRow(id, in: database).flatMap(Self.message)
    }

    static func outgoingRow(_ id: UUIDText, in database: Database) throws -> Row? {
        try Row.fetchOne(
            database, sql: "SELECT * FROM messages WHERE is_outgoing AND id_key = ?", arguments: [Self.key(id)])
    }

    static func set(_ state: MessageState, of id: UUIDText, attempts: Int?, in database: Database) throws {
        try database.run(
            sql: "UPDATE messages SET state = ?, attempts = coalesce(?, attempts) WHERE is_outgoing AND id_key = ?",
            arguments: [Self.text(state), attempts, Self.key(id)])
        try EventTable.noteChanged(Self.key(id), to: Self.text(state), in: database)
    }

    static func message(_ row: Row) -> Message? {
        guard let id = UUIDText(row["id"] as String), let peer = WhisperID(row["peer"] as String) else { return nil }
        let kind: String = row["kind"]
        let body: DatabaseValue = row["body"]
        let content: Message.Content =
            switch (kind, body) {
            case ("unreadable", _): .unreadable
            case ("deleted", _): .deleted
            case (_, .text(let text)): .text(text)
            case (_, .blob(let bytes)): .other(kind: kind, body: bytes)
            default: .other(kind: kind, body: [])
            }
        let direction: Message.Direction =
            if row["is_outgoing"] as Bool {
                .outgoing(Self.state(row["state"] ?? "queued"))
            } else {
                .incoming(isRead: row["is_read"])
            }
        var message = Message(
            id: id, peer: peer, groupID: row["group_id"], direction: direction, content: content,
            time: Timestamp(milliseconds: row["time"]))
        if let reply = (row["reply_id"] as String?).flatMap({ UUIDText($0) }),
            let author = (row["reply_author"] as String?).flatMap({ WhisperID($0) })
        {
            message.replyTo = MessageReference(id: reply, author: author)
        }
        message.isEdited = content != .deleted && row["revised_by"] as String? != nil
        message.reactions = ChangeTable.reactions(row["reactions"])
        message.failedMembers = row["failed_members"]
        message.attachment = TransferTable.attachment(row)
        ExtrasColumns.read(row, into: &message)
        message.expires = row["expires"]
        message.expiresAt = (row["expires_at"] as Int64?).map { Timestamp(milliseconds: $0) }
        return message
    }

    static func text(_ state: MessageState) -> String {
        switch state {
        case .queued: "queued"
        case .sending: "sending"
        case .sent: "sent"
        case .delivered: "delivered"
        case .read: "read"
        case .expired: "expired"
        case .failed(let reason): "failed:\(reason.rawValue)"
        }
    }

    static func state(_ text: String) -> MessageState {
        switch text {
        case "queued": .queued
        // Written by earlier releases: the process died while sending, and the message is to be sent again.
        case "sending": .queued
        case "sent": .sent
        case "delivered": .delivered
        case "read": .read
        case "expired": .expired
        default: .failed(FailureReason(rawValue: String(text.dropFirst("failed:".count))) ?? .rejected)
        }
    }
}
