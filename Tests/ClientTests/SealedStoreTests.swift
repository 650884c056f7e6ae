import Contract
import Foundation
import SQLite
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Stores and profiles that are sealed with a key, and how they come to be.
@Suite struct SealedStoreTests {
    let folder: TemporaryFolder
    let key = StoreKey(.raw, [UInt8](repeating: 1, count: 32))!
    let otherKey = StoreKey(.raw, [UInt8](repeating: 2, count: 32))!

    init() throws { self.folder = try TemporaryFolder() }

    private var path: String { self.folder.path + "/it's a store?%&.sqlite" }
    private var profile: String { self.folder.path + "/profile" }

    private func message(_ text: String) -> Message {
        Message(
            id: .random(), peer: bobID, groupID: nil, direction: .outgoing(.queued), content: .text(text),
            time: Timestamp(milliseconds: 5))
    }

    /// The texts that a store has.
    private func texts(_ store: ClientStore) throws -> [String] {
        try store.read { try String.fetchAll($0, sql: "SELECT body FROM messages ORDER BY number") }
    }

    /// The files of a folder that have the text.
    private func files(with text: String, in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
            FileManager.default.contents(atPath: folder + "/" + name)?.range(of: Data(text.utf8)) != nil
        }
    }

    @Test func aStoreOpensWithItsKeyAlone() throws {
        do {
            let store = try ClientStore(path: self.path, key: self.key)
            try store.messages.queue(self.message("quince"))
            #expect(try self.files(with: "quince", in: self.folder.path) == [])
            store.close()
        }
        #expect(throws: ClientStoreError.wrongKey) { try ClientStore(path: self.path, key: self.otherKey) }
        #expect(throws: ClientStoreError.wrongKey) { try ClientStore(path: self.path) }
        #expect(throws: ClientStoreError.wrongKey) { try ClientStore.migrations(path: self.path, key: self.otherKey) }
        #expect(throws: ClientStoreError.wrongKey) {
            try ClientStore(path: self.path, key: StoreKey(.passphrase, Array(repeating: 1, count: 32)))
        }
        #expect(try ClientStore.migrations(path: self.path, key: self.key) == .none)
        #expect(try self.texts(try ClientStore(path: self.path, key: self.key)) == ["quince"])
    }

    @Test func whatIsNoSealedStoreIsToldApart() throws {
        try ClientStore(path: self.path).close()
        #expect(throws: ClientStoreError.notADatabase) { try ClientStore(path: self.path, key: self.key) }
        let text = self.folder.path + "/text"
        try Data(repeating: 0x41, count: 5_000).write(to: URL(filePath: text))
        #expect(throws: ClientStoreError.notADatabase) { try ClientStore(path: text, key: self.key) }
        #expect(throws: ClientStoreError.notADatabase) { try ClientStore(path: text) }
        #expect(try Data(contentsOf: URL(filePath: text)) == Data(repeating: 0x41, count: 5_000))
        let sealed = self.folder.path + "/sealed"
        let store = try ClientStore(path: sealed, key: self.key)
        try store.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('9999')") }
        store.close()
        #expect(throws: ClientStoreError.tooNew) { try ClientStore(path: sealed, key: self.key) }
        #expect(try ClientStore.migrations(path: sealed, key: self.key) == .tooNew)
    }

    @Test func keysHaveTheirLengths() {
        for count in [0, 31, 33] { #expect(StoreKey(.raw, [UInt8](repeating: 1, count: count)) == nil) }
        for count in [0, 1_025] { #expect(StoreKey(.passphrase, [UInt8](repeating: 1, count: count)) == nil) }
        for count in [1, 1_024] { #expect(StoreKey(.passphrase, [UInt8](repeating: 1, count: count)) != nil) }
    }

    @Test func aPassphraseOpensWhatItSealed() throws {
        try ClientStore(path: self.path, key: StoreKey(.passphrase, Array("correct horse".utf8))).close()
        try ClientStore(path: self.path, key: StoreKey(.passphrase, Array("correct horse".utf8))).close()
        #expect(throws: ClientStoreError.wrongKey) {
            try ClientStore(path: self.path, key: StoreKey(.passphrase, Array("correct house".utf8)))
        }
    }

    /// A commit that the disk has not seen is no commit.
    @Test(arguments: [false, true]) func commitsWaitForTheDisk(isSealed: Bool) throws {
        let store = try ClientStore(path: self.path, key: isSealed ? self.key : nil)
        #expect(try store.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
        #expect(try store.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
    }

    @Test(arguments: [false, true]) func aCopyIsKeptBeforeAMigration(isSealed: Bool) throws {
        let key = isSealed ? self.key : nil
        let store = try ClientStore(path: self.path, key: key)
        try store.messages.queue(self.message("quince"))
        try store.write {
            try $0.execute(
                sql: """
                    DELETE FROM grdb_migrations WHERE identifier = '9';
                    DROP TABLE events; DROP TABLE consumers
                    """)
        }
        store.close()
        #expect(try ClientStore.migrations(path: self.path, key: key) == .pending(1))
        let copy = ClientStore.copyBeforeMigration(of: self.path)
        #expect(!FileManager.default.fileExists(atPath: copy))
        try ClientStore(path: self.path, key: key).close()
        #expect(try ClientStore.migrations(path: copy, key: key) == .pending(1))
        #expect(try self.files(with: "quince", in: self.folder.path).isEmpty == isSealed)
        #expect(try self.texts(try ClientStore(path: copy, key: key)) == ["quince"])
    }

    // MARK: Profiles

    @Test func aSealedProfileHasNoWords() throws {
        do {
            let made = try Profile.create(at: self.profile, mnemonic: aliceWords, server: .local, key: self.key)
            #expect(made.keys.publicKeys == IdentityKeys(aliceWords).publicKeys)
            #expect(throws: ProfileError.exists) {
                try Profile.create(at: self.profile, mnemonic: bobWords, server: .local)
            }
            made.close()
        }
        #expect(Profile.exists(at: self.profile))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.profile).sorted() == ["lock", "whisper.sqlite"])
        #expect(throws: ProfileError.wrongKey) { try Profile.open(at: self.profile) }
        #expect(throws: ProfileError.wrongKey) { try Profile.open(at: self.profile, key: self.otherKey) }
        let again = try Profile.open(at: self.profile, key: self.key)
        let keys = IdentityKeys(aliceWords)
        #expect(again.keys.publicKeys == keys.publicKeys && again.keys.stored.bytes == keys.stored.bytes)
        #expect(again.keys.contactsKey.bytes == keys.contactsKey.bytes)
        #expect(again.keys.storeKey.bytes == keys.storeKey.bytes)
        #expect(try again.store.settings.server() == .local)
    }

    private func plainProfile() throws -> UUIDText {
        let plain = try Profile.create(at: self.profile, mnemonic: aliceWords, server: .local)
        defer { plain.close() }
        try plain.store.messages.queue(self.message("quince"))
        return try plain.store.settings.deviceID()
    }

    @Test func aPlainProfileIsSealedOnceAndErased() throws {
        let device = try self.plainProfile()
        #expect(try self.files(with: "quince", in: self.profile) != [])
        // The old files can be read through another name, until they are erased.
        let (store, phrase) = (self.folder.path + "/old-store", self.folder.path + "/old-phrase")
        try FileManager.default.linkItem(atPath: self.profile + "/whisper.sqlite", toPath: store)
        try FileManager.default.linkItem(atPath: self.profile + "/phrase", toPath: phrase)
        for _ in 0..<2 {
            let sealed = try Profile.open(at: self.profile, key: self.key)
            #expect(sealed.keys.stored.bytes == IdentityKeys(aliceWords).stored.bytes)
            #expect(try self.texts(sealed.store) == ["quince"])
            #expect(try sealed.store.settings.deviceID() == device)
            sealed.close()
        }
        for file in [store, phrase] {
            #expect(FileManager.default.contents(atPath: file)?.contains { $0 != 0 } == false, "\(file)")
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.profile).sorted() == ["lock", "whisper.sqlite"])
    }

    /// A crash between two steps of sealing: the next one that opens goes on.
    @Test func sealingGoesOnAfterACrash() throws {
        _ = try self.plainProfile()
        let path = self.profile + "/whisper.sqlite"
        let words = FileManager.default.contents(atPath: self.profile + "/phrase")!
        // Before the sealed store has its name: half a copy is in the way.
        for suffix in [".new", ".new-wal", ".plain"] { try Data([1, 2, 3]).write(to: URL(filePath: path + suffix)) }
        try Profile.open(at: self.profile, key: self.key).close()
        // After that, with nothing erased.
        try words.write(to: URL(filePath: self.profile + "/phrase"))
        try Data([1, 2, 3]).write(to: URL(filePath: path + ".plain"))
        let sealed = try Profile.open(at: self.profile, key: self.key)
        #expect(try self.texts(sealed.store) == ["quince"])
        sealed.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.profile).sorted() == ["lock", "whisper.sqlite"])
    }

    @Test func rekeyingLeavesNothingUnderTheOldKey() throws {
        let device = try self.plainProfile()
        try Profile.rekey(at: self.profile, from: nil, to: self.key)
        let path = self.profile + "/whisper.sqlite"
        let before = FileManager.default.contents(atPath: path)!
        try Data(before).write(to: URL(filePath: path + ".before"))
        #expect(throws: ProfileError.wrongKey) {
            try Profile.rekey(at: self.profile, from: self.otherKey, to: self.key)
        }
        try Profile.rekey(at: self.profile, from: self.key, to: self.otherKey)
        #expect(throws: ProfileError.wrongKey) { try Profile.open(at: self.profile, key: self.key) }
        let profile = try Profile.open(at: self.profile, key: self.otherKey)
        #expect(try self.texts(profile.store) == ["quince"])
        #expect(try profile.store.settings.deviceID() == device)
        profile.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.profile).sorted() == ["lock", "whisper.sqlite"])
        let after = FileManager.default.contents(atPath: path)!
        #expect(after[48..<64] != before[48..<64], "the file id")
    }

    @Test(arguments: [false, true]) func anExportIsAnotherDevices(isSealed: Bool) throws {
        let file = self.folder.path + "/export"
        let other = self.folder.path + "/other"
        let device = try self.plainProfile()
        do {
            let profile = try Profile.open(at: self.profile, key: isSealed ? self.key : nil)
            try profile.store.settings.set(
                whisperID: carolID, session: StoredSession(token: "t", expiresAt: Timestamp(milliseconds: 9)))
            #expect(try profile.store.set(push: .set("the phone's"), voip: .keep))
            #expect(try profile.store.owedTokens()?.wakeSecret.new != nil)
            try profile.export(to: file, key: self.otherKey)
            #expect(throws: ProfileError.exists) { try profile.export(to: file, key: self.otherKey) }
            #expect(try profile.store.settings.session()?.token == "t")
            profile.close()
        }
        #expect(try self.files(with: "quince", in: self.folder.path) == [])
        func importing(_ file: String, _ key: StoreKey, to folder: String) throws {
            try Profile.importing(file, to: folder, server: .local, key: key)
        }
        #expect(throws: ProfileError.wrongKey) { try importing(file, self.key, to: other) }
        #expect(throws: ProfileError.exists) { try importing(file, self.otherKey, to: self.profile) }
        #expect(!Profile.exists(at: other))
        try importing(file, self.otherKey, to: other)
        let profile = try Profile.open(at: other, key: self.otherKey)
        #expect(profile.keys.stored.bytes == IdentityKeys(aliceWords).stored.bytes)
        #expect(try self.texts(profile.store) == ["quince"])
        #expect(try profile.store.settings.session() == nil)
        #expect(try profile.store.settings.whisperID() == carolID)
        #expect(try profile.store.settings.deviceID() != device)
        // Another device has its own tokens, and another secret.
        #expect(try profile.store.owedTokens() == nil)
        #expect(try profile.store.read { try SettingsTable.setting("wakeSecret", in: $0) } == nil)
        profile.close()
        // A file that is damaged anywhere makes no profile.
        let bytes = FileManager.default.contents(atPath: file)!
        for place in stride(from: 128 + 2_000, to: bytes.count, by: 4_136) {
            var damaged = bytes
            damaged[place] ^= 1
            try damaged.write(to: URL(filePath: file + "-damaged"))
            #expect(throws: ProfileError.self, "byte \(place)") {
                try importing(file + "-damaged", self.otherKey, to: self.folder.path + "/third")
            }
        }
        #expect(!Profile.exists(at: self.folder.path + "/third"))
    }

    /// Nothing that may be somebody's is replaced.
    @Test func damagedAndHalfProfilesStay() throws {
        try Profile.create(at: self.profile, mnemonic: aliceWords, server: .local, key: self.key).close()
        let path = self.profile + "/whisper.sqlite"
        var bytes = FileManager.default.contents(atPath: path)!
        bytes[0] ^= 1
        try bytes.write(to: URL(filePath: path))
        for key in [nil, self.key] {
            #expect(throws: ProfileError.notADatabase) { try Profile.open(at: self.profile, key: key) }
            #expect(throws: ProfileError.notADatabase) { try Profile.migrations(at: self.profile, key: key) }
            #expect(throws: ProfileError.notADatabase) {
                try Profile.create(at: self.profile, mnemonic: bobWords, server: .local, key: key)
            }
        }
        #expect(FileManager.default.contents(atPath: path) == bytes)
        // The phrase of a plain profile is lost.
        let half = self.folder.path + "/half"
        try Profile.create(at: half, mnemonic: aliceWords, server: .local).close()
        try FileManager.default.removeItem(atPath: half + "/phrase")
        let store = FileManager.default.contents(atPath: half + "/whisper.sqlite")
        let lost = ProfileError.damaged("whisper.sqlite is there without phrase")
        for key in [nil, self.key] {
            #expect(throws: lost) { try Profile.open(at: half, key: key) }
            #expect(throws: lost) { try Profile.create(at: half, mnemonic: bobWords, server: .local, key: key) }
        }
        #expect(FileManager.default.contents(atPath: half + "/whisper.sqlite") == store)
    }

    /// Contacts, history and the address of the server would be gone without a word.
    @Test(
        arguments: [false, true],
        [
            ("empty", "whisper.sqlite is empty"), ("missing", "phrase is there without whisper.sqlite"),
            ("folder", "whisper.sqlite cannot be read: it is no file"),
            ("pipe", "whisper.sqlite cannot be read: it is no file"),
        ])
    func aLostStoreIsNotBegunAnew(isSealed: Bool, loss: (kind: String, words: String)) throws {
        // Nothing says of a sealed store that it was ever there.
        guard !isSealed || loss.kind != "missing" else { return }
        let key = isSealed ? self.key : nil
        try Profile.create(at: self.profile, mnemonic: aliceWords, server: .local, key: key).close()
        let path = self.profile + "/whisper.sqlite"
        try FileManager.default.removeItem(atPath: path)
        switch loss.kind {
        case "empty": #expect(FileManager.default.createFile(atPath: path, contents: nil))
        case "folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case "pipe": #expect(mkfifo(path, 0o600) == 0)
        default: break
        }
        let before = try FileManager.default.contentsOfDirectory(atPath: self.profile).sorted()
        let damage = ProfileError.damaged(loss.words)
        #expect(throws: damage) { try Profile.open(at: self.profile, key: key) }
        #expect(throws: damage) { try Profile.migrations(at: self.profile, key: key) }
        #expect(throws: damage) { try Profile.stepDown(at: self.profile, key: key) }
        #expect(throws: damage) {
            try Profile.create(at: self.profile, mnemonic: bobWords, server: .local, key: key)
        }
        let configuration = CoreConfiguration(folder: self.profile, server: "ws://127.0.0.1:1")
        let core = #expect(throws: CoreError.self) {
            try Core.open(configuration, key: isSealed ? [UInt8](repeating: 1, count: 32) : nil)
        }
        #expect(core?.code == .damaged && core?.message.contains(loss.words) == true && core?.isRetryable == false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.profile).sorted() == before)
        let size = try FileManager.default.attributesOfItem(atPath: self.profile)[.size]
        #expect(loss.kind != "empty" || FileManager.default.contents(atPath: path)?.isEmpty == true, "\(size ?? 0)")
    }

    /// A crash while a profile is made leaves none, or all of it.
    @Test func aProfileIsMadeWholeOrNotAtAll() throws {
        try Profile.create(at: self.profile, mnemonic: aliceWords, server: .local).close()
        let (phrase, store) = (self.profile + "/phrase", self.profile + "/whisper.sqlite")
        try FileManager.default.moveItem(atPath: phrase, toPath: phrase + ".new")
        try Profile.open(at: self.profile).close()
        #expect(FileManager.default.fileExists(atPath: phrase))
        // The store had no name yet.
        try FileManager.default.moveItem(atPath: phrase, toPath: phrase + ".new")
        try FileManager.default.moveItem(atPath: store, toPath: store + ".new")
        #expect(throws: ProfileError.missing) { try Profile.open(at: self.profile) }
        let made = try Profile.create(at: self.profile, mnemonic: bobWords, server: .local)
        #expect(made.keys.publicKeys == IdentityKeys(bobWords).publicKeys)
        made.close()
    }

    /// Other users of the machine may look into a folder that the host has made.
    @Test(arguments: [false, true]) func allThatIsWrittenIsPrivate(isSealed: Bool) throws {
        try FileManager.default.createDirectory(
            atPath: self.profile, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let key = isSealed ? self.key : nil
        func modes() throws -> [String: Int] {
            let names = try FileManager.default.contentsOfDirectory(atPath: self.profile)
            return try Dictionary(
                uniqueKeysWithValues: names.map { name in
                    let path = self.profile + "/" + name
                    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                    return (name, mode ?? 0)
                })
        }
        let profile = try Profile.create(at: self.profile, mnemonic: aliceWords, server: .local, key: key)
        try profile.store.messages.queue(self.message("quince"))
        try profile.store.keepCopy()
        try profile.export(to: self.profile + "/export", key: self.otherKey)
        let made = try modes()
        #expect(Set(made.keys).isSuperset(of: ["whisper.sqlite-wal", "whisper.sqlite-shm", "export", "lock"]))
        #expect(made.allSatisfy { $0.value == 0o600 }, "\(made)")
        profile.close()
        // An earlier release has left it open.
        for suffix in ["", "-wal", "-shm"] { chmod(self.profile + "/whisper.sqlite" + suffix, 0o644) }
        let again = try Profile.open(at: self.profile, key: key)
        #expect(try modes().allSatisfy { $0.value == 0o600 })
        again.close()
    }

    @Test func wipingNeedsNoKey() throws {
        try Profile.create(at: self.profile, mnemonic: aliceWords, server: .local, key: self.key).close()
        let kept = self.folder.path + "/kept"
        try FileManager.default.linkItem(atPath: self.profile + "/whisper.sqlite", toPath: kept)
        #expect(try Profile.wipe(at: self.profile))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.profile) == [])
        #expect(FileManager.default.contents(atPath: kept)?.contains { $0 != 0 } == false)
        #expect(!Profile.exists(at: self.profile))
        #expect(try !Profile.wipe(at: self.profile))
    }
}
