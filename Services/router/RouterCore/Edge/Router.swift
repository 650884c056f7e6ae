package import Bus
import Contract
package import Logging
package import Store
import Telemetry

/// One router: owns partitions, and does for their mailboxes what Jobs say, batch after batch.
///
/// A batch is everything that has arrived meanwhile; it is verified while the batch before it commits, and committed in
/// one round trip. After the commit the gateways hear of it, and only then the Jobs leave their streams.
package actor Router {
    let configuration: RouterConfiguration
    let bus: any Bus
    let store: PostgresConnection
    let logger: Logger
    let metrics = RouterMetrics()
    private let process = NodeID.random()
    private let leases = Leases.partitions(Partition.count, frozenAfter: RouterLimits.frozenAfter)

    /// The partitions that are ours, and the last entry read of each.
    var owned: [Partition: EntryID] = [:]
    /// The live connections of the identities in them.
    var sessions: [WhisperID: MailboxSession] = [:]
    var wakes = WakeMemory()
    var mailboxes = MailboxMemory(recipientsMax: RouterLimits.recipientsRememberedMax)
    var loads: MailboxLoads
    var presence: PresenceMemory
    /// What stands in the way of emptying the segment whose turn comes next.
    var clearings: [SegmentsTable.Parent: SegmentClearing] = [:]
    /// The last outcome's number at each of the latest looks for lingering ones, oldest first.
    var outcomeMarks: [Int64] = []
    /// Partitions whose gateways must be asked anew who is there.
    private var toAnnounce: Set<Partition> = []
    /// Partitions whose waiting recipients must be looked through for lost wake-ups.
    var toWake: Set<Partition> = []
    private var members = 1
    private var leasesSeenAt: Int64 = 0
    private var timersSeenAt: Int64 = 0
    private var reconciledAt: Int64 = 0
    private let canary: Canary
    private var pace: IntakePace
    private var pacing = ArrivalPacing(
        interval: RouterLimits.readInterval, worthWaiting: RouterLimits.readJobsWorthWaiting, window: RouterLimits.readRateWindow)
    private var deferred = DeferredJobs()
    /// Whether enough Jobs come that some may wait for others.
    private var company = ArrivalPacing(
        interval: RouterLimits.deferredJobsHeldFor, worthWaiting: RouterLimits.deferredJobsWorthHolding,
        window: RouterLimits.deferredJobsRateWindow)
    /// As last seen, of all wake-ups for mail.
    var wakesWaiting = 0
    /// Above 0: Jobs are taken one at a time.
    private var poisonIsolationReadsLeft = 0
    /// Known to be so; looked at again while it is not.
    var canLinkAttachments = false
    private var isDraining = false
    private var isServing = false
    private var drained: [CheckedContinuation<Void, Never>] = []

    /// - Parameter store: a connection for this router alone; its locks say what the router owns.
    package init(
        configuration: RouterConfiguration, bus: any Bus, store: PostgresConnection, logger: Logger
    ) {
        self.configuration = configuration
        self.loads = MailboxLoads(configuration.bounds)
        self.presence = PresenceMemory(configuration.presence)
        self.canary = Canary(self.process)
        self.pace = IntakePace(most: configuration.jobsPerPartitionMax)
        self.bus = bus
        self.store = store
        self.logger = logger
    }

    /// How a router's own database session has to be set up.
    package static let sessionSettings = [
        // Every statement is prepared once and looks rows up by key, whatever the tables' size was when it was planned.
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "jit": "off",
        "work_mem": "32MB",
    ]

    private nonisolated let clock = SteadyClock()

    /// For timers and memory alone, in milliseconds.
    nonisolated var now: Int64 { self.clock.time().milliseconds }

    // MARK: Life

    /// Works until cancelled, or until a drain has ended.
    package func run() async throws {
        while !Task.isCancelled, !self.isDraining {
            do {
                try await self.join()
                self.isServing = true
                try await self.serve()
            } catch {
                self.logger.warning("routing interrupted", [.error: "\(error)"])
                if case StoreError.refused = error { self.poisonIsolationReadsLeft = RouterLimits.poisonIsolationReads }
            }
            self.isServing = false
            await self.leave()
            if !self.isDraining { try await Task.sleep(for: RouterLimits.retryPause) }
        }
        for continuation in self.drained { continuation.resume() }
        self.drained = []
        // Whoever drains ends the process; until then there is nothing more to do.
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    /// Finishes the batch under way, gives all partitions up and stops.
    package func drain() async {
        self.isDraining = true
        guard self.isServing else { return }
        await withCheckedContinuation { self.drained.append($0) }
    }

    /// Whether Jobs are being handled.
    package var isReady: Bool { self.isServing && !self.isDraining }

    private func join() async throws(StoreError) {
        try await self.store.connect()
        _ = try await self.store.query(self.leases.join)
        self.leasesSeenAt = 0
        self.pace.startOver()
    }

    /// Everything that was known is void: somebody else may own the partitions by now.
    private func leave() async {
        // To connect takes as long as it takes: not on the bus's thread.
        self.store.borrowsThread(false)
        self.owned = [:]
        self.deferred = DeferredJobs()
        self.sessions = [:]
        self.mailboxes.keep { _ in false }
        self.loads.keep { _ in false }
        if self.isDraining { await self.handOverPresence() } else { self.presence.keep { _ in false } }
        self.metrics.partitionsLeased.set(0)
        await self.store.close()
    }

    private func serve() async throws {
        var batch = Batch()
        while !Task.isCancelled {
            try await self.look()
            if self.isDraining { return }
            // What has been read from a partition that was given up since is its next owner's.
            batch.keep { self.owned[$0] != nil }
            self.deferred.keep { self.owned[$0] != nil }
            // With little to do, one thing comes after the other on one thread: each change of threads would cost more than it saves.
            let overlaps = self.pacing.expected >= RouterLimits.readJobsWorthOverlapping
            self.store.borrowsThread(!overlaps)
            if overlaps {
                batch = self.deferred.release(before: batch)
                async let following = self.intake()
                try await self.settle(batch)
                batch = try await following
            } else {
                try await self.settle(batch)
                batch = try await self.nextBatch()
            }
        }
    }

    private func settle(_ batch: Batch) async throws {
        do {
            try await self.handle(batch)
        } catch StoreError.refused(let state, let message) where batch.isSingle {
            // One Job that the database will never take must not stop everything behind it. Whoever asked hears nothing and
            // gets INTERNAL_ERROR.
            self.logger.error("job given up", [.code: "\(state)", .error: "\(message)"])
            self.trim(batch)
        }
        try await self.evacuateSegment()
    }

    // MARK: Intake

    /// Reads what has arrived, until there is something to do now. What nobody waits for is deferred.
    private func nextBatch() async throws(BusError) -> Batch {
        while true {
            let left = self.deferred.timeLeft(at: .now)
            // The bus counts whole milliseconds: a look that ends too early would be followed by another.
            let blockFor = left.map { max(.zero, $0) + .milliseconds(1) } ?? RouterLimits.readBlockMax
            let read = try await self.intake(blockFor: blockFor)
            let batch = self.deferred.next(read, isWorthWaiting: self.company.isWorthWaiting && !self.isDraining, at: .now)
            if left == nil || !batch.isDeferred { return batch }
        }
    }

    /// Reads what has arrived and checks its signatures.
    private func intake(blockFor: Duration = RouterLimits.readBlockMax) async throws(BusError) -> Batch {
        guard !self.owned.isEmpty else {
            try? await Task.sleep(for: RouterLimits.readBlockMax)
            return Batch()
        }
        let pause = self.pacing.pause(at: .now)
        if pause > .zero { try? await self.bus.pause(for: pause) }
        let read = try await self.poisonIsolationReadsLeft > 0 ? self.readOne() : self.readAll(blockFor: blockFor)
        let (jobs, now) = (read.reduce(0) { $0 + $1.entries.count }, ContinuousClock.now)
        self.pacing.looked(jobs, at: now)
        self.company.looked(jobs, at: now)
        var batch = Batch()
        batch.isSingle = self.poisonIsolationReadsLeft > 0
        for part in read {
            // Given up while the read was waiting: the next owner will find these entries.
            guard let partition = self.partition(ofStream: part.stream), self.owned[partition] != nil,
                let last = part.entries.last
            else { continue }
            self.owned[partition] = last.id
            self.metrics.partitions[partition.index].jobs.increment(by: part.entries.count)
            batch.positions.append((partition, last.id))
            for entry in part.entries {
                do throws(WireError) {
                    batch.add(try MailboxJob(decoding: entry.bytes))
                } catch {
                    self.logger.error("job not understood", [.error: "\(error)", .stream: "\(part.stream)"])
                }
            }
        }
        if !batch.accepts.isEmpty { batch.verdicts = await Verification.verify(batch.accepts) }
        return batch
    }

    private func readAll(blockFor: Duration) async throws(BusError) -> [StreamBatch] {
        let read = try await self.bus.read(
            self.owned.map { (stream: Keyspace.mailbox($0.key).name, after: $0.value) },
            limit: self.pace.jobs, blockFor: blockFor)
        self.pace.hasRead(
            bytes: read.reduce(0) { $0 + $1.entries.reduce(0) { $0 + $1.bytes.count } }, isCut: read.contains(where: \.isCut))
        return read
    }

    /// Reads a single Job, partition after partition: for a while after the database has refused a batch, to find out which
    /// Job it was.
    private func readOne() async throws(BusError) -> [StreamBatch] {
        for (partition, position) in self.owned.sorted(by: { $0.key < $1.key }) {
            self.poisonIsolationReadsLeft -= 1
            let read = try await self.bus.read(
                [(stream: Keyspace.mailbox(partition).name, after: position)], limit: 1, blockFor: .zero)
            if !read.isEmpty { return read }
        }
        return []
    }

    private let partitionsByStream = Dictionary(
        uniqueKeysWithValues: Partition.all.map { (Keyspace.mailbox($0).name, $0) })

    private func partition(ofStream name: String) -> Partition? { self.partitionsByStream[name] }

    /// What is done leaves its stream.
    func trim(_ batch: Batch) {
        guard !batch.leavesStreams else { return }
        for (partition, through) in batch.lastPositions {
            self.bus.trim(Keyspace.mailbox(partition).name, through: through)
        }
    }

    // MARK: Between batches

    private func look() async throws {
        let now = self.now
        if now - self.leasesSeenAt >= RouterLimits.leaseInterval.milliseconds {
            self.leasesSeenAt = now
            try await self.lookAtLeases()
            try await self.lookAtCanary()
        }
        for partition in self.toAnnounce { self.announceAdoption(of: partition) }
        self.toAnnounce = []
        if now - self.reconciledAt >= RouterLimits.reconciliationPause.milliseconds {
            self.reconciledAt = now
            self.reconcileConnections()
        }
        if now - self.timersSeenAt >= 1_000 {
            self.timersSeenAt = now
            try await self.fireTimers(at: now)
        }
    }

    private func announceAdoption(of partition: Partition) {
        self.bus.publish(ClusterNotice.partitionAdopted(partition).encoded(), to: Keyspace.nodes.name) { [weak self] result in
            guard case .failure = result else { return }
            // Bare: it lasts one hop, and happens only when the bus is away.
            Task { await self?.announceAgain(partition) }
        }
    }

    /// Nobody may have heard that a partition is ours: its connections would get no live mail.
    private func announceAgain(_ partition: Partition) {
        if self.owned[partition] != nil { self.toAnnounce.insert(partition) }
    }

    /// Names to every gateway the connections that this router believes it holds. The gateway repeats lost departures.
    ///
    /// A gateway that does not hear it is gone, and its clients with it. Without this, a departure that Redis lost
    /// would leave a client online for its peers, and its mail would wake nobody.
    private func reconcileConnections() {
        var believed: [NodeID: [ConnectionSnapshotEntry]] = [:]
        for (identity, session) in self.sessions {
            believed[session.node, default: []].append(ConnectionSnapshotEntry(identity: identity, connection: session.connection))
        }
        var notices = self.makeNoticeBatch()
        for (node, entries) in believed { notices.add(.connectionSnapshot(entries), for: node) }
        notices.send()
    }

    private func lookAtLeases() async throws {
        let snapshot = try self.leases.snapshot(try await self.store.query(self.leases.all))
        if snapshot.members > 1 { _ = try await self.store.query(self.leases.endFrozen) }
        let decision = self.leases.decide(snapshot)
        if !decision.giveUp.isEmpty { try await self.giveUp(decision.giveUp.compactMap { Partition($0) }) }
        if !decision.take.isEmpty {
            for var row in try await self.store.query(self.leases.take(decision.take)) {
                guard let partition = Partition(Int(try row.next(Int32.self))) else { continue }
                self.owned[partition] = .start
                self.toAnnounce.insert(partition)
                self.toWake.insert(partition)
                self.mailboxes.adopted(partition)
                self.presence.adoptedAt[partition] = self.now
            }
            self.pace.startOver()
            self.logger.notice("partitions taken", [.count: .number(self.owned.count)])
        }
        self.metrics.partitionsLeased.set(self.owned.count)
    }

    /// Called between batches: of what was read from these partitions, what is not committed stays in the streams.
    private func giveUp(_ partitions: [Partition]) async throws {
        for partition in partitions { self.owned[partition] = nil }
        self.sessions = self.sessions.filter { self.owned[Partition(of: $0.key)] != nil }
        self.mailboxes.keep { self.owned[$0] != nil }
        self.loads.keep { self.owned[$0] != nil }
        await self.handOverPresence()
        _ = try await self.store.query(self.leases.giveUp(partitions.map(\.index)))
        self.logger.notice("partitions given up", [.count: .number(partitions.count)])
    }

    /// Notices that Redis has lost everything. Positions start over, because its clock may have; wake-ups that were lost
    /// with it are looked for.
    private func lookAtCanary() async throws(BusError) {
        guard try await self.canary.sawEmptied(self.bus) else { return }
        self.logger.warning("bus was emptied", [.count: .number(self.owned.count)])
        for partition in self.owned.keys {
            self.owned[partition] = .start
            self.toWake.insert(partition)
        }
    }

    /// A node did not hear a Notice.
    /// - Parameter time: when the Notice was begun. What was announced since was announced by a node that is there.
    func unheard(by node: NodeID, _ error: BusError?, since time: Int64) {
        if error != nil {
            // The bus was away: nobody knows what got through. Gateways tell anew who is there and how far they are.
            self.toAnnounce.formUnion(self.owned.keys)
            let now = self.now
            for (identity, session) in self.sessions where session.node == node { self.sessions[identity]!.mayHaveLost(at: now) }
            return
        }
        // The node is gone, and with it its connections. What they did not acknowledge waits, and its owners are woken.
        for session in self.sessions.values where session.node == node && session.knownSince <= time { self.ended(session) }
    }

    /// The recipient has no connection any more.
    func ended(_ session: MailboxSession) {
        let identity = session.caller.identity
        self.sessions[identity] = nil
        self.left(identity)
        if session.mayLeaveMail, self.mailboxes.mayHold(identity) { self.wake(identity) }
    }

    /// - Parameter message: the one that is waiting, if it is a new one. Otherwise some may wait.
    func wake(_ identity: WhisperID, for message: UUIDText? = nil) {
        guard self.wakesWaiting < self.configuration.wakesWaitingMax else {
            // The sweep comes back to it.
            self.toWake.insert(Partition(of: identity))
            return
        }
        guard self.wakes.shouldWake(identity, isForMail: message != nil, at: self.now) else {
            return self.logger.debug("woken already", [.messageId: "\(message?.description ?? "")", .whisperId: "\(identity)"])
        }
        let wake = Wake(recipient: identity, reason: .message, wakeID: .random(), queuedAt: .now)
        self.logger.debug(
            "wake queued",
            [.messageId: "\(message?.description ?? "")", .whisperId: "\(identity)", .wakeId: "\(wake.wakeID)"])
        self.wakesWaiting += 1
        self.bus.append(wake, to: Keyspace.wakes) { [weak self] _ in
            // Bare: it lasts one hop. The sweep makes up for what got lost.
            Task { await self?.wakeAgain(identity) }
        }
    }

    private func wakeAgain(_ identity: WhisperID) {
        self.toWake.insert(Partition(of: identity))
    }

    func makeNoticeBatch() -> NoticeBatch {
        let time = self.now
        return NoticeBatch(bus: self.bus) { [weak self] node, error in
            // Bare: it lasts one hop, and happens only when a gateway or the bus has died.
            Task { await self?.unheard(by: node, error, since: time) }
        }
    }

    /// Waits until Redis has taken what was sent before, or is away.
    func untilSent() async {
        _ = try? await self.bus.get(Keyspace.canary(self.process))
    }
}
