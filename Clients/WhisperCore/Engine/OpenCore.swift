import Contract
import Logging
import Synchronization
import WhisperClient

/// An identity in its folder: store, keys, and the client that talks to the server.
final class OpenCore: Sendable {
    private struct Running {
        var client: WhisperClient
        var life: Task<Void, Never>?
        /// A client lives once.
        var hasLived = false
        /// Under which we are shown to phones nearby, if the host wants it.
        var nearbyTitle: String?
    }

    let profile: Profile
    let holds = Holds()
    private let server: any ServerLink
    private let installation: Installation
    private let logger: Logger
    private let observer: @Sendable (ClientEvent) -> Void
    private let radio: @Sendable () -> (any NearbyLink)?
    private let running: Mutex<Running>

    init(
        _ profile: Profile, server: any ServerLink, configuration: CoreConfiguration,
        logger: Logger, radio: @escaping @Sendable () -> (any NearbyLink)?,
        observer: @escaping @Sendable (ClientEvent) -> Void
    ) throws(CoreError) {
        self.profile = profile
        self.server = server
        self.installation = Installation(
            platform: configuration.platform == .ios ? .ios : .android,
            kind: configuration.client.flatMap { ClientKind(rawValue: $0.rawValue) },
            device: configuration.device.flatMap { UUIDText($0) })
        self.logger = logger
        self.observer = observer
        self.radio = radio
        do throws(ClientStoreError) {
            let client = try WhisperClient(
                profile: profile, server: server, installation: self.installation, logger: logger,
                observer: observer)
            self.running = Mutex(Running(client: client))
            Self.begin(client)
        } catch {
            throw CoreError(of: error)
        }
    }

    /// From now on messages disappear when their time is over.
    private static func begin(_ client: WhisperClient) { Task { await client.with { $0.disappearing.look($0) } } }

    /// For verbs. None of them waits for mail that is being written.
    var store: ClientStore { self.profile.store.besideWrites }
    var client: WhisperClient { self.running.withLock { $0.client } }
    var isConnecting: Bool { self.running.withLock { $0.life != nil } }
    var id: WhisperID? { (try? self.store.settings.whisperID()) ?? nil }

    /// Connects and stays connected, if it does not already.
    func connect() async throws(CoreError) {
        let before = try self.running.withLock { running throws(CoreError) -> WhisperClient? in
            guard running.life == nil else { return nil }
            let before = running.hasLived ? running.client : nil
            if running.hasLived {
                do throws(ClientStoreError) {
                    running.client = try WhisperClient(
                        profile: self.profile, server: self.server, installation: self.installation,
                        logger: self.logger, observer: self.observer)
                } catch {
                    throw CoreError(of: error)
                }
            }
            let client = running.client
            running.hasLived = true
            running.life = Task {
                _ = await client.run()
                self.running.withLock { if $0.client === client { $0.life = nil } }
            }
            return before
        }
        guard let before else { return }
        await before.with {
            $0.disappearing.stop()
            await $0.nearby.stop($0)
        }
        Self.begin(self.client)
        if let title = self.running.withLock({ $0.nearbyTitle }) { try? await self.startNearby(title: title) }
    }

    /// Runs a command of a feature on the client.
    func with<Result: Sendable>(
        _ body: @Sendable (isolated WhisperClient) async throws -> Result
    ) async rethrows -> Result {
        try await self.client.with(body)
    }

    /// Ends a thing by a command of a feature. A program that held it holds it no longer.
    func ending(
        _ thing: Holds.Thing, _ command: @Sendable (isolated WhisperClient) async throws -> Void
    ) async throws {
        try await self.holds.ending(thing) { try await self.with(command) }
    }

    // MARK: Nearby

    /// Shows us under this title. A title that is shown already stays; another one begins anew.
    func startNearby(title: String) async throws {
        let client = self.client
        let shown = await client.with { $0.nearby.title }
        guard shown != title else { return }
        guard let link = self.radio() else { throw CoreError(.unsupported, "The configuration has no radio.") }
        if shown != nil { await client.with { await $0.nearby.stop($0) } }
        do {
            try await client.with { try $0.nearby.start(link, title: title, $0) }
        } catch {
            link.stop()
            throw error
        }
        self.running.withLock { $0.nearbyTitle = title }
        // Somebody has connected meanwhile, which made another client.
        guard self.client !== client else { return }
        await client.with { await $0.nearby.stop($0) }
        try await self.startNearby(title: title)
    }

    func stopNearby() async {
        self.running.withLock { $0.nearbyTitle = nil }
        await self.client.with { await $0.nearby.stop($0) }
    }

    /// Ends the connection, and returns when it has ended. Queued messages stay queued.
    func disconnect() async {
        let (client, life) = self.running.withLock { ($0.client, $0.life) }
        guard let life else { return }
        await client.with { await $0.profileKeeper.flush($0) }
        await client.close()
        await life.value
    }

    func close() async {
        await self.stopNearby()
        await self.disconnect()
        await self.client.with { await $0.disappearing.finish($0) }
        self.profile.close()
    }
}

extension CoreError {
    init(of error: ClientStoreError) {
        switch error {
        // The text is SQLite's, and may quote values.
        case .failed: self.init(.store)
        case .wrongKey: self.init(.wrongKey)
        case .notADatabase: self.init(.notADatabase)
        case .tooNew: self.init(.tooNew)
        }
    }

    init(of error: ProfileError) {
        switch error {
        case .missing: self.init(.noIdentity)
        case .exists: self.init(.identityExists)
        case .inUse(let process):
            self.init(.locked)
            self.pid = process
        case .unusable: self.init(.store)
        case .damaged(let why):
            self.init(.damaged, "In the folder, \(why). Nothing was begun in its place: put a copy back.")
        case .wrongKey: self.init(.wrongKey)
        case .notADatabase: self.init(.notADatabase)
        case .tooNew: self.init(.tooNew)
        }
    }
}
