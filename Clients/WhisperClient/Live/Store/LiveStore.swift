package import Contract
import FoundationEssentials
import SQLite

/// A conversation of our own (contract §14.6). Losing `content` and `lastLine` costs no more than a new stream.
package struct OwnConversation: Sendable {
    package var keys: ConversationKeys
    /// The local name.
    package var name: String
    package var title: String
    package var whisperer: String
    package var admission: Admission
    package var passcode: String?
    package var transcriptDays: Int
    package var linkSecret: SecretBytes
    /// The stream that continues, and its newest line. Both are stored together, and lost together (contract §14.8).
    package var content: UUIDText?
    package var lastLine: Int
    /// The newest of the generations whose keys were used or offered here. No older one is used again.
    package var generation = 1
    /// Whether the person has made it or whispered in it. Joining a profile forgets others.
    var isUsed = true

    package var id: ConversationID { self.keys.id }
    package var link: LinkKeys { LinkKeys(secret: self.linkSecret) }
    /// Draws a new link. The previous link opens nothing as soon as the server has the new one.
    package mutating func drawLink() { self.linkSecret = SecretBytes(Sodium.random(LiveLimits.linkSecretBytes)) }

    package var info: ConversationInfo {
        ConversationInfo(conversation: self.title, whisperer: self.whisperer, admission: self.admission)
    }
}

/// The decision about a listener of our own conversation.
package struct KnownListener: Hashable, Sendable {
    package enum Verdict: String, Sendable {
        case allowed
        /// Was removed, and may knock again.
        case removed
        case blocked
    }

    package var id: PrincipalID
    package var keys: PublicKeys
    package var name: String
    package var verdict: Verdict
    /// The time of the decision. An earlier knock is ignored.
    package var decidedAt: Timestamp
    /// The newest generation when the listener was removed: the listener may have its key.
    package var generation: Int
    /// The profile whose device the listener is, if it has shown one.
    package var profileKey: Bytes32?
    /// In place of a profile's key when another of its devices has shown a later one. Nothing is signed by it.
    static let outmodedKey = Bytes32([UInt8](repeating: 0, count: LiveLimits.secretBytes))!

    package init(
        id: PrincipalID, keys: PublicKeys, name: String, verdict: Verdict, decidedAt: Timestamp, generation: Int,
        profileKey: Bytes32? = nil
    ) {
        self.id = id
        self.keys = keys
        self.name = name
        self.verdict = verdict
        self.decidedAt = decidedAt
        self.generation = generation
        self.profileKey = profileKey
    }
}

/// A conversation of another identity that this user has listened to.
package struct HeardConversation: Sendable {
    package var link: ListenLink
    package var title: String
    package var whisperer: String
    /// The generation of the newest content key received. Grants of older generations are ignored.
    package var generation: Int
    package var listenedAt: Timestamp
}

/// The only code that reads or writes live conversations in the store. Secrets are sealed: the file alone does not
/// disclose them.
package struct LiveStore: Sendable {
    let store: ClientStore
    let seal: StoreSeal
    /// The documents that the devices of our profile share. Each change here is noted there in the same transaction.
    var documents: ProfileTable { ProfileTable(seal: self.seal) }

    package init(_ store: ClientStore, keys: IdentityKeys) {
        self.store = store
        self.seal = StoreSeal(key: keys.storeKey)
    }

    static func migrate(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE live_conversations (
                    id TEXT PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE NOT NULL, title TEXT NOT NULL,
                    whisperer TEXT NOT NULL, admission TEXT NOT NULL, transcript_days INTEGER NOT NULL,
                    secrets BLOB NOT NULL, content_id TEXT, last_line INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
                CREATE TABLE live_listeners (
                    conversation TEXT NOT NULL, listener TEXT NOT NULL, sign_key BLOB NOT NULL, box_key BLOB NOT NULL,
                    name TEXT NOT NULL, verdict TEXT NOT NULL, decided_at INTEGER NOT NULL, generation INTEGER NOT NULL,
                    PRIMARY KEY (conversation, listener)) WITHOUT ROWID;
                CREATE TABLE live_listening (
                    id TEXT PRIMARY KEY, link BLOB NOT NULL, title TEXT NOT NULL, whisperer TEXT NOT NULL,
                    generation INTEGER NOT NULL, listened_at INTEGER NOT NULL) WITHOUT ROWID;
                """)
    }

    static func migrateGenerations(_ database: Database) throws {
        try database.execute(sql: "ALTER TABLE live_conversations ADD COLUMN generation INTEGER NOT NULL DEFAULT 1")
    }

    static let undoGenerations = StepDown(
        migration: "live generations", sql: "ALTER TABLE live_conversations DROP COLUMN generation")

    // MARK: The profile

    /// Whether there is a profile already.
    func hasProfile() throws(ClientStoreError) -> Bool { try self.store.settings.liveProfile() != nil }

    /// The profile of this identity and its secret. They are drawn the first time they are asked for.
    func profile() throws(ClientStoreError) -> (id: UUIDText, secret: SecretBytes) {
        if let kept = try self.store.settings.liveProfile() { return try self.profile(sealed: kept) }
        let (id, secret) = (UUIDText.random(), SecretBytes(Sodium.random(LiveLimits.secretBytes)))
        try self.set(profile: id, secret: secret)
        return (id, secret)
    }

    func profile(sealed: String) throws(ClientStoreError) -> (id: UUIDText, secret: SecretBytes) {
        guard let text = Base64.decode(sealed).flatMap({ self.seal.open($0, place: Self.profilePlace) }),
            text.count > UUIDText.textLength, let id = UUIDText(ascii: text.prefix(UUIDText.textLength))
        else { throw .failed("the profile of live conversations is of another identity") }
        return (id, SecretBytes(Array(text.dropFirst(UUIDText.textLength))))
    }

    /// Replaces the secret of our profile.
    func set(profile id: UUIDText, secret: SecretBytes) throws(ClientStoreError) {
        try self.store.write { try self.set(profile: id, secret: secret, in: $0) }
    }

    func set(profile id: UUIDText, secret: SecretBytes, in database: Database) throws {
        let sealed = self.seal.seal(Array("\(id)".utf8) + secret.bytes, place: Self.profilePlace)
        let text = String(decoding: Base64.encode(sealed), as: UTF8.self)
        try SettingsTable.set("liveProfile", to: text, in: database)
        try SettingsTable.set("nextProfileSecret", to: nil, in: database)
        try SettingsTable.set(Self.absentSetting, to: nil, in: database)
    }

    /// The next secret of our profile, while the renewal is under way.
    func nextProfileSecret() throws(ClientStoreError) -> SecretBytes? {
        try self.store.read { try SettingsTable.setting("nextProfileSecret", in: $0) }
            .flatMap { Base64.decode($0) }
            .flatMap { self.seal.open($0, place: Self.nextSecretPlace) }
            .map { SecretBytes($0) }
    }

    /// The stored next secret. If there is none, stores the given one.
    func nextProfileSecret(orKeep secret: SecretBytes) throws(ClientStoreError) -> SecretBytes {
        if let kept = try self.nextProfileSecret() { return kept }
        let sealed = self.seal.seal(secret.bytes, place: Self.nextSecretPlace)
        let text = String(decoding: Base64.encode(sealed), as: UTF8.self)
        try self.store.write { try SettingsTable.set("nextProfileSecret", to: text, in: $0) }
        return secret
    }

    private static let profilePlace = "live profile"
    private static let nextSecretPlace = "next profile secret"

    // MARK: Conversations of our own

    package func conversations() throws(ClientStoreError) -> [OwnConversation] {
        try self.store.read { try self.conversations(in: $0) }
    }

    func conversations(in database: Database) throws -> [OwnConversation] {
        try Row.fetchAll(database, sql: "SELECT * FROM live_conversations ORDER BY name").compactMap(self.conversation)
    }

    package func conversation(named name: String) throws(ClientStoreError) -> OwnConversation? {
        try self.store.read { database in
            try Row.fetchOne(database, sql: "SELECT * FROM live_conversations WHERE name = ?", arguments: [name])
                .flatMap(self.conversation)
        }
    }

    func conversation(_ id: ConversationID) throws(ClientStoreError) -> OwnConversation? {
        try self.store.read { try self.conversation(id, in: $0) }
    }

    func conversation(_ id: ConversationID, in database: Database) throws -> OwnConversation? {
        try Row.fetchOne(database, sql: "SELECT * FROM live_conversations WHERE id = ?", arguments: ["\(id)"])
            .flatMap(self.conversation)
    }

    private func secrets(of conversation: OwnConversation) -> [UInt8] {
        let secrets =
            conversation.keys.secret.bytes + conversation.linkSecret.bytes + Array((conversation.passcode ?? "").utf8)
        return self.seal.seal(secrets, place: Self.place(conversation.id))
    }

    package func add(_ conversation: OwnConversation, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            try self.insert(conversation, in: database)
            try self.note(conversation, at: now, in: database)
        }
    }

    func insert(_ conversation: OwnConversation, in database: Database) throws {
        try database.run(
            sql: "INSERT INTO live_conversations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                "\(conversation.id)", conversation.name, conversation.title, conversation.whisperer,
                conversation.admission.rawValue, conversation.transcriptDays, self.secrets(of: conversation),
                conversation.content.map { "\($0)" }, conversation.lastLine, conversation.generation,
                conversation.isUsed,
            ])
    }

    /// Stores the fields that the user may change. The stream stays as it is.
    func update(_ conversation: OwnConversation, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            try self.update(conversation, in: database)
            try self.use(conversation.id, in: database)
            try self.note(conversation, at: now, in: database)
        }
    }

    func update(_ conversation: OwnConversation, in database: Database) throws {
        try database.run(
            sql: """
                UPDATE live_conversations
                SET name = ?, title = ?, whisperer = ?, admission = ?, transcript_days = ?, secrets = ?
                WHERE id = ?
                """,
            arguments: [
                conversation.name, conversation.title, conversation.whisperer, conversation.admission.rawValue,
                conversation.transcriptDays, self.secrets(of: conversation), "\(conversation.id)",
            ])
    }

    /// Forgets a conversation of ours, with its keys and its listeners.
    func remove(_ id: ConversationID, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            try self.remove(id, in: database)
            try self.documents.change(.whisper, at: now, in: database) { self.forget(id, in: &$0) }
        }
    }

    func remove(_ id: ConversationID, in database: Database) throws {
        try database.run(sql: "DELETE FROM live_conversations WHERE id = ?", arguments: ["\(id)"])
        try database.run(sql: "DELETE FROM live_listeners WHERE conversation = ?", arguments: ["\(id)"])
    }

    /// Stores the stream that continues, with its newest line. Call it before that line is sent: its number must not be
    /// used twice.
    func set(content: UUIDText?, lastLine: Int, of id: ConversationID) throws(ClientStoreError) {
        try self.store.write { database in
            try database.run(
                sql: "UPDATE live_conversations SET content_id = ?, last_line = ? WHERE id = ?",
                arguments: [content.map { "\($0)" }, lastLine, "\(id)"])
        }
    }

    /// Call it before a key of the generation seals or is offered.
    func set(generation: Int, of id: ConversationID) throws(ClientStoreError) {
        try self.store.write { database in
            try database.run(
                sql: "UPDATE live_conversations SET generation = ? WHERE id = ? AND generation < ?",
                arguments: [generation, "\(id)", generation])
        }
    }

    func conversation(_ row: Row) -> OwnConversation? {
        guard let id = ConversationID(row["id"] as String), let admission = Admission(rawValue: row["admission"]),
            let secrets = self.seal.open(row["secrets"] as [UInt8], place: Self.place(id)),
            secrets.count >= LiveLimits.secretBytes + LiveLimits.linkSecretBytes
        else { return nil }
        let passcode = secrets.dropFirst(LiveLimits.secretBytes + LiveLimits.linkSecretBytes)
        return OwnConversation(
            keys: ConversationKeys(secret: SecretBytes(Array(secrets.prefix(LiveLimits.secretBytes)))),
            name: row["name"], title: row["title"], whisperer: row["whisperer"], admission: admission,
            passcode: passcode.isEmpty ? nil : String(decoding: passcode, as: UTF8.self),
            transcriptDays: row["transcript_days"],
            linkSecret: SecretBytes(
                Array(secrets.dropFirst(LiveLimits.secretBytes).prefix(LiveLimits.linkSecretBytes))),
            content: (row["content_id"] as String?).flatMap { UUIDText($0) }, lastLine: row["last_line"],
            generation: row["generation"], isUsed: row["is_used"])
    }

    private static func place(_ id: ConversationID) -> String { "live conversation \(id)" }

    // MARK: Their listeners

    func listeners(of id: ConversationID) throws(ClientStoreError) -> [KnownListener] {
        try self.store.read { try self.listeners(of: id, in: $0) }
    }

    func listeners(of id: ConversationID, in database: Database) throws -> [KnownListener] {
        try Row.fetchAll(
            database, sql: "SELECT * FROM live_listeners WHERE conversation = ?", arguments: ["\(id)"]
        ).compactMap(Self.listener)
    }

    private static func listener(_ row: Row) -> KnownListener? {
        guard let listener = PrincipalID(row["listener"] as String),
            let sign = Bytes32(row["sign_key"] as [UInt8]), let box = Bytes32(row["box_key"] as [UInt8]),
            let verdict = KnownListener.Verdict(rawValue: row["verdict"])
        else { return nil }
        return KnownListener(
            id: listener, keys: PublicKeys(sign: sign, box: box), name: row["name"], verdict: verdict,
            decidedAt: Timestamp(milliseconds: row["decided_at"]), generation: row["generation"],
            profileKey: (row["profile_key"] as [UInt8]?).flatMap { Bytes32($0) })
    }

    func set(_ listener: KnownListener, of id: ConversationID, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            let sql = "SELECT * FROM live_listeners WHERE conversation = ? AND listener = ?"
            let before = try Row.fetchOne(database, sql: sql, arguments: ["\(id)", "\(listener.id)"])
                .flatMap(Self.listener)
            guard before != listener else { return }
            let wasBlocked = before?.verdict == .blocked
            var listener = listener
            // Letting somebody in takes a block back on all devices, and nothing else does.
            if wasBlocked, listener.verdict == .removed { listener.verdict = .blocked }
            try self.put(listener, of: id, in: database)
            try self.note(listener, of: id, wasBlocked: wasBlocked, at: now, in: database)
        }
    }

    func put(_ listener: KnownListener, of id: ConversationID, in database: Database) throws {
        try database.run(
            sql: "INSERT OR REPLACE INTO live_listeners VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                "\(id)", "\(listener.id)", Array(listener.keys.sign.bytes), Array(listener.keys.box.bytes),
                listener.name, listener.verdict.rawValue, listener.decidedAt.milliseconds, listener.generation,
                listener.profileKey.map { Array($0.bytes) },
            ])
    }

    // MARK: Conversations of others

    /// The most recent first.
    package func heard() throws(ClientStoreError) -> [HeardConversation] {
        try self.store.read { try self.heard(in: $0) }
    }

    func heard(in database: Database) throws -> [HeardConversation] {
        try Row.fetchAll(database, sql: "SELECT * FROM live_listening ORDER BY listened_at DESC").compactMap { row in
            guard let id = ConversationID(row["id"] as String),
                let bytes = self.seal.open(row["link"] as [UInt8], place: Self.linkPlace(id)),
                let link = ListenLink(String(decoding: bytes, as: UTF8.self))
            else { return nil }
            return HeardConversation(
                link: link, title: row["title"], whisperer: row["whisperer"], generation: row["generation"],
                listenedAt: Timestamp(milliseconds: row["listened_at"]))
        }
    }

    func set(_ heard: HeardConversation, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            try self.put(heard, in: database)
            try self.note(heard, at: now, in: database)
        }
    }

    func put(_ heard: HeardConversation, in database: Database) throws {
        let id = heard.link.conversation
        let link = self.seal.seal(Array(heard.link.text.utf8), place: Self.linkPlace(id))
        try database.run(
            sql: "INSERT OR REPLACE INTO live_listening VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [
                "\(id)", link, heard.title, heard.whisperer, heard.generation, heard.listenedAt.milliseconds,
            ])
    }

    private static func linkPlace(_ id: ConversationID) -> String { "live link \(id)" }
}
