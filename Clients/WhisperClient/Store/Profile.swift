import FoundationEssentials
import Glibc
import Synchronization

/// One person's folder: the phrase in a file only its owner can read, the store, and a lock that keeps a second
/// process out.
package final class Profile: Sendable {
    package let keys: IdentityKeys
    package let store: ClientStore
    /// `nil` once it is closed.
    private let lock: Mutex<Int32?>

    /// Whether a profile stands there.
    package static func exists(at folder: String) -> Bool {
        access(Self.phraseFile(folder), F_OK) == 0
    }

    /// Makes a new profile. Never touches one that exists.
    package static func create(
        at folder: String, mnemonic: Mnemonic, server: ServerAddress, authorityFile: String? = nil
    ) throws(ProfileError) -> Profile {
        guard !Self.exists(at: folder) else { throw .exists }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .unusable("cannot make the folder \(folder)")
        }
        let lock = try Self.lock(folder)
        do {
            // The phrase comes last: with it the profile exists, and then it is whole.
            let store = try ClientStore(path: Self.storeFile(folder))
            chmod(Self.storeFile(folder), 0o600)
            try store.set(server: server)
            try store.set(authorityFile: authorityFile)
            _ = try store.deviceID()
            try Self.write(phrase: mnemonic.phrase, to: Self.phraseFile(folder))
            return Profile(keys: IdentityKeys(mnemonic), store: store, lock: lock)
        } catch {
            Glibc.close(lock)
            throw .unusable("\(error)")
        }
    }

    package static func open(at folder: String) throws(ProfileError) -> Profile {
        guard Self.exists(at: folder) else { throw .missing }
        guard let phrase = try? String(contentsOfFile: Self.phraseFile(folder), encoding: .utf8),
            let mnemonic = try? Mnemonic(phrase: phrase)
        else { throw .unusable("the phrase in \(Self.phraseFile(folder)) cannot be read") }
        let lock = try Self.lock(folder)
        do {
            return Profile(
                keys: IdentityKeys(mnemonic), store: try ClientStore(path: Self.storeFile(folder)), lock: lock)
        } catch {
            Glibc.close(lock)
            throw .unusable("\(error)")
        }
    }

    private init(keys: IdentityKeys, store: ClientStore, lock: Int32) {
        self.keys = keys
        self.store = store
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
            // A forked child has the file open, too. Closing ours alone would leave the lock with it.
            flock(file, LOCK_UN)
            Glibc.close(file)
        }
    }

    /// Deletes the profile: phrase, store and all.
    /// - Returns: whether there was one.
    package static func wipe(at folder: String) throws(ProfileError) -> Bool {
        guard access(folder, F_OK) == 0 else { return false }
        let lock = try Self.lock(folder)
        defer { Glibc.close(lock) }
        let store = Self.storeFile(folder)
        var isAny = false
        // The phrase goes first: without it nothing of the rest is anybody's.
        for file in [Self.phraseFile(folder), store, store + "-wal", store + "-shm", folder + "/lock"] {
            if unlink(file) == 0 {
                isAny = isAny || file != folder + "/lock"
            } else if errno != ENOENT {
                throw .unusable("cannot delete \(file)")
            }
        }
        return isAny
    }

    /// How the store of the folder stands to this release.
    package static func migrations(at folder: String) throws(ProfileError) -> ClientStore.Migrations {
        guard access(Self.storeFile(folder), F_OK) == 0 else { return .none }
        do throws(ClientStoreError) {
            return try ClientStore.migrations(path: Self.storeFile(folder))
        } catch {
            throw .unusable("\(error)")
        }
    }

    private static func phraseFile(_ folder: String) -> String { folder + "/phrase" }
    private static func storeFile(_ folder: String) -> String { folder + "/whisper.sqlite" }

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
}
