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
    }

    let profile: Profile
    private let server: any ServerLink
    private let platform: WhisperClient.Platform
    private let observer: @Sendable (ClientEvent) -> Void
    private let running: Mutex<Running>

    init(
        _ profile: Profile, server: any ServerLink, platform: CoreConfiguration.Platform,
        observer: @escaping @Sendable (ClientEvent) -> Void
    ) throws(CoreError) {
        self.profile = profile
        self.server = server
        self.platform = platform == .ios ? .ios : .android
        self.observer = observer
        do throws(ClientStoreError) {
            let client = try WhisperClient(
                profile: profile, server: server, platform: self.platform, logger: Self.silence, observer: observer)
            self.running = Mutex(Running(client: client))
        } catch {
            throw CoreError(of: error)
        }
    }

    /// Nothing is printed, whatever happens.
    private static let silence = Logger(label: "whisper-core") { _ in SwiftLogNoOpLogHandler() }

    /// For verbs. None of them waits for mail that is being written.
    var store: ClientStore { self.profile.store.besideWrites }
    var client: WhisperClient { self.running.withLock { $0.client } }
    var isConnecting: Bool { self.running.withLock { $0.life != nil } }
    var id: WhisperID? { (try? self.store.whisperID()) ?? nil }

    /// Connects and stays connected, if it does not already.
    func connect() throws(CoreError) {
        try self.running.withLock { running throws(CoreError) in
            guard running.life == nil else { return }
            if running.hasLived {
                do throws(ClientStoreError) {
                    running.client = try WhisperClient(
                        profile: self.profile, server: self.server, platform: self.platform, logger: Self.silence,
                        observer: self.observer)
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
        }
    }

    /// Ends the connection, and returns when it has. What is queued stays queued.
    func disconnect() async {
        let (client, life) = self.running.withLock { ($0.client, $0.life) }
        guard let life else { return }
        await client.close()
        await life.value
    }

    func close() async {
        await self.disconnect()
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
        case .wrongKey: self.init(.wrongKey)
        case .notADatabase: self.init(.notADatabase)
        case .tooNew: self.init(.tooNew)
        }
    }
}
