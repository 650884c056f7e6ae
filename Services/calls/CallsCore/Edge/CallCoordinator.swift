package import Bus
package import ClusterContract
import Contract
import Jobs
package import Logging
import Participants
package import Store
import Telemetry

/// One calls process: owns shares of all calls, and does for them what Jobs say, batch after batch.
///
/// A batch is everything that has arrived meanwhile, committed in one transaction. After the commit the gateways and push
/// hear of it, and only then the Jobs leave their streams.
package actor CallCoordinator: PartitionOwner {
    let configuration: CallsConfiguration
    let bus: any Bus
    let store: PostgresConnection
    let logger: Logger
    let metrics = CallMetrics()
    let answers: AnswerLog
    private let worker: PartitionWorker<CallShare>

    var book = CallBook()
    /// Nodes that did not hear a Notice since the last batch.
    var silentNodes: Set<NodeID> = []
    /// Calls that had lost a slot at the last check. The next batch ends them.
    var callsMissingSlot: Set<UUIDText> = []
    /// The key of the latest period in which a client asked for relays.
    var relayKey: (period: RelayPeriod, key: [UInt8])?
    /// Wake-ups that the bus did not take.
    var owedWakes: [Wake] = []
    /// When nodes did not hear a Notice: for a while their connections count as gone, whatever presence says.
    var silentSince: [NodeID: ContinuousClock.Instant] = [:]
    /// Somebody should look where the missing sides of calls are, and when somebody did.
    var shouldLocate = false
    var locatedAt: ContinuousClock.Instant?
    private var seenAt: ContinuousClock.Instant?
    private var measuredAt: ContinuousClock.Instant?
    /// Since then Redis and Postgres have been there, to note who is connected.
    var notedSince: Timestamp = .now
    /// The ages of Jobs, by the clock of Redis. Read anew when Redis was emptied: another may have taken its place.
    private var ages: EntryAges?

    /// - Parameter store: a connection for this process alone; its locks say what the process owns.
    package init(configuration: CallsConfiguration, bus: any Bus, store: PostgresConnection, logger: Logger) {
        self.configuration = configuration
        self.bus = bus
        self.store = store
        self.logger = logger
        self.answers = AnswerLog(logger)
        self.worker = PartitionWorker(
            bus: bus, store: store, leases: .calls(CallShare.count, frozenAfter: OwnerLimits.frozenAfter),
            leaseInterval: configuration.leaseInterval, logger: logger)
    }

    /// By the database's clock: calls end and are forgotten by it (contract §13a, Time). One that is taken over must not look old
    /// because the clock of the process that has it now is another.
    var now: Timestamp { self.worker.time.now }

    // MARK: Life

    /// Works until cancelled, or until a drain has ended.
    package func run() async throws { try await self.worker.run(self) }

    /// Finishes the batch under way, gives all shares up and stops.
    package func drain() async { await self.worker.drain() }

    /// Whether Jobs are being handled.
    package var isReady: Bool { self.worker.isReady }

    package func joined() { self.notedSince = self.now }

    package func left(because error: (any Error)?) async {
        if let error { self.logger.warning("calls interrupted", [.error: "\(error)"]) }
        self.book = CallBook()
        self.metrics.sharesLeased.set(0)
        self.metrics.active.set(0)
        // The next owners need not wait for what follows.
        await self.store.close()
        await self.measureStreams()
    }

    package func serve() async throws {
        while !Task.isCancelled, !self.worker.isDraining {
            try await self.look()
            let batch = try await self.intake()
            do {
                try await self.handle(batch)
            } catch StoreError.refused(let state, let message) where batch.isSingle {
                self.answers.gaveUp(batch.firstAsked, state: state, message: message)
            }
            for (share, through) in batch.positions { self.worker.trim(share, through: through) }
        }
    }

    // MARK: Intake

    private func intake() async throws(BusError) -> CallBatch {
        var batch = CallBatch()
        // With something to do already nobody waits for more.
        let isBusy = !self.silentNodes.isEmpty || self.shouldLocate
        batch.isSingle = self.worker.isIsolatingPoison
        let read =
            try await batch.isSingle
            ? self.worker.readOne()
            : self.worker.read(
                limit: OwnerLimits.jobsPerShareMax, blockFor: isBusy ? .milliseconds(1) : self.blockMax)
        for part in self.worker.advance(past: read) {
            batch.positions.append((part.share, part.through))
            for entry in part.entries {
                do throws(WireError) {
                    batch.add(try CallJob(decoding: entry.bytes), age: self.ages?.age(of: entry.id) ?? .zero)
                } catch {
                    self.logger.error("job not understood", [.error: "\(error)", .stream: "\(part.share.stream)"])
                }
            }
        }
        return batch
    }

    private var blockMax: Duration {
        self.book.all.isEmpty ? self.worker.readBlockMax : OwnerLimits.timedReadBlockMax
    }

    // MARK: Between batches

    private func look() async throws {
        guard try await self.worker.look(for: self) else { return }
        self.metrics.sharesLeased.set(self.worker.owned.count)
        if self.ages == nil { self.ages = EntryAges(serverTime: try await self.bus.time()) }
        await self.measureStreams()
        if !self.book.all.isEmpty {
            self.shouldLocate = true
            self.worker.stir()
        }
        if self.seenAt.map({ .now - $0 >= CallLimits.slotSeenInterval }) ?? true {
            self.seenAt = .now
            try await self.noteWhoIsSeen()
        }
    }

    package func took(_ shares: [CallShare]) async throws {
        let calls = try await CallTable.takeOver(shares, on: self.store)
        for call in calls {
            self.book.load(call)
            self.showInRedis(call)
            // Its predecessor may have died between the commit and this. Saying it twice does no harm: it is the same wake-up.
            if let wake = Wake(owedBecauseOf: call, at: self.now) { self.send(wake) }
        }
        self.shouldLocate = true
        self.logger.notice("shares taken", [.count: .number(self.worker.owned.count)])
        if !calls.isEmpty { self.logger.notice("calls taken over", [.count: .number(calls.count)]) }
    }

    package func gaveUp(_ shares: [CallShare]) {
        self.book.keep { self.worker.owned[$0.share] != nil }
        self.logger.notice("shares given up", [.count: .number(shares.count)])
    }

    /// Keys that may be lost are written anew, and wake-ups that may be lost are sent again.
    package func busHasLost(_ losses: BusLosses) {
        self.ages = nil
        // Connected clients announce themselves again.
        self.notedSince = self.now
        let wakesAreLost = losses.includes(Keyspace.callWakes.name)
        for call in self.book.all {
            let keys =
                CallSide.allCases.map { Keyspace.engaged(call.identity(of: $0), in: call.share) }
                + [Keyspace.call(call.callID)]
            if keys.contains(where: { losses.includes($0.name) }) { self.showInRedis(call) }
            if wakesAreLost, let wake = Wake(owedBecauseOf: call, at: self.now) { self.send(wake) }
        }
    }

    /// All streams, because while the database is away they have no owner, and most to tell.
    private func measureStreams() async {
        guard self.measuredAt.map({ .now - $0 >= CallLimits.streamsMeasuredEvery }) ?? true else { return }
        self.measuredAt = .now
        // Without the bus nobody knows; the gauge keeps what was last seen.
        guard let depths = try? await self.bus.depth(of: CallShare.all.map { Keyspace.calls($0).name }) else { return }
        self.metrics.busDepth.set(depths.reduce(0, +))
    }

    /// Notes who of the people in answered calls is connected, because the slot of an absent owner becomes free.
    ///
    /// Also finds calls that have lost a slot, perhaps to a call of another process.
    private func noteWhoIsSeen() async throws {
        self.callsMissingSlot = []
        let wakeIDs = self.book.all.filter { !$0.isOver }.map(\.wakeID)
        guard !wakeIDs.isEmpty else { return }
        let whole = try await self.store.query(BusySlotTable.whole(among: wakeIDs))
        self.callsMissingSlot = Set(wakeIDs).subtracting(whole)
        let calls = self.book.all.filter { $0.isAnswered }
        let identities = calls.flatMap { [$0.caller, $0.callee] }
        // One master of a cluster may be away. The identities are seen the next time, long before their slots are lost.
        guard let present = try? await self.legs(of: identities) else { return }
        let seen = identities.filter { present[$0] != nil }
        if !seen.isEmpty { _ = try await self.store.query(BusySlotTable.seen(seen, at: self.now)) }
    }

    /// Where these identities are, as their presence keys say.
    func legs(of identities: [WhisperID]) async throws(BusError) -> [WhisperID: CallLeg] {
        guard !identities.isEmpty else { return [:] }
        let forgotten = ContinuousClock.now - CallLimits.silenceRemembered
        self.silentSince = self.silentSince.filter { $0.value > forgotten }
        var legs: [WhisperID: CallLeg] = [:]
        let values = try await self.bus.get(identities.map { Keyspace.presence($0) })
        for (identity, value) in zip(identities, values) {
            guard let value, let presence = try? Presence(decoding: value) else { continue }
            guard self.silentSince[presence.node] == nil else { continue }
            legs[identity] = CallLeg(node: presence.node, connection: presence.connection)
        }
        return legs
    }

    /// A node did not hear a Notice; nil if the bus was away.
    func unheard(by node: NodeID?) {
        guard let node else { return }
        self.silentNodes.insert(node)
        self.silentSince[node] = .now
    }
}
