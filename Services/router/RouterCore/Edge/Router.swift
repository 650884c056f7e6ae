package import Bus
package import ClusterContract
import Contract
import Jobs
package import Logging
package import Store
import Telemetry

/// One router: owns partitions, and does for their mailboxes what Jobs say, batch after batch.
///
/// A batch is everything that has arrived meanwhile; it is verified while the batch before it commits, and committed in
/// one round trip. After the commit the gateways hear of it, and only then the Jobs leave their streams.
package actor Router: PartitionOwner {
    let configuration: RouterConfiguration
    let bus: any Bus
    let store: PostgresConnection
    let logger: Logger
    let metrics = RouterMetrics()
    private let process = NodeID.random()
    private let worker: PartitionWorker<Partition>

    /// State about the identities in our partitions.
    var memory: RouterMemory
    var wakes = WakeMemory()
    /// Given when there is something to tell of presence.
    let presenceSignal = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// The work left before the segment whose turn comes next can be emptied.
    var clearings: [SegmentsTable.Parent: SegmentClearing] = [:]
    /// The last outcome's number at each of the latest looks for lingering ones, oldest first.
    var outcomeMarks: [Int64] = []
    /// Partitions whose gateways must be asked anew who is there.
    private var toAnnounce: Set<Partition> = []
    /// Partitions whose waiting recipients must be looked through for lost wake-ups.
    var toWake: Set<Partition> = []
    private var timers = TimerTurns()
    private var reconciledAt: Int64 = 0
    private var pace: IntakePace
    private var pacing = ArrivalPacing(
        interval: RouterLimits.readInterval, worthWaiting: RouterLimits.readJobsWorthWaiting,
        window: RouterLimits.readRateWindow)
    private var deferred = DeferredJobs()
    /// The streams of these have just started over: what was read of them before stays there.
    private var toReadAgain: Set<Partition> = []
    /// Whether enough Jobs come that some may wait for others.
    private var company = ArrivalPacing(
        interval: RouterLimits.deferredJobsHeldFor, worthWaiting: RouterLimits.deferredJobsWorthHolding,
        window: RouterLimits.deferredJobsRateWindow)
    /// As last seen, of all wake-ups for mail.
    var wakesWaiting = 0
    /// Known to be so; looked at again while it is not.
    var canLinkAttachments = false
    /// As last counted.
    var strangerMail: StrangerMail

    /// - Parameter store: a connection for this router alone; its locks say what the router owns.
    package init(
        configuration: RouterConfiguration, bus: any Bus, store: PostgresConnection, logger: Logger
    ) {
        self.configuration = configuration
        self.memory = RouterMemory(configuration.bounds, configuration.presence)
        self.strangerMail = StrangerMail(bytesMax: configuration.strangersStoreBytesMax)
        self.pace = IntakePace(most: configuration.jobsPerPartitionMax)
        self.bus = bus
        self.store = store
        self.logger = logger
        self.worker = PartitionWorker(
            process: self.process, bus: bus, store: store,
            leases: .partitions(Partition.count, frozenAfter: RouterLimits.frozenAfter),
            bounds: .init(
                leaseInterval: configuration.leaseInterval,
                readBlockMax: min(RouterLimits.readBlockMax, configuration.leaseInterval),
                idleInterval: min(RouterLimits.idleInterval, configuration.leaseInterval * 2),
                idleAfter: RouterLimits.idleAfter,
                retryPause: RouterLimits.retryPause, poisonIsolationReads: RouterLimits.poisonIsolationReads),
            logger: logger)
    }

    /// How a router's own database session has to be set up.
    package static let sessionSettings = [
        // Every statement is planned once.
        "plan_cache_mode": "force_generic_plan",
        "work_mem": "32MB",
    ]

    private nonisolated let clock = SteadyClock()

    /// For timers and memory alone, in milliseconds.
    nonisolated var now: Int64 { self.clock.time().milliseconds }

    /// The partitions that are ours, and the last entry read of each.
    var owned: [Partition: EntryID] { self.worker.owned }

    // MARK: Life

    /// Works until cancelled, or until a drain has ended.
    package func run() async throws { try await self.worker.run(self) }

    /// Finishes the batch under way, gives all partitions up and stops.
    package func drain() async { await self.worker.drain() }

    /// Whether Jobs are being handled.
    package var isReady: Bool { self.worker.isReady }

    package func joined() { self.pace.startOver() }

    package func left(because error: (any Error)?) async {
        if let error { self.logger.warning("routing interrupted", [.error: "\(error)"]) }
        // To connect takes as long as it takes: not on the bus's thread.
        self.store.borrowsThread(false)
        self.deferred = DeferredJobs()
        self.memory.sessions = [:]
        self.memory.mailboxes.keep { _ in false }
        self.memory.loads.keep { _ in false }
        if self.worker.isDraining { await self.handOverPresence() } else { self.memory.presence.keep { _ in false } }
        self.metrics.partitionsLeased.set(0)
    }

    package func serve() async throws {
        var batch = Batch()
        while !Task.isCancelled {
            try await self.look()
            if self.worker.isDraining { return }
            // Jobs read from a partition that was given up since belong to its next owner.
            batch.keep { self.owned[$0] != nil }
            self.deferred.keep { self.owned[$0] != nil }
            if !self.toReadAgain.isEmpty {
                batch.leave(self.toReadAgain.contains)
                self.deferred.leave(self.toReadAgain.contains)
                self.toReadAgain = []
            }
            // With little to do, one thing comes after the other on one thread: each change of threads would cost more than it saves.
            let overlaps = self.pacing.expected >= RouterLimits.readJobsWorthOverlapping
            self.store.borrowsThread(!overlaps)
            if overlaps {
                batch = self.deferred.release(before: batch)
                async let following = self.intake()
                try await self.handleOrGiveUp(batch)
                batch = try await following
            } else {
                try await self.handleOrGiveUp(batch)
                batch = try await self.nextBatch()
            }
        }
    }

    private func handleOrGiveUp(_ batch: Batch) async throws {
        do {
            try await self.handle(batch)
        } catch StoreError.refused(let state, let message) where batch.isSingle {
            // A Job that the database never accepts must not block all others behind it. Its caller gets no answer from
            // us, and so INTERNAL_ERROR from the gateway.
            let asked = batch.firstAsked.map { "\($0.trace)" } ?? ""
            self.logger.error("job given up", [.trace: "\(asked)", .code: "\(state)", .error: "\(message)"])
            self.trim(batch)
        }
        try await self.evacuateSegment()
    }

    // MARK: Intake

    /// Reads arrived Jobs until some cannot wait. Jobs whose answer nobody awaits are deferred.
    private func nextBatch() async throws(BusError) -> Batch {
        while true {
            let left = self.deferred.timeLeft(at: .now)
            // The bus counts whole milliseconds: a look that ends too early would be followed by another.
            let blockFor = left.map { max(.zero, $0) + .milliseconds(1) } ?? self.quietReadBlockMax
            let read = try await self.intake(blockFor: blockFor)
            let batch = self.deferred.next(
                read, isWorthWaiting: self.company.isWorthWaiting && !self.worker.isDraining, at: .now)
            if left == nil || !batch.isDeferred { return batch }
        }
    }

    /// How long a read waits while nothing is deferred. A segment is cleared between reads, one run of partitions after each.
    private var quietReadBlockMax: Duration {
        self.clearings.values.contains { $0.next != nil } ? RouterLimits.clearingPause : self.worker.readBlockMax
    }

    /// Reads what has arrived and checks its signatures.
    private func intake(blockFor: Duration = RouterLimits.readBlockMax) async throws(BusError) -> Batch {
        let pause = self.pacing.pause(at: .now)
        if pause > .zero { try? await self.bus.pause(for: pause) }
        var batch = Batch()
        batch.isSingle = self.worker.isIsolatingPoison
        let read = try await batch.isSingle ? self.worker.readOne() : self.readAll(blockFor: blockFor)
        let (jobs, now) = (read.reduce(0) { $0 + $1.entries.count }, ContinuousClock.now)
        self.pacing.looked(jobs, at: now)
        self.company.looked(jobs, at: now)
        for part in self.worker.advance(past: read) {
            self.metrics.partitions[part.share.index].jobs.increment(by: part.entries.count)
            batch.positions.append((part.share, part.through))
            for entry in part.entries {
                do throws(WireError) {
                    batch.add(try MailboxJob(decoding: entry.bytes), isReadAgain: entry.id <= part.readBefore)
                } catch {
                    self.logger.error("job not understood", [.error: "\(error)", .stream: "\(part.share.stream)"])
                }
            }
        }
        if !batch.accepts.isEmpty { batch.areGenuine = await Verification.verify(batch.accepts) }
        return batch
    }

    private func readAll(blockFor: Duration) async throws(BusError) -> [StreamBatch] {
        let isOfAll = !self.worker.readsInTurns
        let read = try await self.worker.read(limit: self.pace.jobs, blockFor: blockFor)
        if isOfAll {
            self.pace.hasRead(
                bytes: read.reduce(0) { $0 + $1.entries.reduce(0) { $0 + $1.bytes.count } },
                isCut: read.contains(where: \.isCut))
        }
        return read
    }

    /// Removes handled Jobs from their streams.
    func trim(_ batch: Batch) {
        guard !batch.isTrimmedLater else { return }
        for (partition, through) in batch.lastPositions where through > .start {
            self.worker.trim(partition, through: through)
        }
    }

    // MARK: Between batches

    private func look() async throws {
        self.signalPresence()
        let now = self.now
        if try await self.worker.look(for: self) { self.metrics.partitionsLeased.set(self.owned.count) }
        if !self.toAnnounce.isEmpty {
            self.announceAdoption(of: self.toAnnounce.sorted())
            self.toAnnounce = []
        }
        if now - self.reconciledAt >= RouterLimits.reconciliationPause.milliseconds {
            self.reconciledAt = now
            self.reconcileConnections()
        }
        let slices = self.timers.due(at: now)
        if !slices.isEmpty { try await self.fireTimers(of: slices, at: now) }
    }

    private func announceAdoption(of partitions: [Partition]) {
        self.bus.publish(ClusterNotice.partitionsAdopted(partitions).encoded(), to: Keyspace.nodes.name) {
            [weak self] result in
            guard case .failure = result else { return }
            // Bare: it lasts one hop, and happens only when the bus is away.
            Task { await self?.announceAgain(partitions) }
        }
    }

    /// Nobody may have heard that partitions are ours: their connections would get no live mail.
    private func announceAgain(_ partitions: [Partition]) {
        self.toAnnounce.formUnion(partitions.filter { self.owned[$0] != nil })
    }

    /// Names to every gateway the connections that this router believes it holds. The gateway repeats lost departures.
    ///
    /// A gateway that does not hear it is gone, and its clients with it. Without this, a departure that Redis lost
    /// would leave a client online for its peers, and its mail would wake nobody.
    private func reconcileConnections() {
        var believed: [NodeID: [ConnectionSnapshotEntry]] = [:]
        for (identity, session) in self.memory.sessions {
            believed[session.node, default: []].append(
                ConnectionSnapshotEntry(identity: identity, connection: session.connection))
        }
        var notices = self.makeNoticeBatch()
        for (node, entries) in believed { notices.add(.connectionSnapshot(entries), for: node) }
        notices.send()
    }

    package func took(_ partitions: [Partition]) {
        for partition in partitions {
            self.toAnnounce.insert(partition)
            self.toWake.insert(partition)
            self.memory.mailboxes.adopted(partition)
            self.memory.presence.adoptedAt[partition] = self.now
        }
        self.pace.startOver()
        self.logger.notice("partitions taken", [.count: .number(self.owned.count)])
    }

    package func gaveUp(_ partitions: [Partition]) async {
        self.memory.sessions.keep { self.owned[Partition(of: $0)] != nil }
        self.memory.mailboxes.keep { self.owned[$0] != nil }
        self.memory.loads.keep { self.owned[$0] != nil }
        await self.handOverPresence()
        self.logger.notice("partitions given up", [.count: .number(partitions.count)])
    }

    /// Jobs are read again from streams that may have lost some, and lost wake-ups are searched for.
    package func busHasLost(_ losses: BusLosses) {
        self.toReadAgain = Set(self.owned.keys.filter { losses.includes(Keyspace.mailbox($0).name) })
        self.toWake.formUnion(losses.includes(Keyspace.wakes.name) ? Set(self.owned.keys) : self.toReadAgain)
    }

    /// A node did not receive a Notice.
    /// - Parameter time: when the Notice was begun. Connections announced since then were announced by a live node.
    func unheard(by node: NodeID, _ error: BusError?, since time: Int64) {
        if error != nil {
            // The bus was away: nobody knows what got through. Gateways tell anew who is there and how far they are.
            self.toAnnounce.formUnion(self.owned.keys)
            let now = self.now
            for (identity, session) in self.memory.sessions where session.node == node {
                self.memory.sessions[identity]!.mayHaveLost(at: now)
            }
            return
        }
        // The node is gone, and with it its connections. Their unacknowledged mail waits, and its recipients are woken.
        for (_, session) in self.memory.sessions where session.node == node && session.knownSince <= time {
            self.ended(session)
        }
    }

    /// The recipient has no connection any more.
    func ended(_ session: MailboxSession) {
        if self.memory.ended(session, at: self.now) { self.wake(session.caller.identity) }
    }

    /// - Parameter message: the one that is waiting, if it is a new one. Otherwise some may wait.
    func wake(_ identity: WhisperID, for message: UUIDText? = nil) {
        guard self.wakesWaiting < self.configuration.wakesWaitingMax else {
            return self.searchLater(for: identity)
        }
        guard self.wakes.shouldWake(identity, isForMail: message != nil, at: self.now) else {
            return self.logger.debug(
                "woken already", [.messageId: "\(message?.description ?? "")", .whisperId: "\(identity)"])
        }
        let wake = Wake(recipient: identity, reason: .message, wakeID: .random(), queuedAt: .now)
        self.logger.debug(
            "wake queued",
            [.messageId: "\(message?.description ?? "")", .whisperId: "\(identity)", .wakeId: "\(wake.wakeID)"])
        self.wakesWaiting += 1
        self.bus.append(wake, to: Keyspace.wakes) { [weak self] _ in
            // Bare: it lasts one hop. The sweep makes up for what got lost.
            Task { await self?.searchLater(for: identity) }
        }
    }

    /// The next sweep looks for mail that waits for the identity.
    private func searchLater(for identity: WhisperID) {
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
