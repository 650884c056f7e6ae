import Contract
import NIOHTTP1
import Synchronization
import WhisperClient
import WhisperCore

/// The key of the store behind the page: a passphrase of the person, or a file beside the store. A passphrase also locks the page.
final class AppSeal: Sendable {
    /// Seals the store with another key.
    static let path = "/seal"
    static let unlockPath = "/session/unlock"
    /// Requests to a page that is locked.
    static let openPaths: Set<String> = [unlockPath, "/session/end", "/app"]

    enum Kind: String {
        case none, key, passphrase
        /// A program that started the daemon has the key.
        case elsewhere
    }

    private let tries = Mutex(PassphraseTries())
    private struct State {
        var isLocked = false
        /// The newest message when it was locked.
        var newest: Int64 = 0
        /// The key is changed. Another change would erase the key file of this one, and a lock would ask for the passphrase of before.
        var isChanging = false
    }

    private let state = Mutex(State())

    var isLocked: Bool { self.state.withLock { $0.isLocked } }

    static func kind(of core: Core) -> Kind {
        guard !core.isWaiting else { return .passphrase }
        return switch core.keyKind {
        case nil: .none
        case .passphrase: .passphrase
        case .raw: KeyFile.isThere(core.configuration.folder) ? .key : .elsewhere
        }
    }

    // MARK: Another key

    /// `{"passphrase"}`, or nothing for a key file. A passphrase of before stands in `now`.
    func change(_ body: [UInt8], _ core: Core) async -> DoorAnswer {
        guard case .object(let members) = JSONText(body) else { return DoorAnswer(.badRequest) }
        let begins = self.state.withLock { state in
            guard !state.isChanging, !state.isLocked else { return false }
            state.isChanging = true
            return true
        }
        guard begins else { return DoorAnswer(.conflict) }
        defer { self.state.withLock { $0.isChanging = false } }
        return await self.change(members, core)
    }

    private func change(_ members: JSONMembers, _ core: Core) async -> DoorAnswer {
        // It would tell whether a passphrase is right, as often as it is asked.
        guard !core.isWaiting else { return DoorAnswer(.conflict) }
        let folder = core.configuration.folder
        switch Self.kind(of: core) {
        case .elsewhere: return DoorAnswer(.conflict)
        case .passphrase where core.identity != nil:
            if let refusal = self.refusal(of: Array((members.string("now") ?? "").utf8), core) { return refusal }
        case .none, .key, .passphrase: break
        }
        do {
            guard let passphrase = members.string("passphrase") else {
                try await core.rekey(try KeyFile.make(in: folder), of: .raw)
                return DoorAnswer(.noContent)
            }
            try await core.rekey(Array(passphrase.utf8), of: .passphrase)
            try Profile.eraseKey(in: folder)
            return DoorAnswer(.noContent)
        } catch let error as CoreError {
            return DoorAnswer(.conflict, error.answer)
        } catch {
            var json = JSONWriter()
            json.add("error", object: "\(error)") { message, json in json.add("message", message) }
            return DoorAnswer(.conflict, json.finished())
        }
    }

    /// - Returns: `nil` if this is the passphrase.
    private func refusal(of passphrase: [UInt8], _ core: Core) -> DoorAnswer? {
        if let wait = self.tries.withLock({ $0.begin() }) { return Self.answer(.tooManyRequests, wait) }
        guard core.isKey(passphrase) else { return Self.answer(.forbidden, self.tries.withLock { $0.wait() }) }
        self.tries.withLock { $0.passed() }
        return nil
    }

    private static func answer(_ status: HTTPResponseStatus, _ wait: Duration) -> DoorAnswer {
        var json = JSONWriter()
        json.add("waitSeconds", (wait + .milliseconds(999)).components.seconds)
        return DoorAnswer(status, json.finished())
    }

    // MARK: Lock

    /// From here on sessions take the passphrase alone. The core goes on.
    /// - Returns: `false` if there is no passphrase, or it is being changed.
    func lock(_ core: Core) -> Bool {
        guard Self.kind(of: core) == .passphrase, !core.isWaiting else { return false }
        let newest = core.newestNumber
        return self.state.withLock { state in
            guard !state.isChanging else { return false }
            if !state.isLocked { (state.isLocked, state.newest) = (true, newest) }
            return true
        }
    }

    /// Messages that a locked page may tell of, and no more of them than that they came.
    func came(_ core: Core) -> Int { core.loudUnreadCount(after: self.state.withLock { $0.newest }) }

    /// Opens the store, if it waits for its passphrase, and lets sessions in again.
    func unlock(_ body: [UInt8], _ core: Core, keepsServer: Bool) async -> DoorAnswer {
        guard case .object(let members) = JSONText(body), let text = members.string("passphrase") else {
            return DoorAnswer(.badRequest)
        }
        let passphrase = Array(text.utf8)
        guard core.isWaiting else {
            if let refusal = self.refusal(of: passphrase, core) { return refusal }
            self.state.withLock { $0.isLocked = false }
            return DoorAnswer(.noContent)
        }
        if let wait = self.tries.withLock({ $0.begin() }) { return Self.answer(.tooManyRequests, wait) }
        do {
            try await core.unlock(passphrase, keepsServer: keepsServer)
        } catch {
            guard ![.wrongKey, .config].contains(error.code) else {
                return Self.answer(.forbidden, self.tries.withLock { $0.wait() })
            }
            self.tries.withLock { $0.passed() }
            return DoorAnswer(.conflict, error.answer)
        }
        self.tries.withLock { $0.passed() }
        // It may be left from the moment of sealing.
        try? Profile.eraseKey(in: core.configuration.folder)
        _ = await core.perform("connect")
        return DoorAnswer(.noContent)
    }
}

/// Wrong passphrases in a row. After the fifth each further try waits, twice as long as the one before.
struct PassphraseTries {
    typealias Instant = ContinuousClock.Instant

    static let freeMax = 5
    static let firstWait = Duration.seconds(30)
    static let waitMax = Duration.seconds(15 * 60)

    private var wrong = 0
    private var next: Instant?

    /// A try counts as wrong until `passed`: several at the same time are several.
    /// - Returns: how long it has to wait; `nil` if the passphrase may be looked at.
    mutating func begin(at now: Instant = .now) -> Duration? {
        let wait = self.wait(at: now)
        guard wait == .zero else { return wait }
        self.wrong += 1
        guard self.wrong >= Self.freeMax else { return nil }
        let doublings = min(self.wrong - Self.freeMax, 8)
        self.next = now + min(Self.firstWait * (1 << doublings), Self.waitMax)
        return nil
    }

    func wait(at now: Instant = .now) -> Duration { self.next.map { max($0 - now, .zero) } ?? .zero }

    mutating func passed() { self = PassphraseTries() }
}
