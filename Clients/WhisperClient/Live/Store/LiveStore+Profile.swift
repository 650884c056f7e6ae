package import Contract
import SQLite

/// Changes that another device's document has made here.
struct ProfileNews {
    /// Our own conversations are others now.
    var changesConversations = false
    var changesFavorites = false
    var conversations: [OwnConversation] = []
    /// Decisions about listeners.
    var listeners: [ConversationID: [KnownListener]] = [:]
    /// Values had no room in the document, and stay where they are.
    var isFull = false
    /// Values that break the rules: they were left out.
    var leftOut = 0
}

/// Rows that stand both in tables and in the documents of our profile.
extension LiveStore {
    // MARK: From the tables to the documents

    func note(_ conversation: OwnConversation, at now: Timestamp, in database: Database) throws {
        try self.documents.change(.whisper, at: now, in: database) { Self.note(conversation, in: &$0) }
    }

    private static func note(_ conversation: OwnConversation, in edit: inout ProfileEdit) {
        edit.set(["conversations", "\(conversation.id)"], to: SharedConversation(conversation))
    }

    /// - Parameter wasBlocked: only a decision about somebody who was blocked here lets them in again.
    func note(
        _ listener: KnownListener, of id: ConversationID, wasBlocked: Bool, at now: Timestamp, in database: Database
    ) throws {
        try self.documents.change(.whisper, at: now, in: database) {
            Self.note(listener, of: id, wasBlocked: wasBlocked, in: &$0)
        }
    }

    private static func note(
        _ listener: KnownListener, of id: ConversationID, wasBlocked: Bool, in edit: inout ProfileEdit
    ) {
        let place = ["\(id)", "\(listener.id)"]
        edit.set(["listeners"] + place, to: SharedListener(listener))
        if listener.verdict == .blocked { edit.include(["blocked"] + place) }
        if listener.verdict == .allowed, wasBlocked { edit.remove(["blocked"] + place) }
    }

    func note(_ heard: HeardConversation, at now: Timestamp, in database: Database) throws {
        try self.documents.change(.listen, at: now, in: database) { Self.note(heard, in: &$0) }
    }

    private static func note(_ heard: HeardConversation, in edit: inout ProfileEdit) {
        let path = ["conversations", "\(heard.link.conversation)"]
        let shared = SharedHeard(heard)
        let before = edit.contents[path]?.value.flatMap { SharedHeard($0) }
        if let before, shared.isVisit(after: before) { return }
        edit.set(path, to: shared)
    }

    func forget(_ id: ConversationID, in edit: inout ProfileEdit) {
        edit.remove(["conversations", "\(id)"])
        for section in ["listeners", "blocked"] { edit.removeAll(below: [section, "\(id)"]) }
    }

    // MARK: Stores of earlier releases

    /// A store that an earlier release has made has tables, and no documents. One that it has had for a while has changes that
    /// stand in no document.
    func noteTables(at now: Timestamp) throws(ClientStoreError) {
        let (before, isOld) = try self.store.read { database -> (String?, Bool) in
            let before = try SettingsTable.setting(ProfileTable.beforeSetting, in: database)
            guard before == nil, try self.documents.document(.whisper, in: database) == nil else {
                return (before, false)
            }
            return (nil, try !self.conversations(in: database).isEmpty || !self.heard(in: database).isEmpty)
        }
        guard before != nil || isOld else { return }
        let profile = try self.hasProfile() ? try self.profile().id : nil
        try self.store.write { database in
            if isOld {
                try self.noteAll(in: database)
            } else if try before.flatMap({ $0.isEmpty ? nil : try self.profile(sealed: $0).id }) == profile {
                try self.noteChanges(at: now, in: database)
            } else {
                try self.begin(in: database)
            }
            try SettingsTable.set(ProfileTable.beforeSetting, to: nil, in: database)
        }
    }

    /// Nobody knows when these values were chosen, so they yield to each choice; decisions and visits have their times.
    private func noteAll(in database: Database) throws {
        let own = try self.conversations(in: database).map { ($0, try self.listeners(of: $0.id, in: database)) }
        try self.documents.change(.whisper, at: Self.drawnAt, in: database) { edit in
            for (conversation, listeners) in own {
                edit.time = Self.drawnAt
                Self.note(conversation, in: &edit)
                for listener in listeners {
                    edit.time = listener.decidedAt
                    Self.note(listener, of: conversation.id, wasBlocked: false, in: &edit)
                }
            }
        }
        let heard = try self.heard(in: database)
        try self.documents.change(.listen, at: Self.drawnAt, in: database) { edit in
            for heard in heard {
                edit.time = heard.listenedAt
                Self.note(heard, in: &edit)
            }
        }
    }

    /// The earlier release has changed the values that differ from the documents. Everything else keeps its stamp.
    private func noteChanges(at now: Timestamp, in database: Database) throws {
        let contents = try self.documents.contents(.whisper, in: database)
        var own: [(OwnConversation, [(listener: KnownListener, wasBlocked: Bool)])] = []
        for conversation in try self.conversations(in: database) {
            let listeners = try self.listeners(of: conversation.id, in: database).map { listener in
                let place = ["\(conversation.id)", "\(listener.id)"]
                var known = listener
                let isBlocked = contents[["blocked"] + place]?.value != nil
                if isBlocked, known.verdict == .removed { known.verdict = .blocked }
                // The earlier release knew no profiles of listeners.
                let shared = contents[["listeners"] + place]?.value.flatMap { SharedListener($0) }
                known.profileKey = shared?.listener(known.id, isBlocked: isBlocked)?.profileKey
                if known != listener { try self.put(known, of: conversation.id, in: database) }
                return (known, isBlocked)
            }
            own.append((conversation, listeners))
        }
        let isWhole = own.count < LiveLimits.conversationsPerProfileMax
        let kept = Set(own.map(\.0.id))
        // A conversation that had no room in the table was not deleted.
        let deleted = contents.values(below: ["conversations"]).compactMap { name, value in
            isWhole ? ConversationID(name).flatMap { SharedConversation(value)?.conversation($0)?.id } : nil
        }
        try self.documents.change(.whisper, at: now, in: database) { edit in
            for (conversation, listeners) in own {
                Self.note(conversation, in: &edit)
                for (listener, wasBlocked) in listeners {
                    Self.note(listener, of: conversation.id, wasBlocked: wasBlocked, in: &edit)
                }
            }
            for id in deleted where !kept.contains(id) { self.forget(id, in: &edit) }
        }
        let heard = try self.heard(in: database)
        try self.documents.change(.listen, at: now, in: database) { edit in
            for heard in heard { Self.note(heard, in: &edit) }
        }
    }

    // MARK: The default conversation

    /// The conversation in which the person whispers without choosing one.
    package func defaultConversation() throws(ClientStoreError) -> OwnConversation? {
        try self.store.read { try self.conversation(of: "default", in: $0) }
    }

    /// The one that was whispered in last.
    package func lastConversation() throws(ClientStoreError) -> ConversationID? {
        try self.store.read { try self.conversation(of: "last", in: $0)?.id }
    }

    private func conversation(of field: String, in database: Database) throws -> OwnConversation? {
        guard let value = try self.documents.contents(.whisper, in: database)[["fields", field]]?.value,
            let id = ProfileEdit.text(value).flatMap({ ConversationID($0) })
        else { return nil }
        return try self.conversation(id, in: database)
    }

    /// The default conversation. Without one it is the last, the first of all, or a new one.
    func drawDefault(in database: Database) throws -> OwnConversation {
        if let kept = try self.conversation(of: "default", in: database) { return kept }
        let own: OwnConversation
        if let known = try self.conversation(of: "last", in: database) ?? self.conversations(in: database).first {
            own = known
        } else {
            let name = try self.userName(in: database) ?? SettingsTable.whisperID(in: database).map { "\($0)" }
            own = OwnConversation(drawn: Self.defaultName, of: name ?? Self.defaultName)
            try self.insert(own, in: database)
            try self.note(own, at: Self.drawnAt, in: database)
        }
        try self.documents.change(.whisper, at: Self.drawnAt, in: database) {
            $0.set(["fields", "default"], to: "\(own.id)")
        }
        return own
    }

    private static let defaultName = "default"
    /// A value that nobody has chosen yields to each choice.
    private static let drawnAt = Timestamp(milliseconds: 0)

    func drawDefault() throws(ClientStoreError) -> OwnConversation {
        try self.store.write { try self.drawDefault(in: $0) }
    }

    func setDefault(_ id: ConversationID, at now: Timestamp) throws(ClientStoreError) {
        try self.change(.whisper, at: now) { $0.set(["fields", "default"], to: "\(id)") }
    }

    /// The person whispers in a conversation.
    func use(_ id: ConversationID, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            try self.use(id, in: database)
            try self.documents.change(.whisper, at: now, in: database) { $0.set(["fields", "last"], to: "\(id)") }
        }
    }

    func use(_ id: ConversationID, in database: Database) throws {
        try database.run(sql: "UPDATE live_conversations SET is_used = 1 WHERE id = ?", arguments: ["\(id)"])
    }

    // MARK: The person and the favorites

    private func userName(in database: Database) throws -> String? {
        try self.documents.contents(.user, in: database)[["fields", "username"]]?.value.flatMap(ProfileEdit.text)
    }

    package func userName() throws(ClientStoreError) -> String? { try self.store.read { try self.userName(in: $0) } }

    package func deviceName(_ id: WhisperID) throws(ClientStoreError) -> String? {
        try self.contents(.user)[["devices", "\(id)"]]?.value.flatMap { SharedDevice($0) }?.name
    }

    package func favorites() throws(ClientStoreError) -> [(id: UUIDText, favorite: Favorite)] {
        try self.contents(.favorites).values(below: ["favorites"]).compactMap { name, value in
            guard let id = UUIDText(name), let favorite = Favorite(value) else { return nil }
            return (id, favorite)
        }.sorted { ($0.favorite.place, "\($0.id)") < ($1.favorite.place, "\($1.id)") }
    }

    private func contents(_ name: ProfileDocumentName) throws(ClientStoreError) -> ProfileContents {
        try self.store.read { try self.documents.contents(name, in: $0) }
    }

    func change(
        _ name: ProfileDocumentName, at now: Timestamp, _ change: (inout ProfileEdit) -> Void
    ) throws(ClientStoreError) {
        try self.store.write { try self.documents.change(name, at: now, in: $0, change) }
    }

    // MARK: Another profile

    /// A conversation that was never whispered in here, and in which nobody stands: another profile may take its place.
    private func isUntouched(_ own: OwnConversation, in database: Database) throws -> Bool {
        try !own.isUsed && self.listeners(of: own.id, in: database).isEmpty
    }

    /// Whether there are conversations that another profile must not replace.
    func isInUse() throws(ClientStoreError) -> Bool {
        try self.store.read { database in
            try self.conversations(in: database).contains { try !self.isUntouched($0, in: database) }
        }
    }

    /// Takes the place of our profile. Untouched conversations are forgotten; what else is here is owed to the new one.
    func join(_ id: UUIDText, secret: SecretBytes) throws(ClientStoreError) {
        let before = try self.hasProfile() ? try self.profile().id : nil
        try self.store.write { database in
            try self.set(profile: id, secret: secret, in: database)
            guard before != id else { return }
            for own in try self.conversations(in: database) where try self.isUntouched(own, in: database) {
                try self.remove(own.id, in: database)
            }
            try self.begin(in: database)
        }
    }

    /// Gives our profile up, with its conversations, and draws another.
    func leaveProfile() throws(ClientStoreError) {
        try self.store.write { database in
            for own in try self.conversations(in: database) { try self.remove(own.id, in: database) }
            let secret = SecretBytes(Sodium.random(LiveLimits.secretBytes))
            try self.set(profile: .random(), secret: secret, in: database)
            try self.begin(in: database)
        }
    }

    private func begin(in database: Database) throws {
        for name in [Self.sharedSetting, Self.absentSetting] { try SettingsTable.set(name, to: nil, in: database) }
        try self.documents.forget(.whisper, in: database)
        try self.noteAll(in: database)
        try self.forgetSeen(in: database)
        try self.documents.move(in: database)
    }

    /// Whether the person wants other devices to have what is here: shared by a verb, or with a second member.
    package func isProfileShared() throws(ClientStoreError) -> Bool {
        try self.store.read { try SettingsTable.setting(Self.sharedSetting, in: $0) } != nil
    }

    /// - Parameter isFirst: this device shares it. The others get its default conversation: else each would draw one.
    func setProfileShared(isFirst: Bool = false) throws(ClientStoreError) {
        try self.store.write { database in
            try SettingsTable.set(Self.sharedSetting, to: "yes", in: database)
            if isFirst, try ClientStore.preferences(in: database).fillsProfile {
                _ = try self.drawDefault(in: database)
            }
        }
    }

    private static let sharedSetting = "profileShared"

    /// The server does not know our profile, and only this device could make it: nobody has its secret.
    func isProfileAbsent() throws(ClientStoreError) -> Bool {
        try self.store.read { try SettingsTable.setting(Self.absentSetting, in: $0) } == "yes"
    }

    /// A profile that the server has known is never absent again: an older answer may come later.
    func setProfileAbsent(_ isAbsent: Bool) throws(ClientStoreError) {
        let (known, wanted) = (
            try self.store.read { try SettingsTable.setting(Self.absentSetting, in: $0) }, isAbsent ? "yes" : "known"
        )
        guard known != "known", known != wanted else { return }
        try self.store.write { try SettingsTable.set(Self.absentSetting, to: wanted, in: $0) }
    }

    static let absentSetting = "profileAbsent"

    // MARK: Documents of the server

    package func owedDocuments() throws(ClientStoreError) -> [ProfileDocumentName: Int64] {
        try self.store.read { try self.documents.owed(in: $0) }
    }

    /// The server's version that is merged here; 0 if none is.
    func mergedVersion(_ name: ProfileDocumentName) throws(ClientStoreError) -> Int64 {
        try self.store.read { try self.documents.document(name, in: $0)?.version ?? 0 }
    }

    func documentBytes(_ name: ProfileDocumentName) throws(ClientStoreError) -> Int {
        try self.store.read { try self.documents.bytes(of: name, in: $0) }
    }

    /// Whether people are to be told that a document is full: not more often than `toldFullEvery`.
    func tellsFull(_ name: ProfileDocumentName, at now: Timestamp) throws(ClientStoreError) -> Bool {
        try self.store.write { database in
            let setting = "profileFull:\(name.rawValue)"
            let told = try SettingsTable.setting(setting, in: database).flatMap { Int64($0) }
            if let told, Timestamp(milliseconds: told) + ProfileLimits.toldFullEvery > now { return false }
            try SettingsTable.set(setting, to: "\(now.milliseconds)", in: database)
            return true
        }
    }

    /// The document as it is to be written: the part for which it has room.
    func documentToWrite(
        _ name: ProfileDocumentName, at now: Timestamp, halvings: Int = 0
    ) throws(ClientStoreError) -> (document: ProfileTable.Document, isFull: Bool)? {
        try self.store.write { database in
            guard var document = try self.documents.document(name, in: database) else { return nil }
            let device = ProfileRegister.device(of: try SettingsTable.whisperID(in: database))
            // Changes from before the first login.
            for (path, register) in document.contents.registers() where register.device.isEmpty {
                document.contents[path]?.device = device
            }
            ProfileMerge.bound(&document.contents, name, at: now)
            try self.documents.set(document, as: name, in: database)
            let shared = ProfileMerge.shared(document.contents, name, halvings: halvings)
            document.contents = shared.contents
            return (document, shared.isFull)
        }
    }

    func written(
        _ name: ProfileDocumentName, changes: Int64, as version: Int64
    ) throws(ClientStoreError) {
        try self.store.write { try self.documents.written(changes, of: name, as: version, in: $0) }
    }

    /// Merges a document of the server into what is here.
    func take(
        _ remote: ProfileContents, as name: ProfileDocumentName, version: Int64, at now: Timestamp, halvings: Int = 0
    ) throws(ClientStoreError) -> ProfileNews {
        try self.store.write { database in
            var document = try self.documents.document(name, in: database) ?? ProfileTable.Document()
            let before = document.contents
            var merged = ProfileMerge.merged(before, remote)
            var news = ProfileNews()
            ProfileMerge.bound(&merged, name, at: now)
            let changed = merged.registers().filter { before[$0.path] != $0.register }.map(\.path)
            let device = ProfileRegister.device(of: try SettingsTable.whisperID(in: database))
            var edit = ProfileEdit(merged, at: now, by: device)
            switch name {
            case .whisper: try self.apply(whisper: changed, &edit, &news, in: database)
            case .listen: try self.apply(listen: changed, merged, &news, in: database)
            case .favorites: news.changesFavorites = !changed.isEmpty
            case .user, .settings: break
            }
            let shared = ProfileMerge.shared(edit.contents, name, halvings: halvings)
            news.isFull = shared.isFull
            let isOwed = ProfileMerge.owes(shared.contents, to: remote)
            document = ProfileTable.Document(
                contents: edit.contents, version: version, changes: isOwed ? max(document.changes, 1) : 0)
            try self.documents.set(document, as: name, in: database)
            return news
        }
    }

    private func apply(
        whisper changed: [[String]], _ edit: inout ProfileEdit, _ news: inout ProfileNews, in database: Database
    ) throws {
        var places: Set<[String]> = []
        var conversations: [OwnConversation] = []
        for path in changed {
            switch path.first {
            case "conversations" where path.count == 2:
                guard let id = ConversationID(path[1]) else { news.leftOut += 1; continue }
                guard let value = edit.contents[path]?.value else {
                    try self.remove(id, in: database)
                    news.changesConversations = true
                    continue
                }
                guard let own = SharedConversation(value)?.conversation(id) else { news.leftOut += 1; continue }
                conversations.append(own)
            case "listeners" where path.count == 3, "blocked" where path.count == 3:
                places.insert(Array(path.dropFirst()))
            case "fields": news.changesConversations = true
            default: break
            }
        }
        news.conversations = conversations
        try self.put(conversations, &edit, &news, in: database)
        // A conversation that was not here before comes with all its listeners.
        for own in conversations {
            for (path, _) in edit.contents.registers(below: ["listeners", "\(own.id)"]) where path.count == 3 {
                places.insert(Array(path.dropFirst()))
            }
        }
        for place in places { try self.apply(listener: place, edit.contents, &news, in: database) }
    }

    private func put(
        _ conversations: [OwnConversation], _ edit: inout ProfileEdit, _ news: inout ProfileNews, in database: Database
    ) throws {
        // Names that change places meet nowhere.
        for own in conversations {
            try database.run(
                sql: "UPDATE live_conversations SET name = id WHERE id = ?", arguments: ["\(own.id)"])
        }
        for var own in conversations.sorted(by: { "\($0.id)" < "\($1.id)" }) {
            let sql = "SELECT * FROM live_conversations WHERE name = ? AND id <> ?"
            let other = try Row.fetchOne(database, sql: sql, arguments: [own.name, "\(own.id)"])
                .flatMap(self.conversation)
            if var other {
                // Two devices have chosen one name: each renames the same one of the two.
                if "\(other.id)" < "\(own.id)" {
                    own.name = try self.freeName(like: own.name, in: database)
                    edit.set(["conversations", "\(own.id)"], to: SharedConversation(own))
                } else {
                    other.name = try self.freeName(like: own.name, in: database)
                    try self.update(other, in: database)
                    edit.set(["conversations", "\(other.id)"], to: SharedConversation(other))
                }
            }
            news.changesConversations = true
            if try self.conversation(own.id, in: database) != nil {
                try self.update(own, in: database)
            } else if try Int.fetchOne(database, sql: "SELECT count(*) FROM live_conversations") ?? 0
                < LiveLimits.conversationsPerProfileMax
            {
                try self.insert(own, in: database)
            } else {
                news.leftOut += 1
            }
        }
    }

    /// - Returns: a name with a number that no conversation here has.
    private func freeName(like name: String, in database: Database) throws -> String {
        let beginning = String(String.UnicodeScalarView(name.unicodeScalars.prefix(Self.numberedNameScalars)))
        let taken = try String.fetchAll(database, sql: "SELECT name FROM live_conversations").map { $0.lowercased() }
        let number = (2...).first { !taken.contains("\(beginning) \($0)".lowercased()) } ?? 2
        return "\(beginning) \(number)"
    }

    /// Room for a space and three digits.
    private static let numberedNameScalars = LiveLimits.nameScalars.upperBound - 4

    private func apply(
        listener place: [String], _ contents: ProfileContents, _ news: inout ProfileNews, in database: Database
    ) throws {
        guard let id = ConversationID(place[0]), let listener = PrincipalID(place[1]) else {
            news.leftOut += 1
            return
        }
        guard try self.conversation(id, in: database) != nil else { return }
        guard let value = contents[["listeners"] + place]?.value else { return }
        let isBlocked = contents[["blocked"] + place]?.value != nil
        guard let known = SharedListener(value)?.listener(listener, isBlocked: isBlocked) else {
            news.leftOut += 1
            return
        }
        try self.put(known, of: id, in: database)
        news.listeners[id, default: []].append(known)
    }

    private func apply(
        listen changed: [[String]], _ contents: ProfileContents, _ news: inout ProfileNews, in database: Database
    ) throws {
        let known = Dictionary(
            try self.heard(in: database).map { ($0.link.conversation, $0) }, uniquingKeysWith: { first, _ in first })
        for path in changed where path.count == 2 && path[0] == "conversations" {
            guard let register = contents[path], let value = register.value else { continue }
            guard let id = ConversationID(path[1]), var heard = SharedHeard(value)?.heard(id) else {
                news.leftOut += 1
                continue
            }
            if let most = register.most["lastListened"] { heard.listenedAt = Timestamp(milliseconds: most) }
            if let before = known[id] {
                heard.generation = before.generation
                heard.listenedAt = max(heard.listenedAt, before.listenedAt)
            }
            try self.put(heard, in: database)
            news.changesConversations = true
        }
    }
}

extension OwnConversation {
    /// Keys and link are new.
    init(
        drawn name: String, title: String? = nil, of whisperer: String, admission: Admission = .knock,
        passcode: String? = nil, transcriptDays: Int = 0, isUsed: Bool = false
    ) {
        self.init(
            keys: ConversationKeys(secret: SecretBytes(Sodium.random(LiveLimits.secretBytes))), name: name,
            title: title ?? whisperer, whisperer: whisperer, admission: admission, passcode: passcode,
            transcriptDays: transcriptDays, linkSecret: SecretBytes(Sodium.random(LiveLimits.linkSecretBytes)),
            content: nil, lastLine: 0, isUsed: isUsed)
    }
}
