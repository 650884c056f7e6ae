package import Contract
import FoundationEssentials
import Glibc
import Synchronization

/// One person's folder: the store, and a lock that keeps a second process out.
///
/// A sealed store holds the keys of the identity, and the words are nowhere. A plain one has the phrase beside it, in a file
/// that only its owner can read.
package final class Profile: Sendable {
    package let keys: IdentityKeys
    package let store: ClientStore
    package let files: TransferFiles
    /// `nil` once it is closed.
    private let lock: Mutex<Int32?>

    /// Whether a profile stands there, or what is left of one.
    package static func exists(at folder: String) -> Bool { (try? Self.isThere(at: folder)) ?? true }

    /// Whether a profile stands there that can be opened. Nothing is made where a part of one is missing: its contacts, its history
    /// and its server's address would be gone without a word.
    /// - Throws: `.damaged`, `.notADatabase`.
    package static func isThere(at folder: String) throws(ProfileError) -> Bool {
        let (store, phrase) = (Self.storeFile(folder), Self.phraseFile(folder))
        switch UnlockedFile.content(store) {
        case .sealed: return true
        case .plain:
            guard access(phrase, F_OK) == 0 || access(phrase + StoreFiles.partialSuffix, F_OK) == 0 else {
                throw .damaged("\(Self.storeName) is there without \(Self.phraseName)")
            }
            return true
        case .nothing:
            guard access(phrase, F_OK) != 0 else {
                throw .damaged("\(Self.phraseName) is there without \(Self.storeName)")
            }
            return false
        case .empty: throw .damaged("\(Self.storeName) is empty")
        case .foreign: throw .notADatabase
        case .unusable(let why): throw .damaged("\(Self.storeName) cannot be read: \(why)")
        }
    }

    /// A sealed store gets its name when it is whole.
    package static func isSealed(_ folder: String) -> Bool { UnlockedFile.isSealed(Self.storeFile(folder)) }

    /// - Returns: the kind of key that the store has; `nil` if it is not sealed.
    package static func keyKind(of folder: String) -> StoreKey.Kind? { StoreKey.kind(ofFile: Self.storeFile(folder)) }

    /// Erases the key beside a store that has another one.
    package static func eraseKey(in folder: String) throws(ProfileError) {
        let path = folder + "/" + Self.keyName
        guard StoreFiles.erase(path) else { throw .unusable("cannot erase \(path)") }
    }

    /// Makes a new profile. Never touches one that exists.
    /// - Parameters:
    ///   - passphrase: only of a sealed profile. A plain one keeps the words alone, and would come back as another identity.
    ///   - invitation: for its first login.
    ///   - key: seals it.
    package static func create(
        at folder: String, mnemonic: Mnemonic, passphrase: String = "", server: ServerAddress,
        authorityFile: String? = nil, invitation: InvitationToken? = nil, key: StoreKey? = nil
    ) throws(ProfileError) -> Profile {
        precondition(passphrase.isEmpty || key != nil && Mnemonic.isPassphrase(passphrase))
        let keys = IdentityKeys(mnemonic, passphrase: passphrase)
        return try Self.making(folder) { lock in
            let path = Self.storeFile(folder)
            // The phrase comes first, under another name, and the store when it is whole. A crash leaves no profile, or all of one.
            let phrase = Self.phraseFile(folder)
            unlink(phrase + StoreFiles.partialSuffix)
            if key == nil { try Self.write(phrase: mnemonic.phrase, to: phrase + StoreFiles.partialSuffix) }
            let partial = path + StoreFiles.partialSuffix
            StoreFiles.remove(partial)
            do {
                let store = try ClientStore(path: partial, key: key)
                defer { store.close() }
                try store.settings.set(server: server)
                try store.settings.set(authorityFile: authorityFile)
                if let invitation { try store.settings.set(invitation: invitation) }
                _ = try store.settings.deviceID()
                if key != nil { try store.settings.set(identityKeys: keys) }
                if !passphrase.isEmpty { try store.settings.setHasPassphrase() }
            }
            try StoreFiles.settle(partial, as: path)
            if key == nil { try Self.settlePhrase(folder) }
            return Profile(keys: keys, store: try ClientStore(path: path, key: key), lock: lock)
        }
    }

    /// - Parameter key: of a sealed profile. A plain one is sealed with it, once.
    package static func open(at folder: String, key: StoreKey? = nil) throws(ProfileError) -> Profile {
        guard try Self.isThere(at: folder) else { throw .missing }
        return try Self.locked(folder) { lock in
            // Another process may have changed it meanwhile.
            guard try Self.isThere(at: folder) else { throw ProfileError.missing }
            if !Self.isSealed(folder) { try Self.settlePhrase(folder) }
            guard let key else {
                guard !Self.isSealed(folder) else { throw ProfileError.wrongKey }
                let keys = IdentityKeys(try Self.readPhrase(folder))
                return Profile(keys: keys, store: try ClientStore(path: Self.storeFile(folder)), lock: lock)
            }
            if !Self.isSealed(folder) { try Self.seal(folder, key: key) }
            let store = try ClientStore(path: Self.storeFile(folder), key: key)
            guard let keys = try store.settings.identityKeys() else {
                store.close()
                throw ProfileError.unusable("the store has no keys")
            }
            try Self.eraseWhatWasPlain(folder)
            return Profile(keys: keys, store: store, lock: lock)
        }
    }

    // MARK: Sealing

    /// Replaces a plain store with a sealed one. A crash leaves either.
    private static func seal(_ folder: String, key: StoreKey) throws {
        let path = Self.storeFile(folder)
        let keys = IdentityKeys(try Self.readPhrase(folder))
        let plain = try ClientStore(path: path)
        let partial = path + StoreFiles.partialSuffix
        // Its name goes with the last connection, its bytes do not.
        let log = Glibc.open(path + "-wal", O_RDWR | O_CLOEXEC)
        defer { if log >= 0 { Glibc.close(log) } }
        do {
            defer { plain.close() }
            try plain.copy(to: partial, key: key, keys: keys, isForAnotherDevice: false)
        }
        unlink(path + StoreFiles.replacedSuffix)
        guard link(path, path + StoreFiles.replacedSuffix) == 0 else {
            throw ProfileError.unusable("cannot seal \(path)")
        }
        try StoreFiles.settle(partial, as: path)
        if log >= 0 { _ = StoreFiles.erase(descriptor: log) }
    }

    /// The plain store, its copies and the phrase, once a sealed store is there.
    private static func eraseWhatWasPlain(_ folder: String) throws {
        let path = Self.storeFile(folder)
        StoreFiles.remove(path + StoreFiles.partialSuffix)
        let copy = ClientStore.copyBeforeMigration(of: path)
        let copies = [copy, copy + StoreFiles.partialSuffix].filter { !UnlockedFile.isSealed($0) }
        let phrase = Self.phraseFile(folder)
        for file in [path + StoreFiles.replacedSuffix, phrase, phrase + StoreFiles.partialSuffix] + copies {
            guard StoreFiles.erase(file) else { throw ProfileError.unusable("cannot erase \(file)") }
        }
    }

    /// Seals a profile that nobody has open with another key, under a new file id. A crash leaves it under either key.
    package static func rekey(at folder: String, from key: StoreKey?, to newKey: StoreKey) throws(ProfileError) {
        guard key != nil else { return try Self.open(at: folder, key: newKey).close() }
        let profile = try Self.open(at: folder, key: key)
        defer { profile.close() }
        let path = Self.storeFile(folder)
        do throws(ClientStoreError) {
            let partial = path + StoreFiles.partialSuffix
            try profile.store.copy(to: partial, key: newKey, keys: profile.keys, isForAnotherDevice: false)
            profile.store.close()
            // It would open with the old key.
            StoreFiles.remove(ClientStore.copyBeforeMigration(of: path))
            try StoreFiles.settle(partial, as: path)
        } catch {
            throw ProfileError(error)
        }
    }

    /// Writes the profile to a file for another device, sealed with a key of its own. It has no session.
    /// - Throws: `.exists` if something stands there.
    package func export(to path: String, key: StoreKey) throws(ProfileError) {
        guard access(path, F_OK) != 0 else { throw .exists }
        let partial = path + StoreFiles.partialSuffix
        defer { StoreFiles.remove(partial) }
        do throws(ClientStoreError) {
            try self.store.copy(to: partial, key: key, keys: self.keys, isForAnotherDevice: true)
        } catch {
            throw ProfileError(error)
        }
        guard chmod(partial, 0o600) == 0, StoreFiles.sync(partial), link(partial, path) == 0 else {
            throw errno == EEXIST ? .exists : .unusable("cannot write \(path)")
        }
        StoreFiles.sync(StoreFiles.folder(of: path))
    }

    /// Makes a profile of a file that was exported. It is sealed with the file's key.
    package static func importing(
        _ file: String, to folder: String, server: ServerAddress, authorityFile: String? = nil, key: StoreKey
    ) throws(ProfileError) {
        let profile = try Self.making(folder) { lock in
            _ = try key.unlock(file)
            guard access(file, F_OK) == 0 else { throw ProfileError.unusable("cannot read \(file)") }
            let path = Self.storeFile(folder)
            let partial = path + StoreFiles.partialSuffix
            StoreFiles.remove(partial)
            try StoreFiles.copy(file, to: partial)
            let store = try ClientStore(path: partial, key: key)
            do {
                defer { store.close() }
                guard store.isWhole(), try store.settings.identityKeys() != nil else { throw ProfileError.notADatabase }
                try store.settings.set(server: server)
                try store.settings.set(authorityFile: authorityFile)
                _ = try store.settings.deviceID()
            }
            try StoreFiles.settle(partial, as: path)
            let imported = try ClientStore(path: path, key: key)
            guard let keys = try imported.settings.identityKeys() else { throw ProfileError.notADatabase }
            return Profile(keys: keys, store: imported, lock: lock)
        }
        profile.close()
    }

    // MARK: Opening

    /// Makes the folder and locks it, for a profile that is not there yet.
    private static func making(
        _ folder: String, _ make: (Int32) throws -> Profile
    ) throws(ProfileError) -> Profile {
        guard try !Self.isThere(at: folder) else { throw .exists }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .unusable("cannot make the folder \(folder)")
        }
        return try Self.locked(folder) { lock in
            // Another process may have been faster.
            guard try !Self.isThere(at: folder) else { throw ProfileError.exists }
            return try make(lock)
        }
    }

    /// Locks the folder. The lock is given back unless a profile comes of it.
    private static func locked(_ folder: String, _ open: (Int32) throws -> Profile) throws(ProfileError) -> Profile {
        let lock = try Self.lock(folder)
        do {
            return try open(lock)
        } catch {
            Self.unlock(lock)
            if let error = error as? ClientStoreError { throw ProfileError(error) }
            throw (error as? ProfileError) ?? .unusable("\(error)")
        }
    }

    private static func readPhrase(_ folder: String) throws -> Mnemonic {
        let path = Self.phraseFile(folder)
        // Reading a pipe would wait for its writer.
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let phrase = try? String(contentsOfFile: path, encoding: .utf8),
            let mnemonic = try? Mnemonic(phrase: phrase)
        else { throw ProfileError.unusable("the phrase in \(path) cannot be read") }
        return mnemonic
    }

    private init(keys: IdentityKeys, store: ClientStore, lock: Int32) {
        self.keys = keys
        self.store = store
        self.files = TransferFiles(folder: store.transferFolder)
        self.lock = Mutex(lock)
    }

    deinit { self.releaseLock() }

    /// Lets go of store and folder, for whoever opens them next. Nothing may use the profile any more: what does fails.
    package func close() {
        self.store.close()
        self.releaseLock()
    }

    private func releaseLock() {
        self.lock.withLock { lock in
            guard let file = lock else { return }
            lock = nil
            Self.unlock(file)
        }
    }

    /// A forked child has the file open, too, until it becomes another program. Closing ours alone would leave the lock with it.
    private static func unlock(_ file: Int32) {
        flock(file, LOCK_UN)
        Glibc.close(file)
    }

    /// Deletes the profile: phrase, store and all. It needs no key.
    /// - Returns: whether there was one.
    package static func wipe(at folder: String) throws(ProfileError) -> Bool {
        guard access(folder, F_OK) == 0 else { return false }
        let lock = try Self.lock(folder)
        defer { Self.unlock(lock) }
        let store = Self.storeFile(folder)
        let copy = ClientStore.copyBeforeMigration(of: store)
        let databases = [store, copy, copy + StoreFiles.partialSuffix, store + StoreFiles.partialSuffix]
        let logs = databases.flatMap { [$0 + "-wal", $0 + "-shm"] }
        var isAny = false
        // The phrase goes first: without it, and without a preamble, nothing of the rest is anybody's.
        let phrase = Self.phraseFile(folder)
        let words = [phrase, phrase + StoreFiles.partialSuffix, folder + "/" + Self.keyName]
        for file in words + databases + [store + StoreFiles.replacedSuffix] + logs {
            guard access(file, F_OK) == 0 else { continue }
            guard StoreFiles.erase(file) else { throw .unusable("cannot delete \(file)") }
            isAny = true
        }
        guard TransferFiles.wipe(folder + "/files") else { throw .unusable("cannot delete \(folder)/files") }
        guard unlink(folder + "/lock") == 0 || errno == ENOENT else { throw .unusable("cannot delete \(folder)/lock") }
        return isAny
    }

    /// How the store of the folder stands to this release.
    package static func migrations(
        at folder: String, key: StoreKey? = nil
    ) throws(ProfileError) -> ClientStore.Migrations {
        guard try Self.isThere(at: folder) else { return .none }
        do throws(ClientStoreError) {
            // A plain store that is to be sealed is still plain.
            return try ClientStore.migrations(path: Self.storeFile(folder), key: Self.isSealed(folder) ? key : nil)
        } catch {
            throw ProfileError(error)
        }
    }

    /// Undoes what a later release has changed in the store (`ClientStore.stepDown`).
    package static func stepDown(at folder: String, key: StoreKey? = nil) throws(ProfileError) {
        guard try Self.isThere(at: folder) else { throw .missing }
        let lock = try Self.lock(folder)
        defer { Self.unlock(lock) }
        do throws(ClientStoreError) {
            try ClientStore.stepDown(path: Self.storeFile(folder), key: Self.isSealed(folder) ? key : nil)
        } catch {
            throw ProfileError(error)
        }
    }

    private static let phraseName = "phrase"
    private static let storeName = "whisper.sqlite"
    /// The file beside a sealed store in which a host may keep its key.
    package static let keyName = "key"

    package static func hasKey(in folder: String) -> Bool { access(folder + "/" + Self.keyName, F_OK) == 0 }
    /// Where the words of a profile stand that has no key.
    package static func phraseFile(_ folder: String) -> String { folder + "/" + Self.phraseName }
    private static func storeFile(_ folder: String) -> String { folder + "/" + Self.storeName }

    /// The phrase gets its name when its store has one.
    private static func settlePhrase(_ folder: String) throws {
        let path = Self.phraseFile(folder)
        guard access(path, F_OK) != 0 else { return }
        guard rename(path + StoreFiles.partialSuffix, path) == 0, StoreFiles.sync(folder) else {
            throw ProfileError.unusable("cannot write \(path)")
        }
    }

    private static func write(phrase: String, to path: String) throws(ProfileError) {
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw .unusable("cannot write \(path)") }
        defer { Glibc.close(file) }
        let bytes = Array((phrase + "\n").utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
            unlink(path)
            throw .unusable("cannot write \(path)")
        }
    }

    /// The lock ends with the process, however it ends.
    private static func lock(_ folder: String) throws(ProfileError) -> Int32 {
        let file = Glibc.open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .unusable("cannot use the folder \(folder)") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            var owner = [UInt8](repeating: 0, count: 16)
            let count = pread(file, &owner, owner.count, 0)
            Glibc.close(file)
            throw .inUse(by: Int(String(decoding: owner.prefix(max(count, 0)), as: UTF8.self)))
        }
        let owner = Array("\(getpid())".utf8)
        // For whoever finds the lock taken. It counts without, too.
        if ftruncate(file, 0) == 0 { _ = pwrite(file, owner, owner.count, 0) }
        return file
    }
}

package enum ProfileError: Error, Equatable {
    case missing
    case exists
    /// Another process has it open. One identity has one connection, so one process.
    /// The number is its process, if it is known.
    case inUse(by: Int?)
    case unusable(String)
    /// A file of its folder is missing, empty, or no file. Nothing was begun in its place.
    case damaged(String)
    /// The profile is sealed with another key, or sealed at all.
    case wrongKey
    /// The store is something else.
    case notADatabase
    /// A later release has written the store.
    case tooNew

    init(_ error: ClientStoreError) {
        switch error {
        case .failed(let text): self = .unusable(text)
        case .wrongKey: self = .wrongKey
        case .notADatabase: self = .notADatabase
        case .tooNew: self = .tooNew
        }
    }
}
