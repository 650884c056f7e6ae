package import Contract
package import Logging

/// The program that a client is part of, as the server learns it.
package struct Installation: Sendable {
    /// The contract knows two; everything that is not iOS calls itself the other.
    package var platform = Platform.android
    package var kind: ClientKind?
    /// Its id, if it has several identities: they share a push token. `nil`: the store draws one.
    package var device: UUIDText?

    package init(platform: Platform = .android, kind: ClientKind? = nil, device: UUIDText? = nil) {
        (self.platform, self.kind, self.device) = (platform, kind, device)
    }
}

/// One identity on one device: keeps the conversation with the server going and the store true.
///
/// `run` is the client's life; everything else may be called at any time, with or without a connection.
/// The machines decide, this actor acts. It runs on an executor of its own because the store blocks; between a decision
/// and its record in the store nothing suspends.
package actor WhisperClient {
    private nonisolated let executor = QueueExecutor(label: "whisper-client")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    let keys: IdentityKeys
    package nonisolated let store: ClientStore
    let server: any ServerLink
    let installation: Installation
    let deviceID: UUIDText
    let logger: Logger
    private let profile: Profile

    var session: SessionMachine
    var random = SystemRandomNumberGenerator()

    /// Known since the first login.
    package internal(set) var id: WhisperID?
    package internal(set) var token: StoredSession?
    var connection: (any OpenLink)?
    var reading = FrameReading()
    /// The challenge that `sendProof` answers, and whether the login names our id.
    var challenge: RegisterChallenge?
    var loginNamesID = false
    /// The server's clock less ours.
    var clockOffset = Duration.zero
    /// The time in the latest ping; grows with each, so that pongs can be told apart.
    var lastPing: Int64 = 0
    /// The last failure, as text for people.
    var trouble = ""

    /// Mail of strangers whose keys are being asked for.
    var strangers: [WhisperID: [MessageReceived]] = [:]
    /// The last page has come, and has not been announced.
    var owesCaughtUp = false
    var lookups: AsyncStream<WhisperID>.Continuation?

    // Live conversations (`Live/Engine`).
    package let streams: OwnStreams
    package let heard: HeardStreams
    package nonisolated let conversations: LiveConversationCommands
    package nonisolated let liveProfile: LiveProfile
    package let profileKeeper: ProfileKeeper
    let questions = Questions()
    /// Takes tasks of features that end with the connection.
    var tasks: AsyncStream<@Sendable (isolated WhisperClient) async -> Void>.Continuation?
    package let rooms: RoomVisits

    package let account: Account
    package let backup: Backup
    package let chats: Chats
    package let contacts: Contacts
    package let disappearing: Disappearing
    package let groups: KnownGroups
    package let nearby: Nearby
    package let outbox: Outbox
    package let presence: Presence
    package let receipts: Receipts
    package let calls: Calls
    package let transfers: Transfers

    /// Is told each event at once, on the client's own queue. It must not block, and not call back.
    private let observer: (@Sendable (ClientEvent) -> Void)?
    private var subscribers: [Int: AsyncStream<ClientEvent>.Continuation] = [:]
    private var subscriberCount = 0
    private var status: ConnectionStatus?
    /// Keys of alarms that were published already.
    private(set) var alarmed: Set<String> = []
    private let timer = WakeTimer()
    private let wallClock: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - server: the network, or a script in tests.
    ///   - wallClock: of this device. It may be wrong, and be set at any time.
    ///   - observer: is told each event at once, on the client's own queue. It must not block, and not call back.
    package init(
        profile: Profile, server: any ServerLink, installation: Installation = Installation(), logger: Logger,
        wallClock: @escaping @Sendable () -> Timestamp = { .now },
        observer: (@Sendable (ClientEvent) -> Void)? = nil
    ) throws(ClientStoreError) {
        self.profile = profile
        self.keys = profile.keys
        self.store = profile.store
        let live = LiveStore(profile.store, keys: profile.keys)
        self.streams = OwnStreams(keys: profile.keys, store: live, logger: logger)
        self.heard = HeardStreams(keys: profile.keys, store: live)
        self.conversations = LiveConversationCommands(store: live, server: server)
        self.liveProfile = LiveProfile(store: live, server: server)
        self.profileKeeper = ProfileKeeper(store: live, logger: logger)
        try live.noteTables(at: wallClock())
        self.rooms = RoomVisits(keys: profile.keys, store: profile.store, logger: logger)
        self.account = Account(keys: profile.keys, store: profile.store, server: server, logger: logger)
        self.chats = Chats(store: profile.store)
        self.receipts = Receipts(store: profile.store)
        self.backup = Backup(keys: profile.keys, store: profile.store, server: server, logger: logger)
        self.groups = KnownGroups(keys: profile.keys, store: profile.store, logger: logger)
        self.contacts = Contacts(store: profile.store, server: server)
        self.transfers = Transfers(store: profile.store, files: profile.files, server: server)
        self.disappearing = try Disappearing(store: profile.store, at: wallClock())
        self.presence = Presence(store: profile.store)
        self.calls = Calls(keys: profile.keys, store: profile.store, logger: logger)
        self.nearby = Nearby(keys: profile.keys, store: profile.store, logger: logger)
        self.server = server
        self.installation = installation
        self.logger = logger
        self.observer = observer
        self.wallClock = wallClock
        self.deviceID = try profile.store.settings.deviceID(installation.device)
        try profile.store.oweWakeSecret()
        self.id = try profile.store.settings.whisperID()
        self.token = try profile.store.settings.session()
        self.session = SessionMachine(knowsID: self.id != nil, at: .now)
        try profile.store.events.dropStaleEvents(at: wallClock())
        self.outbox = try Outbox(keys: profile.keys, store: profile.store, logger: logger)
    }

    // MARK: Life

    /// Connects, and stays connected until told otherwise. Cancelling the task closes the client.
    package func run() async -> StopReason {
        while true {
            if Task.isCancelled { self.session.leave() }
            switch self.session.nextStep(at: .now) {
            case .connect:
                self.publish(.connection(.connecting))
                await self.converse()
            case .wait(let until):
                self.publish(.connection(.away(why: self.trouble, retryIn: until - .now)))
                await self.timer.sleep(until: until)
            case .stop(let reason):
                if case .banned(let until) = reason { self.outbox.banned(Ban(until: until)) }
                self.publish(.connection(.stopped(reason)))
                for subscriber in self.subscribers.values { subscriber.finish() }
                return reason
            }
        }
    }

    /// Ends `run`, and calls with it. Queued messages stay queued.
    package func close() {
        self.calls.endAll(self)
        self.session.leave()
        self.hangUp()
        self.timer.wake()
    }

    /// Events from now on, starting with the state of the connection. The stream ends when `run` returns. A subscriber
    /// that falls behind loses the oldest events; the store has everything.
    package func events() -> AsyncStream<ClientEvent> {
        let (events, continuation) = AsyncStream.makeStream(
            of: ClientEvent.self, bufferingPolicy: .bufferingNewest(ClientLimits.eventsWaitingMax))
        self.subscriberCount += 1
        let number = self.subscriberCount
        self.subscribers[number] = continuation
        if let status { continuation.yield(.connection(status)) }
        continuation.onTermination = { [weak self] _ in
            // The stream ends outside the actor, and nobody waits for the subscription to be forgotten.
            Task { await self?.unsubscribe(number) }
        }
        return events
    }

    private func unsubscribe(_ number: Int) {
        self.subscribers[number] = nil
    }

    package func publish(_ event: ClientEvent) {
        switch event {
        case .connection(let status):
            self.status = status
            self.log(status)
        case .passing(.nearby(.radio(let state))): self.log(state)
        case .passing(.settings(let preferences)): self.presence.forget(preferences, self)
        case .alarm(let alarm) where !self.isNew(alarm): return
        case .restored, .backup, .alarm:
            self.withStore { try self.store.events.note(event) }
        // Kept with what they tell of, or of now alone.
        case .received, .changed, .contact, .request, .group, .caughtUp, .live, .room, .passing: break
        }
        if case .changed(let message) = event, message.content == .deleted { self.transfers.end(of: message) }
        if event.mayBringExpiry { self.disappearing.look(self) }
        self.observer?(event)
        for subscriber in self.subscribers.values { subscriber.yield(event) }
    }

    private func isNew(_ alarm: Alarm) -> Bool {
        guard self.alarmed.count < ClientLimits.rememberedIDsMax, self.alarmed.insert(alarm.key).inserted else {
            return false
        }
        self.logger.warning("something came that is not trusted; it was not taken")
        return true
    }

    package var isOnline: Bool { self.session.isBound }
    package var stopReason: StopReason? { self.session.stopReason }

    /// Frames of the server that broke the contract and were not taken, since the client began.
    package var refusedFrames: Int64 { self.reading.refused }

    // MARK: Time

    /// By our own clock, which a hostile server cannot turn back.
    var localNow: Timestamp { self.wallClock() }

    /// By the server's clock, as far as we know it.
    package var serverNow: Timestamp { self.localNow + self.clockOffset }

    func learn(serverTime: Timestamp) {
        let before = self.clockOffset
        self.clockOffset = serverTime - self.localNow
        self.disappearing.learned(serverTime, self)
        if self.session.isBound, self.clockOffset - before > ClientLimits.clockStepMin { self.judgeStaleMail() }
    }

    /// Wakes the machines when they asked for it. Lives as long as a connection.
    func keepTime() async {
        while !Task.isCancelled {
            await self.timer.sleep(until: self.nextWake)
            self.tick()
        }
    }

    /// To be called after anything that may have brought a deadline nearer.
    package func rearm() { self.timer.wake(ifBefore: self.nextWake) }

    /// To be called after an answer that ends the wait for it, where nothing else goes on. Else the thread would wake for
    /// nothing when the answer would have been overdue.
    func rearmLater() { self.timer.wake(ifAfter: self.nextWake) }

    private var nextWake: ContinuousClock.Instant? {
        let always = [self.session.nextWake, self.outbox.nextWake, self.presence.nextWake, self.calls.nextWake]
        let bound =
            [self.receipts.nextWake, self.streams.nextWake, self.heard.nextWake, self.rooms.nextWake]
            + [self.profileKeeper.nextWake]
        return (always + (self.session.isBound ? bound : [])).compactMap { $0 }.min()
    }

    package func pump() {
        do {
            try self.nearby.pump(self)
            try self.outbox.pump(self)
        } catch {
            return self.storeFailed(error)
        }
        self.receipts.pump(self)
        self.streams.pump(self)
        self.rearm()
    }

    private func tick() {
        self.perform(self.session.timerFired(at: .now, using: &self.random))
        self.outbox.tick(self)
        self.heard.tick(self)
        self.rooms.tick(self)
        self.profileKeeper.tick(self)
        self.presence.tick(self)
        self.calls.tick(self)
        self.pump()
    }
}
