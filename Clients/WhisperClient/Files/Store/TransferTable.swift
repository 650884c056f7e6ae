import Contract
import FoundationEssentials
import SQLite

/// A file, as the copies of our own message describe it.
package struct OutgoingFile: Sendable {
    var details: FileDetails
    var secret: FileSecret

    /// - Returns: `nil` if the reader's key cannot be used, or the server does not have the file.
    func pointer(to reader: PublicKeys, keys: IdentityKeys) -> FilePointer? {
        guard let objectKey = self.secret.objectKey else { return nil }
        return try? FilePointer(self.details, self.secret, objectKey: objectKey, reader: reader, keys: keys)
    }
}

extension OutgoingFile: Equatable {
    package static func == (one: OutgoingFile, other: OutgoingFile) -> Bool {
        one.details == other.details && one.secret.nonce == other.secret.nonce
    }
}

/// A file on its way.
struct Transfer: Sendable {
    /// The number of its message.
    var number: Int64
    var message: Message
    var details: FileDetails
    var secret: FileSecret
    var isUpload: Bool
    /// The name of the sealed file.
    var local: String
    /// Where a download goes; `nil` if it is kept here.
    var target: String?
    var attempts: Int
    /// Where an upload goes, and until when.
    var url: String?
    var urlExpiresAt: Timestamp?
}

/// The only code that reads or writes `transfers`, `kept_files`, and the columns of `messages` that tell of files.
///
/// A row of an upload stays until the server has the message: whoever tries again needs the sealed file. Triggers end
/// transfers whose messages are sent, deleted or forgotten. `TransferFiles.sweep` removes the files of rows that are gone.
package struct TransferTable: Sendable {
    let store: ClientStore

    static func migrateFiles(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE messages ADD COLUMN file TEXT;
                ALTER TABLE messages ADD COLUMN file_secret TEXT;
                ALTER TABLE messages ADD COLUMN file_state TEXT;
                CREATE TABLE transfers (
                    message INTEGER PRIMARY KEY, is_upload INTEGER NOT NULL, local TEXT NOT NULL, target TEXT,
                    is_waiting INTEGER NOT NULL DEFAULT 1, attempts INTEGER NOT NULL DEFAULT 0,
                    url TEXT, url_expires_at INTEGER);
                CREATE TRIGGER transfers_settled AFTER UPDATE OF state ON messages
                WHEN new.state IN ('sent', 'delivered', 'read', 'expired', 'failed:cancelled') BEGIN
                    DELETE FROM transfers WHERE message = new.number AND is_upload;
                END;
                CREATE TRIGGER transfers_forgotten AFTER DELETE ON messages BEGIN
                    DELETE FROM transfers WHERE message = old.number;
                END;
                CREATE TRIGGER transfers_deleted AFTER UPDATE OF kind ON messages WHEN new.kind = 'deleted' BEGIN
                    UPDATE messages SET state = 'failed:cancelled'
                        WHERE number = new.number AND state = 'queued' AND EXISTS (
                            SELECT 1 FROM transfers WHERE message = new.number AND is_upload AND is_waiting);
                    DELETE FROM transfers WHERE message = new.number;
                    UPDATE messages SET file = NULL, file_secret = NULL, file_state = NULL
                        WHERE number = new.number;
                END;
                """)
    }

    /// Files that stay here, sealed, for the host to read.
    static func migrateKept(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE kept_files (
                    message INTEGER PRIMARY KEY, local TEXT NOT NULL, bytes INTEGER NOT NULL, used INTEGER NOT NULL);
                CREATE TRIGGER kept_files_forgotten AFTER DELETE ON messages BEGIN
                    DELETE FROM kept_files WHERE message = old.number;
                END;
                CREATE TRIGGER kept_files_deleted AFTER UPDATE OF kind ON messages WHEN new.kind = 'deleted' BEGIN
                    DELETE FROM kept_files WHERE message = new.number;
                END;
                """)
    }

    static let undoKept = StepDown(
        migration: "kept files",
        sql: """
            UPDATE messages SET file_state = CASE WHEN is_outgoing THEN 'complete' ELSE 'offered' END
                WHERE file_state = 'kept';
            DROP TRIGGER kept_files_forgotten; DROP TRIGGER kept_files_deleted; DROP TABLE kept_files
            """)

    // MARK: Uploads

    /// Keeps a message of ours with a file that is sealed already, before anything is sent.
    /// - Parameters:
    ///   - local: the name of the sealed file.
    ///   - isKept: whether that file stays when the message is sent.
    /// - Returns: `false` if `ClientLimits.uploadsMax` wait.
    func queue(
        _ message: Message, _ secret: FileSecret, local: String, isKept: Bool
    ) throws(ClientStoreError) -> Bool {
        try self.store.write { database -> Bool in
            let waiting = try Int.fetchOne(database, sql: "SELECT count(*) FROM transfers WHERE is_upload") ?? 0
            guard waiting < ClientLimits.uploadsMax, let attachment = message.attachment else { return false }
            try MessageTable.insert(message, in: database)
            let number = database.lastInsertedRowID
            // It is signed when its file is there.
            try database.run(sql: "UPDATE messages SET signed_at = 0 WHERE number = ?", arguments: [number])
            try Self.set(attachment, secret, of: number, in: database)
            try database.run(
                sql: "INSERT INTO transfers (message, is_upload, local) VALUES (?, 1, ?)", arguments: [number, local])
            if isKept { try Self.keep(local, bytes: attachment.details.sealedSize, of: number, in: database) }
            try EventTable.noteChanged(
                MessageTable.key(message.id), to: MessageTable.text(message.state ?? .queued), in: database)
            if message.isDirect { try ContactTable.accept(message.peer, in: database) }
            return true
        }
    }

    /// Where an upload goes from now on; `nil`: nowhere yet.
    func set(url: (text: String, objectKey: String, expiresAt: Timestamp)?, of number: Int64) throws(ClientStoreError) {
        try self.store.write { database in
            try database.run(
                sql: "UPDATE transfers SET url = ?, url_expires_at = ? WHERE message = ?",
                arguments: [url?.text, url?.expiresAt.milliseconds, number])
            guard let url, var secret = try Self.secret(of: number, in: database) else { return }
            secret.objectKey = url.objectKey
            try database.run(
                sql: "UPDATE messages SET file_secret = ? WHERE number = ?",
                arguments: [try FileColumn.text(KeptSecret(secret)), number])
        }
    }

    /// The server has the file: its message can go.
    /// - Returns: the message as it stands now; `nil` if nobody wants it any more.
    func uploaded(_ number: Int64) throws(ClientStoreError) -> Message? {
        try self.store.write { database -> Message? in
            guard try Self.isWaiting(number, in: database) else { return nil }
            try database.run(
                sql: "UPDATE transfers SET is_waiting = 0, url = NULL WHERE message = ?", arguments: [number])
            let isKept = try Self.keptFile(of: number, in: database) != nil
            try Self.set(isKept ? .kept : .complete, of: number, in: database)
            guard let message = try ChangeTable.message(number: number, in: database) else { return nil }
            guard let id = message.groupID else { return message }
            // The members of now, not those of when it was written.
            guard let group = try GroupTable.group(id, in: database), group.isMember else {
                try MessageTable.set(.failed(.forbidden), of: message.id, attempts: nil, in: database)
                return message.moved(to: .failed(.forbidden))
            }
            _ = try DeliveryTable.queue(message.id, toGroup: group, body: nil, in: database)
            return try DeliveryTable.settleSending(message.id, in: database) ?? message
        }
    }

    /// Uploads the file of a message again, if its sealed copy is here.
    /// - Returns: the message as it stands then.
    static func restartUpload(of id: UUIDText, in database: Database) throws -> Message? {
        guard let number = try MessageTable.outgoingRow(id, in: database)?["number"] as Int64? else { return nil }
        try database.run(
            sql: """
                UPDATE transfers SET is_waiting = 1, attempts = 0, url = NULL WHERE message = ? AND is_upload
                """, arguments: [number])
        guard database.changesCount == 1 else { return nil }
        try Self.set(.waiting, of: number, in: database)
        return try ChangeTable.message(number: number, in: database)
    }

    /// Queues messages to a group again whose files could not be uploaded, and those of which no copy could be sent: the server
    /// may have dropped the file meanwhile. They go to the members of then.
    func requeueFailedUploads(inGroup id: String) throws(ClientStoreError) -> [Message] {
        try self.store.write { database -> [Message] in
            let sql = """
                SELECT messages.id FROM transfers JOIN messages ON number = message
                WHERE is_upload AND NOT is_waiting AND group_id = ? AND state = ? ORDER BY number
                """
            let failed = MessageTable.text(.failed(.fileNotUploaded))
            let messages = try String.fetchAll(database, sql: sql, arguments: [id, failed])
            return try (messages + Self.forgetFailedCopies(ofFilesIn: id, in: database)).compactMap { UUIDText($0) }
                .compactMap { id in
                    try MessageTable.set(.queued, of: id, attempts: 0, in: database)
                    return try Self.restartUpload(of: id, in: database)
                }
        }
    }

    /// Forgets the copies of messages whose sealed file is here and whose copies have all failed. If some were
    /// cancelled, all copies stay.
    /// - Returns: these messages, which have no copies any more.
    private static func forgetFailedCopies(ofFilesIn group: String, in database: Database) throws -> [String] {
        let cancelled = MessageTable.text(.failed(.cancelled))
        let sql = """
            SELECT group_sendings.number AS sending, messages.number AS message, messages.id AS id
            FROM group_sendings
                JOIN messages ON is_outgoing AND messages.id_key = group_sendings.id_key
                JOIN transfers ON message = messages.number
            WHERE group_sendings.group_id = ? AND is_upload AND NOT is_waiting AND NOT EXISTS (
                SELECT 1 FROM group_deliveries
                WHERE sending = group_sendings.number AND (state NOT LIKE 'failed:%' OR state = ?))
            ORDER BY messages.number
            """
        return try Row.fetchAll(database, sql: sql, arguments: [group, cancelled]).map { row in
            let (sending, message): (Int64, Int64) = (row["sending"], row["message"])
            try database.run(sql: "DELETE FROM group_deliveries WHERE sending = ?", arguments: [sending])
            try database.run(sql: "DELETE FROM group_sendings WHERE number = ?", arguments: [sending])
            try database.run(sql: "UPDATE messages SET failed_members = 0 WHERE number = ?", arguments: [message])
            return row["id"]
        }
    }

    /// Uploads of a conversation that wait.
    func waitingUploads(in place: Conversation) throws(ClientStoreError) -> [Int64] {
        try self.store.read { database -> [Int64] in
            let sql = """
                SELECT number FROM transfers JOIN messages ON number = message
                WHERE is_upload AND is_waiting AND \(place.rows) ORDER BY number
                """
            return try Int64.fetchAll(database, sql: sql, arguments: [place.name])
        }
    }

    // MARK: Downloads

    /// Somebody here wants the file of a message.
    /// - Parameter target: `nil` if it is to be kept here.
    /// - Returns: the message as it stands now; `nil` if `ClientLimits.downloadsMax` wait, or nothing opens its file.
    func want(_ number: Int64, local: String, target: String?) throws(ClientStoreError) -> Message? {
        try self.store.write { database -> Message? in
            if target == nil, try Self.keptFile(of: number, in: database) != nil {
                try Self.set(.kept, of: number, in: database)
                return try ChangeTable.message(number: number, in: database)
            }
            let waiting = try Int.fetchOne(database, sql: "SELECT count(*) FROM transfers WHERE NOT is_upload") ?? 0
            guard waiting < ClientLimits.downloadsMax, try Self.secret(of: number, in: database) != nil else {
                return nil
            }
            try database.run(
                sql: """
                    INSERT INTO transfers (message, is_upload, local, target) VALUES (?, 0, ?, ?)
                    ON CONFLICT (message) DO UPDATE SET target = coalesce(excluded.target, target), attempts = 0
                    """, arguments: [number, local, target])
            try Self.set(.waiting, of: number, in: database)
            return try ChangeTable.message(number: number, in: database)
        }
    }

    // MARK: Both

    /// The next file to be transferred: those that have failed less often come first.
    /// - Parameter taken: messages whose files somebody transfers already.
    func nextTransfer(except taken: Set<Int64>) throws(ClientStoreError) -> Transfer? {
        try self.store.read { database -> Transfer? in
            let marks = taken.map { _ in "?" }.joined(separator: ", ")
            let sql = """
                SELECT messages.*, is_upload, local, target, transfers.attempts AS tried, url, url_expires_at
                FROM transfers JOIN messages ON number = message
                WHERE is_waiting AND number NOT IN (\(marks)) ORDER BY transfers.attempts, number LIMIT 1
                """
            return try Row.fetchOne(database, sql: sql, arguments: StatementArguments(taken)).flatMap {
                try Self.transfer($0)
            }
        }
    }

    /// An attempt has ended badly.
    /// - Parameter isFurther: whether more of the file is here than before.
    /// - Returns: how many have in a row.
    func countAttempt(_ number: Int64, isFurther: Bool) throws(ClientStoreError) -> Int {
        try self.store.write { database -> Int in
            try database.run(
                sql: "UPDATE transfers SET attempts = CASE WHEN ? THEN 1 ELSE attempts + 1 END WHERE message = ?",
                arguments: [isFurther, number])
            let sql = "SELECT attempts FROM transfers WHERE message = ?"
            return try Int.fetchOne(database, sql: sql, arguments: [number]) ?? 0
        }
    }

    func isTransferWaiting(_ number: Int64) throws(ClientStoreError) -> Bool {
        try self.store.read { try Self.isWaiting(number, in: $0) }
    }

    /// A transfer will not be tried again by itself.
    /// - Returns: the message as it stands now; `nil` if nobody wants the file any more.
    func fail(_ transfer: Transfer, _ failure: FileFailure) throws(ClientStoreError) -> Message? {
        try self.store.write { database -> Message? in
            guard try Self.isWaiting(transfer.number, in: database) else { return nil }
            try Self.set(.failed(failure), of: transfer.number, in: database)
            if transfer.isUpload {
                try database.run(
                    sql: "UPDATE transfers SET is_waiting = 0, url = NULL WHERE message = ?",
                    arguments: [transfer.number])
                try MessageTable.set(.failed(.fileNotUploaded), of: transfer.message.id, attempts: nil, in: database)
            } else {
                try Self.endDownload(transfer.number, in: database)
            }
            return try ChangeTable.message(number: transfer.number, in: database)
        }
    }

    /// The host has the file, or it is kept here.
    func downloaded(_ transfer: Transfer) throws(ClientStoreError) -> Message? {
        try self.store.write { database -> Message? in
            let number = transfer.number
            guard try Self.isWaiting(number, in: database) else { return nil }
            // Somebody has named a path meanwhile: the next attempt finds the whole file, and opens it there.
            let sql = "SELECT target FROM transfers WHERE message = ?"
            guard try String.fetchOne(database, sql: sql, arguments: [number]) == transfer.target else { return nil }
            try Self.set(transfer.target == nil ? .kept : .complete, of: number, in: database)
            try Self.endDownload(number, in: database)
            if transfer.target == nil {
                try Self.keep(transfer.local, bytes: transfer.details.sealedSize, of: number, in: database)
            }
            return try ChangeTable.message(number: number, in: database)
        }
    }

    // MARK: Kept files

    /// Keeps a sealed file. Files unused longest make room for it.
    private static func keep(_ local: String, bytes: Int64, of number: Int64, in database: Database) throws {
        try database.run(
            sql: "INSERT OR REPLACE INTO kept_files (message, local, bytes, used) VALUES (?, ?, ?, \(Self.nextUse))",
            arguments: [number, local, bytes])
        let sql = """
            SELECT message FROM (
                SELECT message, sum(bytes) OVER (ORDER BY used DESC) AS bytes FROM kept_files)
            WHERE bytes > ? AND message <> ?
            """
        for old in try Int64.fetchAll(database, sql: sql, arguments: [ClientLimits.keptBytesMax, number]) {
            try database.run(sql: "DELETE FROM kept_files WHERE message = ?", arguments: [old])
            try database.run(
                sql: """
                    UPDATE messages SET file_state = CASE WHEN is_outgoing THEN 'complete' ELSE 'offered' END
                    WHERE number = ? AND file_state = 'kept'
                    """, arguments: [old])
        }
    }

    private static let nextUse = "(SELECT ifnull(max(used), 0) + 1 FROM kept_files)"

    private static func keptFile(of number: Int64, in database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT local FROM kept_files WHERE message = ?", arguments: [number])
    }

    /// The sealed file of a message, which counts as used now.
    /// - Returns: `nil` if none is kept.
    func kept(_ number: Int64) throws(ClientStoreError) -> (local: String, secret: FileSecret)? {
        try self.store.write { database -> (local: String, secret: FileSecret)? in
            guard let local = try Self.keptFile(of: number, in: database),
                let secret = try Self.secret(of: number, in: database)
            else { return nil }
            try database.run(
                sql: "UPDATE kept_files SET used = \(Self.nextUse) WHERE message = ?", arguments: [number])
            return (local, secret)
        }
    }

    /// Nobody wants the file transferred any more. A message of ours goes with it.
    /// - Returns: the message as it stands now, and where its file was to go; `nil` if nothing waits.
    func cancelTransfer(_ number: Int64) throws(ClientStoreError) -> (message: Message, target: String?)? {
        try self.store.write { database -> (message: Message, target: String?)? in
            guard
                let row = try Row.fetchOne(
                    database, sql: "SELECT is_upload, target FROM transfers WHERE message = ? AND is_waiting",
                    arguments: [number]),
                let message = try ChangeTable.message(number: number, in: database)
            else { return nil }
            if row["is_upload"] {
                try MessageTable.set(.failed(.cancelled), of: message.id, attempts: nil, in: database)
                try database.run(sql: "DELETE FROM kept_files WHERE message = ?", arguments: [number])
            } else {
                try Self.set(.offered, of: number, in: database)
                try Self.endDownload(number, in: database)
            }
            return try ChangeTable.message(number: number, in: database).map { ($0, row["target"]) }
        }
    }

    /// Sealed files that rows name.
    func transferFiles() throws(ClientStoreError) -> Set<String> {
        let sql = "SELECT local FROM transfers UNION SELECT local FROM kept_files"
        return try self.store.read { Set(try String.fetchAll($0, sql: sql)) }
    }

    /// Whether something opens the file of a message.
    func hasFile(_ number: Int64) throws(ClientStoreError) -> Bool {
        try self.store.read { try Self.secret(of: number, in: $0) != nil }
    }

    /// The number of a message.
    /// - Parameter author: `nil` for one of ours.
    func number(of id: UUIDText, from author: WhisperID?) throws(ClientStoreError) -> Int64? {
        try self.store.read { database -> Int64? in
            guard let author else { return try MessageTable.outgoingRow(id, in: database)?["number"] }
            return try Int64.fetchOne(
                database, sql: "SELECT number FROM messages WHERE peer = ? AND NOT is_outgoing AND id_key = ?",
                arguments: ["\(author)", MessageTable.key(id)])
        }
    }

    private static func endDownload(_ number: Int64, in database: Database) throws {
        try database.run(sql: "DELETE FROM transfers WHERE message = ?", arguments: [number])
    }

    private static func isWaiting(_ number: Int64, in database: Database) throws -> Bool {
        try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM transfers WHERE message = ? AND is_waiting)",
            arguments: [number]) ?? false
    }

    // MARK: Rows

    static func set(
        _ attachment: Attachment, _ secret: FileSecret?, of number: Int64, in database: Database
    ) throws {
        try database.run(
            sql: "UPDATE messages SET file = ?, file_secret = ?, file_state = ? WHERE number = ?",
            arguments: [
                try FileColumn.text(KeptDetails(attachment.details)),
                try secret.map { try FileColumn.text(KeptSecret($0)) }, Self.text(attachment.state), number,
            ])
    }

    private static func set(_ state: Attachment.State, of number: Int64, in database: Database) throws {
        try database.run(
            sql: "UPDATE messages SET file_state = ? WHERE number = ?", arguments: [Self.text(state), number])
        try EventTable.noteRevised(number, in: database)
    }

    private static func secret(of number: Int64, in database: Database) throws -> FileSecret? {
        let text = try String.fetchOne(
            database, sql: "SELECT file_secret FROM messages WHERE number = ?", arguments: [number])
        return FileColumn.value(KeptSecret.self, text)?.secret
    }

    static func attachment(_ row: Row) -> Attachment? {
        guard let kept = FileColumn.value(KeptDetails.self, row["file"]) else { return nil }
        return Attachment(details: kept.details, state: Self.fileState(row["file_state"] ?? "offered"))
    }

    static func outgoingFile(_ row: Row) throws -> OutgoingFile? {
        guard let details = Self.attachment(row)?.details,
            let secret = FileColumn.value(KeptSecret.self, row["file_secret"])?.secret
        else { return nil }
        return OutgoingFile(details: details, secret: secret)
    }

    private static func transfer(_ row: Row) throws -> Transfer? {
        guard let message = MessageTable.message(row), let file = try Self.outgoingFile(row) else { return nil }
        return Transfer(
            number: row["number"], message: message, details: file.details, secret: file.secret,
            isUpload: row["is_upload"], local: row["local"], target: row["target"], attempts: row["tried"],
            url: row["url"],
            urlExpiresAt: (row["url_expires_at"] as Int64?).map { Timestamp(milliseconds: $0) })
    }

    private static func text(_ state: Attachment.State) -> String {
        switch state {
        case .offered: "offered"
        case .waiting: "waiting"
        case .complete: "complete"
        case .kept: "kept"
        case .failed(let failure): "failed:\(failure.rawValue)"
        }
    }

    private static func fileState(_ text: String) -> Attachment.State {
        switch text {
        case "offered": .offered
        case "waiting": .waiting
        case "complete": .complete
        case "kept": .kept
        default: .failed(FileFailure(rawValue: String(text.dropFirst("failed:".count))) ?? .rejected)
        }
    }
}

/// Columns that hold JSON.
private enum FileColumn {
    static func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    static func value<Value: Decodable>(_ type: Value.Type, _ text: String?) -> Value? {
        text.flatMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
    }
}

/// `FileDetails` in its column.
private struct KeptDetails: Codable {
    var name: String?
    var type: String
    var size: Int64
    var thumbnail: Data?
    var voice: VoiceMembers?
    var image: ImageSize?
    /// Earlier releases did not keep it.
    var isUnsigned: Bool?

    init(_ details: FileDetails) {
        self.name = details.name
        self.type = details.type
        self.size = details.size
        self.thumbnail = details.thumbnail.map { Data($0) }
        self.voice = details.voice.map { VoiceMembers($0) }
        self.image = details.image
        self.isUnsigned = details.isUnsigned ? true : nil
    }

    var details: FileDetails {
        FileDetails(
            name: self.name, type: self.type, size: self.size, thumbnail: self.thumbnail.map { Array($0) },
            voice: self.voice?.note, image: self.image, isUnsigned: self.isUnsigned ?? false)
    }
}

/// `FileSecret` in its column. A reader of the store reads the messages too.
private struct KeptSecret: Codable {
    var objectKey: String?
    var nonce: Data
    var key: Data

    init(_ secret: FileSecret) {
        self.objectKey = secret.objectKey
        self.nonce = Data(secret.nonce)
        self.key = Data(secret.key.bytes)
    }

    var secret: FileSecret {
        FileSecret(objectKey: self.objectKey, nonce: Array(self.nonce), key: SecretBytes(Array(self.key)))
    }
}
