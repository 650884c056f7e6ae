package import Contract
import Logging

/// Keeps the documents of our profile as the tables here are, and the other way round: reads what other devices have
/// written, merges it, and writes what is owed (contract §14.4).
///
/// A change marks its document as owed in its own transaction (`LiveStore`), so a crash forgets none. Nothing is written
/// before the profile is shared, and nothing over a document that this release does not understand.
package final class ProfileKeeper {
    private let store: LiveStore
    private let logger: Logger
    let signal = WorkSignal()
    private var pace = ProfilePace()
    /// The profile is to be asked for: another connection, or news of its members.
    private var mustLook = false
    private var unread: Set<ProfileDocumentName> = []
    /// Documents that are not written: of another kind, of a later release, or gone back.
    private var refused: Set<ProfileDocumentName> = []
    /// Documents that the server does not take, with their length. They are tried again when they are shorter.
    private var tooLong: [ProfileDocumentName: Int] = [:]
    /// How often the shared listeners of this connection were halved.
    private var halvings = 0
    private var lag = ProfileLag()
    /// A person has decided about the server's document. A reading that began before refuses it no more.
    private var repaired: Set<ProfileDocumentName> = []
    /// `tick` has woken the work, which has not ended yet.
    private var isWoken = false
    /// The devices, as the server has said last.
    package private(set) var members: [WhisperID] = []
    /// We are no device of the profile any more, or do not have its newest secret.
    package private(set) var isStale = false

    init(store: LiveStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    // MARK: Triggers

    /// To be called after a change of what the devices share.
    func changed(_ host: isolated some LiveHost) {
        let owed = host.withStore {
            for (name, bytes) in self.tooLong where try self.store.documentBytes(name) < bytes {
                self.tooLong[name] = nil
            }
            return try self.store.owedDocuments()
        }
        guard let owed else { return }
        self.pace.owes(owed.filter { !self.refused.contains($0.key) && self.tooLong[$0.key] == nil }, at: .now)
        host.rearm()
    }

    /// The connection is bound to the session: everything is looked at anew.
    package func bound(_ host: isolated some LiveHost) {
        self.pace.retried()
        self.mustLook = true
        // A document that must not be written over is read again before anything is written.
        (self.refused, self.tooLong, self.halvings) = ([], [:], 0)
        self.lag.bound()
        self.changed(host)
        self.signal.wake()
    }

    /// Another device has changed the profile.
    func heard(of change: ProfileChanged.Change, _ host: isolated some LiveHost) {
        host.withStore { try self.store.setProfileAbsent(false) }
        switch change {
        case .document(let name, _): self.unread.insert(name)
        case .members: self.mustLook = true
        }
        self.signal.wake()
    }

    /// The profile, or its secret, is another one.
    func joined(_ host: isolated some LiveHost) {
        (self.unread, self.repaired, self.members, self.isStale) = ([], [], [], false)
        self.bound(host)
        self.pace.hurry()
    }

    /// Creates our profile at the server for other devices. All that is owed is written at once.
    package func share(_ host: isolated some LiveHost) async throws(LiveError) -> SharedProfile {
        let shared = try await host.liveProfile.share(host)
        try self.store.kept { try $0.setProfileShared(isFirst: shared.members.count < 2) }
        self.bound(host)
        self.pace.hurry()
        return shared
    }

    func tick(_ host: isolated some LiveHost) {
        guard !self.isWoken, let wake = self.nextWake, wake <= .now else { return }
        self.isWoken = true
        self.signal.wake()
    }

    var nextWake: ContinuousClock.Instant? {
        guard !self.isWoken else { return nil }
        // A look at documents that are behind waits for the end of a pause, too.
        let lag = self.lag.nextWake.map { max($0, self.pace.retryAt ?? $0) }
        return [self.canWrite && !self.isStale ? self.pace.nextWake : nil, self.pace.retryAt, lag]
            .compactMap { $0 }.min()
    }

    /// Cached: the clock asks often.
    private var canWrite = false

    /// Writes what is owed, if it can be done soon. The client is about to close.
    package func flush(_ host: isolated some LiveHost) async {
        // The first look of this connection may still be under way.
        let isKept = host.withStore { try self.store.isProfileShared() && self.store.store.preferences().fillsProfile }
        guard isKept == true, host.isOnline, !self.isStale, !self.pace.owesNothing else { return }
        let deadline = ContinuousClock.now + ProfileLimits.flushWithin
        self.pace.hurry()
        self.signal.wake()
        while host.isOnline, !self.isStale, !self.pace.owesNothing, !self.pace.isPaused,
            ContinuousClock.now < deadline
        {
            do { try await Task.sleep(for: ProfileLimits.flushLook) } catch { return }
        }
    }

    // MARK: Work

    /// Reads what is unread and writes what is due. The connection calls it once at a time.
    func work(_ host: isolated some LiveHost) async {
        defer {
            self.isWoken = false
            host.rearm()
        }
        guard host.isOnline else { return }
        self.pace.retried()
        do throws(LiveError) {
            guard try self.store.kept({ try $0.hasProfile() && $0.store.preferences().fillsProfile }) else {
                (self.canWrite, self.lag) = (false, ProfileLag())
                return
            }
            if self.mustLook { try await self.look(host) }
            while let name = self.unread.min(by: { $0.rawValue < $1.rawValue }) {
                self.unread.remove(name)
                try await self.read(name, host)
            }
            try await self.checkLag(host)
            // While the secret is renewed, each document is sealed with one key or the other.
            self.canWrite = try self.store.kept { try $0.isProfileShared() && $0.nextProfileSecret() == nil }
            guard self.canWrite, !self.isStale else { return }
            for name in self.pace.due(at: .now) { try await self.write(name, host) }
        } catch {
            switch error {
            case .store(let error): return host.storeFailed(error)
            // The next connection begins anew.
            case .offline: return
            default:
                self.logger.warning("the documents of the profile are not kept")
                self.mustLook = true
                self.pace.failed(at: .now)
            }
        }
    }

    /// Whether the profile is still the one that was asked about. A person may leave it or join another one meanwhile.
    private func isStill(_ profile: UUIDText) throws(LiveError) -> Bool {
        try self.store.kept { try $0.profile().id } == profile
    }

    private func look(_ host: isolated some LiveHost) async throws(LiveError) {
        let (profile, isAbsent) = try self.store.kept {
            (try $0.profile().id, try $0.isProfileAbsent() && !$0.isProfileShared())
        }
        guard !isAbsent else {
            (self.mustLook, self.members) = (false, [])
            return
        }
        let shared: SharedProfile
        do throws(LiveError) { shared = try await host.liveProfile.shared(host) } catch {
            guard error == .notFound else { throw error }
            guard try self.isStill(profile) else { return }
            self.mustLook = false
            // Nobody has made the profile yet; or another device has removed us, and nothing is deleted here.
            self.isStale = try self.store.kept { try $0.isProfileShared() }
            if !self.isStale { try self.store.kept { try $0.setProfileAbsent(true) } }
            self.members = []
            return
        }
        guard try self.isStill(profile) else { return }
        (self.mustLook, self.isStale, self.members) = (false, false, shared.members.map(\.id))
        let isShared = try self.store.kept { try $0.isProfileShared() }
        if shared.members.count > 1, !isShared {
            try self.store.kept { try $0.setProfileShared() }
            self.pace.hurry()
        }
        for document in shared.documents {
            let merged = try self.store.kept { try $0.mergedVersion(document.name) }
            if merged != document.version { self.unread.insert(document.name) }
        }
    }

    private func read(_ name: ProfileDocumentName, _ host: isolated some LiveHost) async throws(LiveError) {
        let profile = try self.store.kept { try $0.profile().id }
        let document: ProfileDocument
        do throws(LiveError) { document = try await host.liveProfile.document(name, host) } catch {
            guard try self.isStill(profile) else { return }
            if self.repaired.contains(name), error == .notFound || error == .outdated { return }
            switch error {
            case .notFound:
                guard try self.store.kept({ try $0.mergedVersion(name) }) > 0 else { return }
                // It was there: the server has lost it, or shows less than it has.
                host.publish(.passing(.profileDocument(name, .rolledBack)))
            case .unreadable: self.isStale = true
            case .outdated: host.publish(.passing(.profileDocument(name, .rolledBack)))
            default: throw error
            }
            return self.refuse(name, host)
        }
        guard try self.isStill(profile) else { return }
        guard let contents = ProfileContents(Array(document.content.utf8)) else {
            guard !self.repaired.contains(name) else { return }
            host.publish(.passing(.profileDocument(name, .foreign)))
            return self.refuse(name, host)
        }
        let now = host.serverNow
        let news = try self.store.kept {
            try $0.take(contents, as: name, version: document.version, at: now, halvings: self.halvings)
        }
        if contents.isNewer {
            host.publish(.passing(.profileDocument(name, .newer)))
            self.refuse(name, host)
        } else {
            self.refused.remove(name)
        }
        self.tell(news, of: name, host)
    }

    private func tell(_ news: ProfileNews, of name: ProfileDocumentName, _ host: isolated some LiveHost) {
        if news.leftOut > 0 {
            self.logger.warning("values of a document break the rules", metadata: ["count": "\(news.leftOut)"])
        }
        if news.isFull { self.tellFull(name, host) }
        for own in news.conversations { host.streams.follow(own) }
        for (id, decisions) in news.listeners { host.streams.learn(decisions, of: id, host) }
        if news.changesConversations { host.publish(.passing(.profileDocument(name, .conversations))) }
        if news.changesFavorites { host.publish(.passing(.profileDocument(name, .favorites))) }
        self.changed(host)
    }

    private func write(_ name: ProfileDocumentName, _ host: isolated some LiveHost) async throws(LiveError) {
        let profile = try self.store.kept { try $0.profile().id }
        for _ in 0..<ClientLimits.documentAttemptsMax + ProfileLimits.halvingsMax {
            guard try self.isStill(profile) else { return }
            let now = host.serverNow
            guard !self.refused.contains(name), self.tooLong[name] == nil else { return self.changed(host) }
            let toWrite = try self.store.kept { try $0.documentToWrite(name, at: now, halvings: self.halvings) }
            guard let (document, isFull) = toWrite else { return self.refuse(name, host) }
            guard document.changes > 0 else { return self.changed(host) }
            guard !document.contents.isNewer else { return self.refuse(name, host) }
            if isFull { self.tellFull(name, host) }
            let text = String(decoding: document.contents.text, as: UTF8.self)
            do throws(LiveError) {
                let written = try await host.liveProfile.write(text, as: name, over: document.version, host)
                guard try self.isStill(profile) else { return }
                try self.store.kept { store in
                    try store.written(name, changes: document.changes, as: written.version)
                    if name != .user { try store.noteSeen(of: profile, at: now) }
                }
                self.pace.wrote(name, at: .now)
                self.repaired.remove(name)
                return self.changed(host)
            } catch {
                switch error {
                // Another device was faster, or the answer to our last writing was lost.
                case .changed: try await self.read(name, host)
                case .tooLong where name == .whisper && self.halvings < ProfileLimits.halvingsMax:
                    self.halvings += 1
                    self.logger.warning(
                        "a document is too long: its oldest listeners stay on this device",
                        metadata: ["listeners": "\(ProfileLimits.listenersSharedMax >> self.halvings)"])
                case .tooLong:
                    self.tellFull(name, host)
                    self.tooLong[name] = try self.store.kept { try $0.documentBytes(name) }
                    return self.changed(host)
                default: throw error
                }
            }
        }
        throw .changed
    }

    private func refuse(_ name: ProfileDocumentName, _ host: isolated some LiveHost) {
        self.refused.insert(name)
        self.changed(host)
    }

    private func tellFull(_ name: ProfileDocumentName, _ host: isolated some LiveHost) {
        guard host.withStore({ try self.store.tellsFull(name, at: host.serverNow) }) == true else { return }
        host.publish(.passing(.profileDocument(name, .full)))
    }

    // MARK: Servers that go back

    private func checkLag(_ host: isolated some LiveHost) async throws(LiveError) {
        try self.learnLag()
        for name in self.lag.due(at: .now) {
            // The notice of the later document may have been lost.
            try await self.read(name, host)
            self.lag.told(name)
            try self.learnLag()
            guard self.lag.isBehind(name), !self.refused.contains(name) else { continue }
            host.publish(.passing(.profileDocument(name, .rolledBack)))
            self.refuse(name, host)
        }
    }

    private func learnLag() throws(LiveError) {
        let behind = try self.store.kept { try $0.behind(self.members, of: $0.profile().id) }
        self.lag.learned(behind, at: .now)
    }

    /// A person decides that the server's document is written over, though it is an earlier one, lost, or another program's.
    /// Values that can be read in it are merged.
    /// - Throws: `.notFound` if we are no device of the profile; `.unreadable`; `.newer`.
    package func repair(_ name: ProfileDocumentName, _ host: isolated some LiveHost) async throws(LiveError) {
        let link = try host.liveProfile.link()
        var (shown, contents) = (SeenDocument(version: 0, counter: 0), ProfileContents?.none)
        do throws(LiveError) {
            let (written, text) = try await host.liveProfile.standing(name, of: link, host)
            shown = SeenDocument(version: written.version, counter: text.counter)
            contents = ProfileContents(Array(text.content.utf8))
        } catch {
            guard error == .notFound else { throw error }
            _ = try await host.liveProfile.shared(host)
        }
        guard try self.isStill(link.id) else { throw .notFound }
        guard contents?.isNewer != true else { throw .newer }
        let now = host.serverNow
        let news = try self.store.kept { store -> ProfileNews in
            let isOurs = try store.store.preferences().fillsProfile
            let news = isOurs ? try contents.map { try store.take($0, as: name, version: shown.version, at: now) } : nil
            try store.repair(name, over: shown, of: link.id)
            return news ?? ProfileNews()
        }
        self.refused.remove(name)
        self.unread.remove(name)
        self.repaired.insert(name)
        self.tooLong[name] = nil
        self.tell(news, of: name, host)
        self.pace.hurry()
        self.signal.wake()
    }
}

/// News of a document of our profile.
package enum ProfileDocumentNews: Sendable, Equatable {
    /// Another device has changed conversations of ours, or those that we listen to.
    case conversations
    case favorites
    /// It has no room for all that is here. The values used longest ago stay on this device.
    case full
    /// Another program has written it. It is not written over.
    case foreign
    /// A later release has written it. It is read, and not written over.
    case newer
    /// The server shows an older one than was seen here. It is not written over.
    case rolledBack
}
