package import Bus
import Contract
package import Logging
package import Store
import Telemetry

/// One calls process: owns shares of all calls, and does for them what Jobs say, batch after batch.
///
/// A batch is everything that has arrived meanwhile, committed in one transaction. After the commit the gateways and push
/// hear of it, and only then the Jobs leave their streams.
package actor CallCoordinator {
    let configuration: CallsConfiguration
    let bus: any Bus
    let store: PostgresConnection
    let logger: Logger
    let metrics = CallMetrics()
    let errors = ErrorMetrics()
    private let process = NodeID.random()
    private let leases = Leases.calls(CallShare.count, frozenAfter: CallLimits.frozenAfter)

    /// The shares that are ours, and the last entry read of each.
    var owned: [CallShare: EntryID] = [:]
    var book = CallBook()
    /// Nodes that did not hear a Notice since the last batch.
    var silentNodes: Set<NodeID> = []
    /// Calls that had lost a slot at the last check. The next batch ends them.
    var callsMissingSlot: Set<UUIDText> = []
    /// Of the latest period in which somebody asked for relays.
    var relayKey: (period: RelayPeriod, key: [UInt8])?
    /// Wake-ups that the bus did not take.
    var owedWakes: [Wake] = []
    /// When nodes did not hear a Notice: for a while their connections count as gone, whatever presence says.
    var silentSince: [NodeID: Int64] = [:]
    /// Somebody should look where the missing sides of calls are, and when somebody did.
    var shouldLocate = false
    var locatedAt: Int64 = 0
    private var lookedAt: Int64 = 0
    private var seenAt: Int64 = 0
    /// Since then Redis and Postgres have been there, to note who is connected.
    var notedSince: Timestamp = .now
    /// By the database's clock, asked at each look: calls end and are forgotten by it (contract §13a, Time). One that is taken
    /// over must not look old because the clock of the process that has it now is another.
    private var time = ToldTime(.now)
    /// Of Jobs, by the clock of Redis. Read anew when Redis was emptied: another may have taken its place.
    private var ages: EntryAges?
    private let canary: Canary
    /// Above 0: Jobs are taken one at a time.
    private var poisonIsolationReadsLeft = 0
    private var isDraining = false
    private var isServing = false
    private var drained: [CheckedContinuation<Void, Never>] = []

    /// - Parameter store: a connection for this process alone; its locks say what the process owns.
    package init(configuration: CallsConfiguration, bus: any Bus, store: PostgresConnection, logger: Logger) {
        self.configuration = configuration
        self.bus = bus
        self.store = store
        self.logger = logger
        self.canary = Canary(self.process)
    }

    var now: Timestamp { self.time.now }

    // MARK: Life

    /// Works until cancelled, or until a drain has ended.
    package func run() async throws {
        while !Task.isCancelled, !self.isDraining {
            do {
                try await self.join()
                self.isServing = true
                try await self.serve()
            } catch {
                self.logger.warning("calls interrupted", [.error: "\(error)"])
                if case StoreError.refused = error { self.poisonIsolationReadsLeft = CallLimits.poisonIsolationReads }
            }
            self.isServing = false
            await self.leave()
            await self.measureStreams()
            if !self.isDraining { try await Task.sleep(for: CallLimits.retryPause) }
        }
        for continuation in self.drained { continuation.resume() }
        self.drained = []
        // Whoever drains ends the process; until then there is nothing more to do.
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    /// Finishes the batch under way, gives all shares up and stops.
    package func drain() async {
        self.isDraining = true
        guard self.isServing else { return }
        await withCheckedContinuation { self.drained.append($0) }
    }

    /// Whether Jobs are being handled.
    package var isReady: Bool { self.isServing && !self.isDraining }

    private func join() async throws(StoreError) {
        try await self.store.connect()
        let answers = try await self.store.pipeline([self.leases.join, Self.timeStatement])
        self.time = ToldTime(try answers[1][0].decode(0))
        self.notedSince = self.now
        self.lookedAt = 0
    }

    /// Everything that was known is void: somebody else may own the shares by now.
    private func leave() async {
        self.owned = [:]
        self.book = CallBook()
        self.metrics.sharesLeased.set(0)
        self.metrics.active.set(0)
        await self.store.close()
    }

    private func serve() async throws {
        while !Task.isCancelled, !self.isDraining {
            try await self.look()
            let batch = try await self.intake()
            do {
                try await self.handle(batch)
            } catch StoreError.refused(let state, let message) where batch.isSingle {
                // One Job that the database will never take must not stop everything behind it. Whoever asked hears
                // nothing and gets INTERNAL_ERROR.
                self.logger.error("job given up", [.code: "\(state)", .error: "\(message)"])
            }
            for (share, through) in batch.positions { self.bus.trim(Keyspace.calls(share).name, through: through) }
        }
    }

    // MARK: Intake

    private func intake() async throws(BusError) -> CallBatch {
        var batch = CallBatch()
        guard !self.owned.isEmpty else {
            try? await Task.sleep(for: CallLimits.readBlockMax)
            return batch
        }
        // With something to do already nobody waits for more.
        let isBusy = !self.silentNodes.isEmpty || self.shouldLocate
        batch.isSingle = self.poisonIsolationReadsLeft > 0
        let read = try await batch.isSingle ? self.readOne() : self.bus.read(
            self.owned.map { (stream: Keyspace.calls($0.key).name, after: $0.value) },
            limit: CallLimits.jobsPerShareMax, blockFor: isBusy ? .milliseconds(1) : CallLimits.readBlockMax)
        for part in read {
            guard let share = self.sharesByStream[part.stream], self.owned[share] != nil, let last = part.entries.last
            else { continue }
            self.owned[share] = last.id
            batch.positions.append((share, last.id))
            for entry in part.entries {
                do throws(WireError) {
                    batch.add(try CallJob(decoding: entry.bytes), age: self.ages?.age(of: entry.id) ?? .zero)
                } catch {
                    self.logger.error("job not understood", [.error: "\(error)", .stream: "\(part.stream)"])
                }
            }
        }
        return batch
    }

    private let sharesByStream = Dictionary(uniqueKeysWithValues: CallShare.all.map { (Keyspace.calls($0).name, $0) })

    /// Reads a single Job: for a while after the database has refused a batch, to find out which Job it was.
    private func readOne() async throws(BusError) -> [StreamBatch] {
        for (share, position) in self.owned.sorted(by: { $0.key < $1.key }) {
            self.poisonIsolationReadsLeft -= 1
            let read = try await self.bus.read(
                [(stream: Keyspace.calls(share).name, after: position)], limit: 1, blockFor: .milliseconds(1))
            if !read.isEmpty { return read }
        }
        return []
    }

    // MARK: Between batches

    private func look() async throws {
        let now = self.now.milliseconds
        guard now - self.lookedAt >= CallLimits.leaseInterval.milliseconds else { return }
        self.lookedAt = now
        try await self.lookAtLeases()
        // The database's clock may have been set.
        self.lookedAt = self.now.milliseconds
        try await self.lookAtCanary()
        if self.ages == nil { self.ages = EntryAges(serverTime: try await self.bus.time()) }
        await self.measureStreams()
        self.shouldLocate = true
        if now - self.seenAt >= CallLimits.slotSeenInterval.milliseconds {
            self.seenAt = now
            try await self.noteWhoIsSeen()
        }
    }

    private func lookAtLeases() async throws {
        let answers = try await self.store.pipeline([self.leases.all, Self.timeStatement])
        self.time = ToldTime(try answers[1][0].decode(0))
        let snapshot = try self.leases.snapshot(answers[0])
        if snapshot.members > 1 { _ = try await self.store.query(self.leases.endFrozen) }
        let decision = self.leases.decide(snapshot)
        if !decision.giveUp.isEmpty { try await self.giveUp(decision.giveUp.compactMap { CallShare($0) }) }
        if !decision.take.isEmpty { try await self.take(decision.take) }
        self.metrics.sharesLeased.set(self.owned.count)
    }

    private static let timeStatement: SQL = "SELECT clock_timestamp()"

    private func take(_ indices: [Int]) async throws {
        var shares: [CallShare] = []
        for var row in try await self.store.query(self.leases.take(indices)) {
            if let share = CallShare(Int(try row.next(Int32.self))) { shares.append(share) }
        }
        guard !shares.isEmpty else { return }
        let rows = try await self.store.pipeline([
            CallTable.trim(shares), CallTable.load(shares), CallTable.loadPendingFrames(shares),
        ])
        let calls = try CallTable.calls(rows[1], pendingFrames: rows[2])
        for call in calls {
            self.book.load(call)
            self.showInRedis(call)
            // Its predecessor may have died between the commit and this. Saying it twice does no harm: it is the same wake-up.
            if let wake = Wake(owedBecauseOf: call, at: self.now) { self.send(wake) }
        }
        for share in shares { self.owned[share] = .start }
        self.shouldLocate = true
        self.logger.notice("shares taken", [.count: .number(self.owned.count)])
        if !calls.isEmpty { self.logger.notice("calls taken over", [.count: .number(calls.count)]) }
    }

    /// Called between batches: what was read from these shares and is not committed stays in the streams.
    private func giveUp(_ shares: [CallShare]) async throws(StoreError) {
        for share in shares { self.owned[share] = nil }
        let owned = Set(self.owned.keys)
        self.book.keep { owned.contains($0.share) }
        _ = try await self.store.query(self.leases.giveUp(shares.map(\.index)))
        self.logger.notice("shares given up", [.count: .number(shares.count)])
    }

    /// Notices that Redis has lost everything. Positions start over, because its clock may have; keys are written anew.
    private func lookAtCanary() async throws(BusError) {
        guard try await self.canary.sawEmptied(self.bus) else { return }
        self.logger.warning("bus was emptied", [.count: .number(self.owned.count)])
        self.ages = nil
        self.notedSince = self.now
        for share in self.owned.keys { self.owned[share] = .start }
        for call in self.book.all {
            self.showInRedis(call)
            if let wake = Wake(owedBecauseOf: call, at: self.now) { self.send(wake) }
        }
    }

    /// All streams, because while the database is away they have no owner, and most to tell.
    private func measureStreams() async {
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
        let whole = try BusySlotTable.whole(try await self.store.query(BusySlotTable.whole(among: wakeIDs)))
        self.callsMissingSlot = Set(wakeIDs).subtracting(whole)
        let calls = self.book.all.filter { $0.isAnswered }
        let identities = calls.flatMap { [$0.caller, $0.callee] }
        let present = try await self.legs(of: identities)
        let seen = identities.filter { present[$0] != nil }
        if !seen.isEmpty { _ = try await self.store.query(BusySlotTable.seen(seen, at: self.now)) }
    }

    /// Where these identities are, as their presence keys say.
    func legs(of identities: [WhisperID]) async throws(BusError) -> [WhisperID: CallLeg] {
        guard !identities.isEmpty else { return [:] }
        let forgotten = self.now.milliseconds - CallLimits.silenceRemembered.milliseconds
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
        self.silentSince[node] = self.now.milliseconds
    }
}
