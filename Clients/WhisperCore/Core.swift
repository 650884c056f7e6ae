import Contract
package import Dispatch
import Logging
import Synchronization
package import WhisperClient

/// One identity of one person on this device: the whole client, for apps, terminals and bots.
///
/// A core takes commands as text and answers with JSON (`docs/core.md`). Commands do local work only and answer at once; what
/// comes of it, and what others do, are events. It never prints, and keeps all state in its folder: whoever is killed and
/// opens the folder again goes on where they were. All functions may be called from any thread or task.
///
///     let core = try Core.open(CoreConfiguration(folder: "/home/ann/.chat", server: "wss://chat.example"))
///     try await core.connect()
///     print(await core.perform(#"contact_list"#))
///     while let event = await core.nextEvent() { print(event) }
public final class Core: Sendable {
    enum Phase {
        case noIdentity
        case open(OpenCore)
        case suspended
        case closed
    }

    package typealias Linker = @Sendable (CoreConfiguration) throws -> any ServerLink
    /// A new radio each time; `nil` if the configuration has none.
    package typealias RadioMaker = @Sendable (CoreConfiguration) -> (any NearbyLink)?

    /// The release of this library.
    public static let version = Release.version

    /// Its server may change until there is an identity.
    public var configuration: CoreConfiguration { self.settings.withLock { $0 } }
    private let settings: Mutex<CoreConfiguration>
    private let link: Linker
    private let radio: RadioMaker
    /// `nil` if the store is plain.
    private let key: Mutex<StoreKey?>
    private let phase: Mutex<Phase>
    private let requests = Requests()
    /// The latest answers of the server to commands with a `corrId`.
    let answers = LatestAnswers()
    /// Feed of the host that reads the core itself. Programs at seats have their own.
    private let feed: EventFeed
    private let feeds = EventFeeds()
    /// Callers in Swift that wait for an event.
    let watchers = Watchers()
    /// The open core whose events are rendered.
    private let source: Source
    /// Changes of the phase run one after the other.
    private let turns = Mutex<Task<Void, Never>?>(nil)

    /// The events' way to the store, which comes and goes.
    private final class Source: Sendable {
        let core = Mutex<OpenCore?>(nil)

        var account: WhisperID? { self.core.withLock { $0 }?.id }

        /// Numbered events behind a number.
        @Sendable func events(after number: Int64) throws -> [(number: Int64, event: [UInt8])] {
            guard let core = self.core.withLock({ $0 }) else { return [] }
            let account = core.id
            return try core.store.events.events(after: number, limit: CoreLimits.eventsReadMax).compactMap { event in
                EventText.event(event, account: account).map { (event.number, $0) }
            }
        }
    }

    // MARK: Life

    /// Opens the folder. It does not connect: the verb `connect` does.
    /// - Parameters:
    ///   - key: seals the store, and is kept until the core goes. A plain store is sealed with it, once.
    ///   - confirmation: whether a store of an earlier release may be brought up to date, and one of a later release back.
    /// - Throws: `.config`, `.locked`, `.wrongKey`, `.notADatabase`, `.needsUpgrade`, `.needsDowngrade`, `.tooNew`, `.store`.
    public static func open(
        _ configuration: CoreConfiguration, key: [UInt8]? = nil,
        confirmation: CoreConfiguration.Confirmation = .yesUp
    ) throws(CoreError) -> Core {
        try self.open(
            configuration, key: key, confirmation: confirmation, link: Self.network, radio: Self.socketRadio)
    }

    /// - Parameters:
    ///   - link: the network, or a script in tests.
    ///   - radio: for phones nearby.
    package static func open(
        _ configuration: CoreConfiguration, key: [UInt8]? = nil,
        confirmation: CoreConfiguration.Confirmation = .yesUp, link: @escaping Linker,
        radio: @escaping RadioMaker = { _ in nil }
    ) throws(CoreError) -> Core {
        try configuration.checkDevice()
        var storeKey: StoreKey?
        if let key { storeKey = try configuration.storeKey(key) }
        guard storeKey != nil || configuration.keyKind == .raw else {
            throw CoreError(.config, "is missing", field: "key")
        }
        let core = Core(configuration, key: storeKey, link: link, radio: radio)
        guard Profile.exists(at: configuration.folder) else { return core }
        try Self.checkMigrations(configuration, storeKey, confirmation)
        core.phase.withLock { $0 = .closed }
        let opened = try core.openProfile { key throws(ProfileError) in
            try Profile.open(at: configuration.folder, key: key)
        }
        core.phase.withLock { $0 = .open(opened) }
        return core
    }

    /// A core whose store has a passphrase that nobody has given yet. It is suspended until `unlock`.
    package static func waiting(
        _ configuration: CoreConfiguration, link: Linker? = nil
    ) throws(CoreError) -> Core {
        try configuration.checkDevice()
        let core = Core(configuration, key: nil, link: link ?? Self.network, radio: Self.socketRadio)
        core.phase.withLock { $0 = .suspended }
        return core
    }

    private init(
        _ configuration: CoreConfiguration, key: StoreKey?, link: @escaping Linker, radio: @escaping RadioMaker
    ) {
        self.settings = Mutex(configuration)
        self.key = Mutex(key)
        self.link = link
        self.radio = radio
        self.phase = Mutex(.noIdentity)
        let source = Source()
        self.source = source
        self.feed = EventFeed(read: source.events)
        _ = self.feeds.add(self.feed)
    }

    private static func checkMigrations(
        _ configuration: CoreConfiguration, _ key: StoreKey?, _ confirmation: CoreConfiguration.Confirmation
    ) throws(CoreError) {
        let migrations: ClientStore.Migrations
        do throws(ProfileError) {
            migrations = try Profile.migrations(at: configuration.folder, key: key)
        } catch {
            throw CoreError(of: error)
        }
        switch migrations {
        case .none: return
        case .tooNew: throw CoreError(.tooNew)
        case .pending(let steps):
            guard confirmation == .error else { return }
            var error = CoreError(.needsUpgrade)
            error.steps = steps
            throw error
        case .reversible(let steps):
            guard confirmation == .yesUpDown else {
                var error = CoreError(.needsDowngrade)
                error.steps = steps
                throw error
            }
            do throws(ProfileError) {
                try Profile.stepDown(at: configuration.folder, key: key)
            } catch {
                throw CoreError(of: error)
            }
        }
    }

    private static let network: Linker = { configuration in
        guard let server = ServerAddress(configuration.server) else {
            throw CoreError(.config, "is no address of a server", field: "serverUrl")
        }
        do throws(LinkError) {
            return try NetworkLink(server, authorityFile: configuration.authorityFile)
        } catch {
            throw CoreError(.config, "cannot be read", field: "caFile")
        }
    }

    private static let socketRadio: RadioMaker = { configuration in
        guard let radio = configuration.radio else { return nil }
        return socketLink(path: String(radio.dropFirst(CoreConfiguration.radioPrefix.count)))
    }

    /// Nothing is printed, whatever happens.
    private static func logger(_ configuration: CoreConfiguration, _ feeds: EventFeeds) -> Logger {
        Logger(label: "whisper-core") { _ in
            guard let level = configuration.logLevel else { return SwiftLogNoOpLogHandler() }
            return EventLog(level) { feeds.push($0, .log) }
        }
    }

    private func openProfile(
        _ open: (StoreKey?) throws(ProfileError) -> Profile
    ) throws(CoreError) -> OpenCore {
        let profile: Profile
        do throws(ProfileError) { profile = try open(self.key.withLock { $0 }) } catch { throw CoreError(of: error) }
        do {
            if let server = ServerAddress(self.configuration.server) { try profile.store.settings.set(server: server) }
            try profile.store.settings.set(authorityFile: self.configuration.authorityFile)
            let (feeds, source, watchers) = (self.feeds, self.source, self.watchers)
            let origin = (ServerAddress(self.configuration.server) ?? .local).origin
            let (configuration, radio) = (self.configuration, self.radio)
            let opened = try OpenCore(
                profile, server: try self.link(configuration), configuration: configuration,
                logger: Self.logger(configuration, feeds), radio: { radio(configuration) }
            ) { event in
                defer { watchers.tell(event) }
                if let thing = Holds.Thing(endedBy: event) { source.core.withLock { $0 }?.holds.isOver(thing) }
                let kind: EventFeed.Kind = event.isKept ? .kept : .passing
                if case .live(let id, let news) = event {
                    let text = EventText.event(id, news, origin: origin, account: source.account)
                    if let text { feeds.push(text, .passing) }
                    return
                }
                if case .room(let room, let news) = event {
                    let text = EventText.event(room, news, origin: origin, account: source.account)
                    if case .data = news { return feeds.push(text, .data) }
                    return feeds.push(text, .passing)
                }
                feeds.push(EventText.event(event, account: source.account) ?? [], kind)
            }
            self.source.core.withLock { $0 = opened }
            return opened
        } catch {
            profile.close()
            throw (error as? CoreError) ?? CoreError(.store)
        }
    }

    /// Ends connection and store, and lets go of the folder. The reader of events gets `nil`. Doing it twice is harmless.
    public func close() async {
        await self.inTurn {
            guard let opened = self.leave(for: .closed) else { return self.feeds.close() }
            await opened.close()
            self.feeds.close()
        }
    }

    /// Ends connection and store, and lets go of the folder until `resume`. For apps that go to the background.
    public func suspend() async throws(CoreError) {
        try await self.inTurn { () -> Result<Void, CoreError> in
            switch self.phase.withLock({ $0 }) {
            case .closed: return .failure(CoreError(.closed))
            case .noIdentity, .suspended: return .success(())
            case .open:
                await self.leave(for: .suspended)?.close()
                return .success(())
            }
        }.get()
    }

    /// Opens the folder again. It does not connect.
    /// - Throws: as `open`.
    public func resume() async throws(CoreError) {
        try await self.inTurn { () -> Result<Void, CoreError> in
            switch self.phase.withLock({ $0 }) {
            case .closed: return .failure(CoreError(.closed))
            case .noIdentity, .open: return .success(())
            case .suspended:
                do throws(CoreError) {
                    _ = try self.openAgain()
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }.get()
    }

    private func openAgain() throws(CoreError) -> OpenCore {
        let folder = self.configuration.folder
        let opened = try self.openProfile { key throws(ProfileError) in try Profile.open(at: folder, key: key) }
        self.phase.withLock { $0 = .open(opened) }
        return opened
    }

    // MARK: Store

    /// Seals the store with another key of the configuration's kind, under a new file id. A plain store is sealed.
    ///
    /// The core is suspended meanwhile, and connects again if it was connected. A crash leaves the store under either key.
    /// - Throws: `.config`, `.noIdentity`, `.closed`, `.locked`, `.store`.
    public func rekey(_ key: [UInt8]) async throws(CoreError) {
        if case .noIdentity = self.phase.withLock({ $0 }) { throw CoreError(.noIdentity) }
        try await self.rekey(key, of: self.configuration.keyKind)
    }

    /// The same with a key of another kind. It also seals the store of an identity that is yet to be made.
    package func rekey(_ key: [UInt8], of kind: CoreConfiguration.KeyKind) async throws(CoreError) {
        var configuration = self.configuration
        configuration.keyKind = kind
        let newKey = try configuration.storeKey(key)
        let keep: @Sendable () -> Void = {
            self.settings.withLock { $0.keyKind = kind }
            self.key.withLock { $0 = newKey }
        }
        try await self.inTurn { () -> Result<Void, CoreError> in
            let phase = self.phase.withLock { $0 }
            switch phase {
            case .closed: return .failure(CoreError(.closed))
            case .noIdentity: return .success(keep())
            case .open, .suspended: break
            }
            var isConnecting = false
            if case .open(let opened) = phase {
                isConnecting = opened.isConnecting
                await self.leave(for: .suspended)?.close()
            }
            var failure: CoreError?
            let (folder, oldKey) = (self.configuration.folder, self.key.withLock { $0 })
            let refused = await Blocking.run { () -> ProfileError? in
                do throws(ProfileError) { try Profile.rekey(at: folder, from: oldKey, to: newKey) } catch {
                    return error
                }
                return nil
            }
            if let refused { failure = CoreError(of: refused) } else { keep() }
            if case .open = phase {
                do throws(CoreError) {
                    let opened = try self.openAgain()
                    if isConnecting { try await opened.connect() }
                } catch {
                    failure = failure ?? error
                }
            }
            return failure.map { .failure($0) } ?? .success(())
        }.get()
    }

    /// The kind of key that the store has, or will have; `nil` if it is plain.
    package var keyKind: CoreConfiguration.KeyKind? {
        self.key.withLock { $0 } == nil ? nil : self.configuration.keyKind
    }

    /// Whether the store needs its passphrase before it can be opened.
    package var isWaiting: Bool {
        guard case .suspended = self.phase.withLock({ $0 }) else { return false }
        return self.configuration.keyKind == .passphrase && self.keyKind == nil
    }

    /// A text that the host keeps here (`host_set`); `nil` if there is none, or the store is not open.
    package func hostValue(_ key: String) -> String? {
        guard case .open(let opened) = self.phase.withLock({ $0 }) else { return nil }
        return try? opened.store.hostValues().first { $0.key == key }?.value
    }

    /// The number of the newest message; 0 if there is none, or the store is not open.
    package var newestNumber: Int64 {
        guard case .open(let opened) = self.phase.withLock({ $0 }) else { return 0 }
        return (try? opened.store.messages.newestNumber()) ?? 0
    }

    /// Messages behind a number that are not read, in chats that are not muted.
    package func loudUnreadCount(after number: Int64) -> Int {
        guard case .open(let opened) = self.phase.withLock({ $0 }) else { return 0 }
        return (try? opened.store.messages.loudUnreadCount(after: number)) ?? 0
    }

    /// Opens the store of a waiting core. It does not connect.
    /// - Parameter keepsServer: whether the configuration's server counts, and not the store's.
    /// - Throws: as `open`.
    package func unlock(_ passphrase: [UInt8], keepsServer: Bool) async throws(CoreError) {
        let key = try self.configuration.storeKey(passphrase)
        try await self.inTurn { () -> Result<Void, CoreError> in
            // Another window was faster.
            guard self.isWaiting else { return self.isKey(passphrase) ? .success(()) : .failure(CoreError(.wrongKey)) }
            let configuration = self.configuration
            let read = await Blocking.run { Self.place(of: configuration, key) }
            guard case .success(let place) = read else { return read.map { _ in () } }
            self.settings.withLock { settings in
                if !keepsServer, let server = place.server { settings.server = server }
                settings.authorityFile = settings.authorityFile ?? place.authorityFile
            }
            self.key.withLock { $0 = key }
            do throws(CoreError) {
                _ = try self.openAgain()
                return .success(())
            } catch {
                self.key.withLock { $0 = nil }
                return .failure(error)
            }
        }.get()
    }

    /// The server that a store has, and the certificates to trust. A store of an earlier release is brought up to date.
    private static func place(
        of configuration: CoreConfiguration, _ key: StoreKey
    ) -> Result<(server: String?, authorityFile: String?), CoreError> {
        do throws(CoreError) { try self.checkMigrations(configuration, key, .yesUp) } catch { return .failure(error) }
        do {
            let profile = try Profile.open(at: configuration.folder, key: key)
            defer { profile.close() }
            let settings = profile.store.settings
            return .success((try settings.server().map { "\($0)" }, try settings.authorityFile()))
        } catch {
            return .failure((error as? ProfileError).map { CoreError(of: $0) } ?? CoreError(.store))
        }
    }

    /// Whether the host gave this key.
    package func isKey(_ key: [UInt8]) -> Bool { self.key.withLock { $0 }?.isMade(of: key) ?? false }

    /// Writes the identity to a file, sealed with a key of the configuration's kind: contacts and messages, but no session.
    /// - Throws: `.config` if something stands there; `.noIdentity`, `.suspended`, `.closed`, `.store`.
    public func export(to path: String, key: [UInt8]) throws(CoreError) {
        let key = try self.configuration.storeKey(key)
        let opened = try self.opened()
        do throws(ProfileError) {
            try opened.profile.export(to: path, key: key)
        } catch .exists {
            throw CoreError(.config, "exists already", field: "path")
        } catch {
            throw CoreError(of: error)
        }
    }

    /// Makes the configuration's folder of a file that `export` has written. It stays sealed with the same key.
    /// - Throws: `.config`, `.identityExists`, `.locked`, `.wrongKey`, `.notADatabase`, `.tooNew`, `.store`.
    public static func importing(
        _ path: String, configuration: CoreConfiguration, key: [UInt8]
    ) throws(CoreError) {
        let key = try configuration.storeKey(key)
        guard let server = ServerAddress(configuration.server) else { throw CoreError(.config, field: "serverUrl") }
        do throws(ProfileError) {
            try Profile.importing(
                path, to: configuration.folder, server: server, authorityFile: configuration.authorityFile, key: key)
        } catch {
            throw CoreError(of: error)
        }
    }

    /// Deletes an identity's folder: words, messages and all. It needs no key, and cannot be taken back.
    /// - Returns: whether there was one.
    /// - Throws: `.locked` if somebody has it open, `.store` if a file cannot be deleted.
    public static func wipe(folder: String) throws(CoreError) -> Bool {
        do throws(ProfileError) { return try Profile.wipe(at: folder) } catch { throw CoreError(of: error) }
    }

    /// The same for the identity that is open. The core is then as one without an identity.
    /// - Returns: whether its files are gone. If not, the core is suspended.
    func wipe() async -> Bool {
        await self.inTurn {
            guard case .open = self.phase.withLock({ $0 }) else { return false }
            await self.leave(for: .suspended)?.close()
            let folder = self.configuration.folder
            let hadKey = Profile.hasKey(in: folder)
            let isWiped = await Blocking.run { (try? Profile.wipe(at: folder)) ?? false }
            guard isWiped else { return false }
            // A key that lay in the folder is erased with it: it must not seal what comes next.
            if hadKey { self.key.withLock { $0 = nil } }
            self.feeds.unsubscribeAll()
            self.phase.withLock { $0 = .noIdentity }
            return true
        }
    }

    private func leave(for phase: Phase) -> OpenCore? {
        self.requests.cancel()
        self.source.core.withLock { $0 = nil }
        defer { self.watchers.wake() }
        return self.phase.withLock { now in
            defer { now = phase }
            if case .open(let opened) = now { return opened }
            return nil
        }
    }

    /// Runs one change of the phase after the other.
    private func inTurn<Value: Sendable>(_ change: @escaping @Sendable () async -> Value) async -> Value {
        let mine = self.turns.withLock { turn in
            let before = turn
            let mine = Task {
                await before?.value
                return await change()
            }
            turn = Task { _ = await mine.value }
            return mine
        }
        return await mine.value
    }

    // MARK: Identity

    /// Makes the folder an identity's.
    /// - Parameters:
    ///   - passphrase: printable ASCII.
    ///   - invitation: a link or its token.
    /// - Throws: `.config` if there is a passphrase and no key.
    func make(
        _ mnemonic: Mnemonic, passphrase: String? = nil, invitation: String? = nil
    ) async throws(CoreError) {
        if let passphrase {
            guard Mnemonic.isPassphrase(passphrase) else {
                throw CoreError(.invalidField, "has other characters than printable ASCII", field: "passphrase")
            }
            guard self.key.withLock({ $0 }) != nil else {
                throw CoreError(.config, "is missing: only a sealed store takes a passphrase", field: "key")
            }
        }
        let invitation = try self.invitation(invitation)
        try await self.inTurn { () -> Result<Void, CoreError> in
            switch self.phase.withLock({ $0 }) {
            case .open, .suspended: return .failure(CoreError(.identityExists))
            case .closed: return .failure(CoreError(.closed))
            case .noIdentity: break
            }
            guard let server = ServerAddress(self.configuration.server) else { return .failure(CoreError(.config)) }
            let configuration = self.configuration
            do throws(CoreError) {
                let opened = try self.openProfile { key throws(ProfileError) in
                    try Profile.create(
                        at: configuration.folder, mnemonic: mnemonic, passphrase: passphrase ?? "", server: server,
                        authorityFile: configuration.authorityFile, invitation: invitation, key: key)
                }
                self.phase.withLock { $0 = .open(opened) }
                return .success(())
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// Chooses the server of an identity that is yet to be made.
    /// - Throws: `.identityExists`, `.closed`.
    func choose(_ server: ServerAddress) throws(CoreError) {
        switch self.phase.withLock({ $0 }) {
        case .noIdentity: self.settings.withLock { $0.server = "\(server)" }
        case .open, .suspended: throw CoreError(.identityExists)
        case .closed: throw CoreError(.closed)
        }
    }

    /// Whether a server of Whisper answers at an address.
    func answers(at server: ServerAddress) async throws(CoreError) -> Bool {
        var configuration = self.configuration
        configuration.server = "\(server)"
        do {
            return try await self.link(configuration).answersPing()
        } catch {
            return false
        }
    }

    /// - Parameter text: a link or its token.
    /// - Throws: `.invalidField` if it is neither, or for another server.
    func invitation(_ text: String?) throws(CoreError) -> InvitationToken? {
        guard let text else { return nil }
        guard let link = InvitationLink(text) else {
            throw CoreError(.invalidField, "is no invitation", field: "invitation")
        }
        guard link.server == nil || link.server == ServerAddress(self.configuration.server) else {
            throw CoreError(.invalidField, "is for another server", field: "invitation")
        }
        return link.token
    }

    /// Connects, for the verb.
    /// - Parameter invitation: for an identity that the server does not know yet.
    func connect(invitation: String?) async throws {
        let opened = try self.opened()
        let token = try self.invitation(invitation)
        if let token, opened.id == nil { try opened.store.settings.set(invitation: token) }
        try await opened.connect()
    }

    /// - Throws: `.noIdentity`, `.suspended`, `.closed`.
    func opened() throws(CoreError) -> OpenCore {
        switch self.phase.withLock({ $0 }) {
        case .noIdentity: throw CoreError(.noIdentity)
        case .open(let opened): return opened
        case .suspended: throw CoreError(.suspended)
        case .closed: throw CoreError(.closed)
        }
    }

    // MARK: Commands

    /// Does one command: a verb, or a verb, a space and one JSON object.
    /// - Parameter command: at most `CoreLimits.commandBytesMax` bytes.
    /// - Returns: one JSON object with `result` or `error`, and `corrId` if the command had one.
    public func perform(_ command: String) async -> String {
        String(decoding: await self.perform(Array(command.utf8)), as: UTF8.self)
    }

    /// The same for verbs that change nothing: they read on the caller's thread, between two writes.
    public func query(_ command: String) -> String {
        String(decoding: self.query(Array(command.utf8)), as: UTF8.self)
    }

    package func perform(_ text: [UInt8]) async -> [UInt8] {
        do throws(Command.Refused) {
            let command = try Command.read(text)
            return Self.answer(await self.outcome(of: command, for: self.feed), corrID: command.corrID)
        } catch {
            return Self.answer(.error(error.error), corrID: error.corrID)
        }
    }

    package func query(_ text: [UInt8]) -> [UInt8] {
        do throws(Command.Refused) {
            let command = try Command.read(text)
            let outcome: Outcome
            switch command.verb.work {
            case .read(let read):
                outcome = self.written(by: command.verb) { json in
                    try read(try self.opened(), command.parameters, &json)
                }
            case .look(let look):
                outcome = self.written(by: command.verb) { json in try look(self, command.parameters, &json) }
            default: outcome = .error(CoreError(.notReadOnly))
            }
            return Self.answer(outcome, corrID: command.corrID)
        } catch {
            return Self.answer(.error(error.error), corrID: error.corrID)
        }
    }

    /// Runs a verb whose parameters come apart from its name.
    /// - Parameter seat: of the calling program; `nil` for the core's own reader.
    func outcome(ofVerb name: String, _ parameters: [UInt8], at seat: CoreSeat?) async -> Outcome {
        do throws(Command.Refused) {
            let command = try Command.read(verb: name, parameters)
            return await self.outcome(of: command, for: seat?.feed ?? self.feed)
        } catch {
            return .error(error.error)
        }
    }

    private func outcome(of command: Command, for feed: EventFeed) async -> Outcome {
        let (verb, parameters) = (command.verb, command.parameters)
        switch verb.work {
        case .core(let work):
            return await self.written(by: verb) { json in try await work(self, parameters, &json) }
        case .look(let look):
            return await Blocking.run { self.written(by: verb) { json in try look(self, parameters, &json) } }
        case .read(let read):
            return await Blocking.run {
                self.written(by: verb) { json in try read(try self.opened(), parameters, &json) }
            }
        case .store(let work):
            let reader = EventReader(feeds: self.feeds, feed: feed)
            return await Blocking.run {
                self.written(by: verb) { json in try work(reader, try self.opened(), parameters, &json) }
            }
        case .client(let work):
            return await self.written(by: verb) { json in try await work(try self.opened(), parameters, &json) }
        case .program(let work):
            return await self.written(by: verb) { json in
                let opened = try self.opened()
                let holder = Holder(holds: opened.holds, feeds: self.feeds, feed: feed)
                try await work(holder, opened, parameters, &json)
            }
        case .server(let work): return self.ask(command, for: feed, work)
        case .leaving(let work):
            return self.ask(command, for: feed) { opened, parameters, json in
                try await work(self, opened, parameters, &json)
            }
        }
    }

    private func ask(
        _ command: Command, for feed: EventFeed,
        _ work: @escaping @Sendable (OpenCore, Payload, inout JSONWriter) async throws -> Void
    ) -> Outcome {
        let opened: OpenCore
        do throws(CoreError) { opened = try self.opened() } catch { return .error(error) }
        let account = opened.id
        let number = self.requests.start { number in
            let outcome = await self.written(by: command.verb) { json in
                try await work(opened, command.parameters, &json)
            }
            let answer = EventText.answer(
                number, verb: command.verb.name, outcome, corrID: command.corrID, account: opened.id ?? account)
            if let corrID = command.corrID { self.answers.keep(outcome, of: command.verb.name, for: corrID) }
            feed.push(answer, .passing)
        }
        guard let number else { return .error(CoreError(.tooMany)) }
        var json = JSONWriter()
        json.add("type", "asked")
        json.add("request", number)
        return .result(json.finished())
    }

    private func written(by verb: Verb, _ write: (inout JSONWriter) throws -> Void) -> Outcome {
        var json = JSONWriter()
        json.add("type", verb.type)
        do {
            try write(&json)
            return .result(json.finished())
        } catch {
            return .error(self.described(error).naming(verb))
        }
    }

    private func written(by verb: Verb, _ write: (inout JSONWriter) async throws -> Void) async -> Outcome {
        var json = JSONWriter()
        json.add("type", verb.type)
        do {
            try await write(&json)
            return .result(json.finished())
        } catch {
            return .error(self.described(error).naming(verb))
        }
    }

    func described(_ error: any Error) -> CoreError {
        switch error {
        case let error as CoreError: error
        case let error as SendError: CoreError(of: error)
        case let error as ContactError: CoreError(of: error)
        case .store as LiveError: self.described(ClientStoreError.failed(""))
        case is WhispererMachine.Full: CoreError(.tooMany)
        case let error as LiveError: CoreError(of: error)
        case let error as InquiryError: CoreError(of: error)
        case let error as CallError: CoreError(of: error)
        case let error as NearbyError: CoreError(of: error)
        case let error as GroupError: CoreError(of: error)
        case .store as FileError: self.described(ClientStoreError.failed(""))
        case let error as FileError: CoreError(of: error)
        case .refused(let refusal) as ChangeError: CoreError(of: refusal)
        case .send(let error) as ChangeError: CoreError(of: error)
        // The store of a core that was closed meanwhile fails.
        case is ClientStoreError:
            switch self.phase.withLock({ $0 }) {
            case .closed: CoreError(.closed)
            case .suspended: CoreError(.suspended)
            case .open, .noIdentity: CoreError(.store)
            }
        default: CoreError(.internal)
        }
    }

    private static func answer(_ outcome: Outcome, corrID: String?) -> [UInt8] {
        var json = JSONWriter()
        json.add("corrId", corrID)
        outcome.write(&json)
        return json.finished()
    }

    // MARK: Events

    /// The next event. One task or thread may wait at a time.
    /// - Parameter timeout: `nil` waits as long as the core is open.
    /// - Returns: one JSON object; an empty text if the time is over or `interrupt` was called; `nil` once it is closed.
    public func nextEvent(within timeout: Duration? = nil) async -> String? {
        let deadline = timeout.map { DispatchTime.now() + .milliseconds($0.wholeMilliseconds) }
        return await Blocking.run { self.nextEvent(until: deadline) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The same on the caller's thread.
    package func nextEvent(until deadline: DispatchTime?) -> [UInt8]? {
        Self.text(of: self.feed.next(until: deadline))
    }

    static func text(of next: EventFeed.Next) -> [UInt8]? {
        switch next {
        case .event(let event): event
        case .nothing: []
        case .closed: nil
        case .busy: Self.answer(.error(CoreError(.busyReader)), corrID: nil)
        }
    }

    /// Ends the current wait for an event, or the next one.
    public func interrupt() { self.feed.interrupt() }

    /// From here on events are read at seats alone: nothing waits for a reader of the core itself.
    package func leaveEventsToSeats() { self.feeds.remove(self.feed) }

    /// A place for one more program, which reads events faster than it does them: `CoreLimits.eventsUnacknowledgedMax`.
    /// - Parameters:
    ///   - handOver: how long the program waits for the one before it to be gone.
    ///   - grace: how long things that it holds stay open when it has gone. The next program of its consumer takes them.
    /// - Returns: `nil` if there are `CoreLimits.seatsMax` already, or the core is closed.
    package func seat(
        handOver: DispatchTimeInterval = CoreLimits.handOver, grace: Duration = .zero
    ) -> CoreSeat? {
        let feed = EventFeed(handOver: handOver, grace: grace, read: self.source.events)
        feed.bound(unacknowledged: CoreLimits.eventsUnacknowledgedMax)
        return self.feeds.add(feed) ? CoreSeat(self, feed) : nil
    }

    /// The reader of a consumer is told by the event `taken`, and reads its numbered events no more.
    func take(_ consumer: String) {
        self.feeds.take(consumer, telling: EventText.taken)
    }

    /// As the verb `events_unsubscribe`.
    package func forget(_ consumer: String) async {
        var json = JSONWriter()
        json.add("consumer", consumer)
        _ = await self.outcome(ofVerb: "events_unsubscribe", json.finished(), at: nil)
    }

    /// The program that reads for a consumer; `nil` if none does.
    package func seat(of consumer: String) -> CoreSeat? {
        self.feeds.reader(of: consumer).map { CoreSeat(self, $0) }
    }

    /// Whether there is a session with the server, and what the verb `session_status` says.
    package func check() async -> (isOnline: Bool, status: [UInt8]) {
        let isOnline = await self.status.opened?.client.isOnline ?? false
        guard case .result(let status) = await self.outcome(ofVerb: "session_status", [0x7B, 0x7D], at: nil) else {
            return (false, [])
        }
        return (isOnline, status)
    }

    func remove(_ seat: CoreSeat) {
        self.feeds.remove(seat.feed)
        guard let opened = try? self.opened() else { return }
        guard seat.feed.grace > .zero else { return opened.endThings(of: seat.feed) }
        // Nobody waits: the program may have gone for good.
        Task {
            try? await Task.sleep(for: seat.feed.grace)
            opened.endThings(of: seat.feed)
        }
    }

    /// A program waits for another one's consumer.
    var hasWaitingReader: Bool { self.feeds.hasWaiting }

    /// The core's own part of the verb `session_status`.
    var status: (phase: StaticString, opened: OpenCore?) {
        switch self.phase.withLock({ $0 }) {
        case .noIdentity: ("noIdentity", nil)
        case .open(let opened): ("open", opened)
        case .suspended: ("suspended", nil)
        case .closed: ("closed", nil)
        }
    }
}

extension CoreError {
    init(of error: SendError) {
        switch error {
        case .empty: self.init(.invalidField, "is empty", field: "text")
        case .tooLong: self.init(.tooLong, "has too many bytes", field: "text")
        case .toSelf: self.init(.toSelf)
        case .unknownContact: self.init(.unknownContact)
        case .bannedContact: self.init(.bannedContact)
        case .blockedContact: self.init(.blockedContact)
        case .unknownGroup: self.init(.notFound, "There is no such group.")
        case .notMember: self.init(.notMember)
        case .store: self.init(.store)
        }
    }

    init(of refusal: ChangeRefusal) {
        switch refusal {
        case .notFound: self.init(.notFound, field: "messageId")
        case .notText: self.init(.notText, field: "messageId")
        case .tooMany: self.init(.tooMany)
        case .notAllowed: self.init(.forbidden, "Only the owner and admins of the group may.")
        }
    }

    init(of fault: ContactLink.Fault) {
        switch fault {
        case .malformed: self.init(.invalidField, "is no link that this release reads", field: "link")
        case .newer: self.init(.newerLink, field: "link")
        }
    }

    init(of error: ContactError) {
        switch error {
        case .isSelf: self.init(.toSelf)
        case .noSuchPerson: self.init(.notFound, "Nobody has this Whisper ID.")
        case .offline: self.init(.offline)
        case .foreignKeys: self.init(.foreignKeys)
        case .changedKeys: self.init(.changedKeys)
        case .nameTaken: self.init(.nameTaken, field: "name")
        case .server: self.init(.server)
        case .unreachable: self.init(.unreachable)
        case .store: self.init(.store)
        }
    }
}

extension Duration {
    /// At most a day: longer waits are repeated.
    var wholeMilliseconds: Int {
        let parts = self.components
        guard parts.seconds < 86_400 else { return 86_400_000 }
        return Int(parts.seconds * 1_000 + parts.attoseconds / 1_000_000_000_000_000)
    }
}
