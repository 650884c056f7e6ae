import Contract
import Logging

/// The contact list at the server, which only the twelve words open (spec §14).
///
/// Changes that the backup lacks are written with `If-Match` against the version seen last. A version that was never
/// seen, or that another device has written, is read and merged first. An unreadable backup is never overwritten. A
/// missing backup is not remembered: another device may write the first. While ours is the session no other device can,
/// because the server takes writes of the latest login only.
package final class Backup {
    private let keys: IdentityKeys
    private let store: ClientStore
    private let server: any ServerLink
    private let logger: Logger
    private var random = SystemRandomNumberGenerator()
    let signal = WorkSignal()
    /// The last published failure.
    private var trouble: BackupNews?
    /// The person here wants one backup, whatever the setting says.
    private var isWanted = false

    init(keys: IdentityKeys, store: ClientStore, server: any ServerLink, logger: Logger) {
        self.keys = keys
        self.store = store
        self.server = server
        self.logger = logger
    }

    /// To be called when the contacts differ from the backup.
    func wake() { self.signal.wake() }

    /// Synchronises backup and store, if they differ. After a failure the next change or connection tries again.
    func work(_ host: isolated some MailHost) async {
        var failures = 0
        while !Task.isCancelled, host.isOnline {
            do throws(BackupError) {
                guard try self.stored({ try $0.preferences() }).backsUp || self.isWanted else { return }
                try await self.synchronise(host)
                self.isWanted = false
                self.trouble = nil
                return
            } catch {
                switch error {
                case .temporary: failures += 1
                case .offline: return
                case .trouble(let news):
                    if news != self.trouble { host.publish(.backup(news)) }
                    self.trouble = news
                    return
                case .store(let error): return host.storeFailed(error)
                }
            }
            guard failures < ClientLimits.attemptsMax else {
                return self.logger.warning("the contacts are not backed up")
            }
            let delay = ClientLimits.resend.delay(after: failures, using: &self.random)
            try? await Task.sleep(for: delay)
        }
    }

    /// Writes the contacts now, changed or not. How it goes is told as `BackupNews`.
    /// - Returns: whether there is a session.
    package func now(_ host: isolated some MailHost) throws(ClientStoreError) -> Bool {
        guard host.isOnline else { return false }
        try self.store.settings.oweBackup()
        self.isWanted = true
        self.trouble = nil
        self.wake()
        return true
    }

    /// Deletes the backup at the server. Unless the person here wants none, the next change writes another.
    package func delete(_ host: isolated some MailHost) async throws(InquiryError) {
        guard let token = host.token else { throw .offline }
        let answer: HTTPAnswer
        do { answer = try await self.server.delete(SealedContacts.path, bearer: token.token) } catch { throw .noAnswer }
        switch answer.status {
        case 200, 404: break
        case 401, 403: throw .offline
        case 429: throw .refused(.rateLimited, retryAfter: nil)
        default: throw .refused(nil, retryAfter: nil)
        }
        do { try self.store.settings.set(backupTag: nil) } catch { throw .store(error) }
    }

    private func synchronise(_ host: isolated some MailHost) async throws(BackupError) {
        let isKnown = try self.stored { try $0.settings.backupTag() != nil }
        var added: [Contact] = []
        if !isKnown { added = try await self.read(host) }
        let (found, missing, isComplete) = try await self.lookUpMissing(host)
        for contact in added + found { host.publish(.contact(contact)) }
        if !isKnown { host.publish(.restored(added: added.count + found.count, missing: missing)) }
        try await self.write(host)
        guard isComplete else { throw .temporary }
    }

    /// - Returns: who was not here before.
    private func read(_ host: isolated some MailHost) async throws(BackupError) -> [Contact] {
        guard let token = host.token else { throw .offline }
        let answer: HTTPAnswer
        do { answer = try await self.server.get(SealedContacts.path, bearer: token.token) } catch { throw .temporary }
        switch answer.status {
        case 200:
            guard let tag = answer.entityTag else { throw .temporary }
            guard let list = SealedContacts(body: answer.body)?.open(keys: self.keys) else {
                throw .trouble(.unreadable)
            }
            let ownID = host.id
            return try self.stored { try $0.merge(list, tag: tag, ownID: ownID) }
        case 404: return []
        default: throw BackupError(status: answer.status)
        }
    }

    private func write(_ host: isolated some MailHost) async throws(BackupError) {
        let now = host.serverNow
        let (list, changes) = try self.stored { try $0.contactList(at: now) }
        guard changes > 0 else { return }
        let sealed = SealedContacts(list, nonce: Sodium.random(Limits.nonceBytes), keys: self.keys)
        let bytes = sealed.ciphertext.count
        guard bytes <= Limits.backupBytesMax else { throw .trouble(.tooLarge(bytes: bytes)) }
        guard let token = host.token else { throw .offline }
        let tag = try self.stored { try $0.settings.backupTag() }
        let answer: HTTPAnswer
        do {
            answer = try await self.server.put(
                SealedContacts.path, sealed.body, if: tag.map { .matches($0) }, bearer: token.token)
        } catch {
            throw .temporary
        }
        switch answer.status {
        case 200:
            try self.stored { try $0.settings.backedUp(changes, as: answer.entityTag, list) }
            host.publish(.backup(.written))
        case 412:
            // Another device was faster, or our last answer was lost: the next attempt reads.
            try self.stored { try $0.settings.set(backupTag: nil) }
            throw .temporary
        case 413: throw .trouble(.tooLarge(bytes: bytes))
        default: throw BackupError(status: answer.status)
        }
    }

    /// Asks for the keys of those who are in the backup without.
    /// - Returns: who was found; how many were not; whether asking again soon is of no use.
    private func lookUpMissing(
        _ host: isolated some MailHost
    ) async throws(BackupError) -> (found: [Contact], missing: Int, isComplete: Bool) {
        let entries = try self.stored { try $0.missingContacts() }
        var found: [Contact] = []
        for entry in entries {
            guard let id = WhisperID(entry.whisperId) else { continue }
            do throws(ContactError) {
                found.append(try await self.bringBack(id, name: entry.name, host))
            } catch {
                switch error {
                case .store(let error): throw BackupError.store(error)
                case .offline, .unreachable, .server: return (found, entries.count - found.count, false)
                case .isSelf, .noSuchPerson, .foreignKeys, .changedKeys, .nameTaken: continue
                }
            }
        }
        return (found, entries.count - found.count, true)
    }

    /// Somebody whose name is another's here comes back without one.
    private func bringBack(
        _ id: WhisperID, name: String?, _ host: isolated some MailHost
    ) async throws(ContactError) -> Contact {
        do throws(ContactError) {
            return try await host.contacts.fetchAndPin(id, name: name, isNews: true, host)
        } catch {
            guard error == .nameTaken else { throw error }
            return try await host.contacts.fetchAndPin(id, name: nil, isNews: true, host)
        }
    }

    private func stored<T>(_ body: (ClientStore) throws -> T) throws(BackupError) -> T {
        do { return try body(self.store) } catch { throw .store(error as? ClientStoreError ?? .failed("\(error)")) }
    }
}

/// Why the backup and the store are still apart.
private enum BackupError: Error {
    /// Another attempt may do better.
    case temporary
    /// There is no session.
    case offline
    /// No attempt will do better. People are told.
    case trouble(BackupNews)
    case store(ClientStoreError)

    init(status: Int) {
        switch status {
        case 401, 403: self = .offline
        case 408, 412, 429, 500...: self = .temporary
        default: self = .trouble(.refused(status: status))
        }
    }
}
