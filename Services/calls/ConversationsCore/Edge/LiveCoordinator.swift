package import Bus
package import ClusterContract
import Contract
import Jobs
package import Logging
import Participants
package import Store
import Telemetry

/// One calls process: owns shares of all live conversations, and does for them what Jobs say, batch after batch.
///
/// It works as `CallCoordinator` does, beside it, on streams and a connection of its own: no ring waits for a knock.
package actor LiveCoordinator: PartitionOwner {
    let bus: any Bus
    let store: PostgresConnection
    let logger: Logger
    let bounds: LiveRules.LiveBounds
    let kept: KeptBounds
    let metrics = LiveMetrics()
    let answers: AnswerLog
    private let worker: PartitionWorker<LiveShare>

    var book = LiveBook()
    /// Nodes that did not hear a Notice since the last batch.
    var silentNodes: Set<NodeID> = []
    var reports = NodeReports()
    /// Conversations that nobody may use any more. The next batch ends them.
    var expired: [ConversationID] = []
    /// Holders that may not whisper any more. The next batch pauses their streams.
    var removedHolders: [(ConversationID, WhisperID)] = []
    var knockWakes = WakePauses<ConversationID>(of: ConversationLimits.knockWakePause)
    private var sweptAt: ContinuousClock.Instant?
    /// More transcripts have expired than the last sweep had time for.
    private var hasExpiredLines = false
    private var arrivals = ArrivalPacing(
        interval: ConversationLimits.readInterval, worthWaiting: ConversationLimits.jobsWorthWaiting,
        window: ConversationLimits.rateWindow)
    /// The ages of Jobs, by the clock of Redis.
    private var ages: EntryAges?

    /// - Parameter store: a connection for this process alone; its locks say what the process owns.
    package init(
        bus: any Bus, store: PostgresConnection, leaseInterval: Duration = OwnerLimits.leaseInterval,
        bounds: LiveRules.LiveBounds = LiveRules.LiveBounds(), kept: KeptBounds = KeptBounds(), logger: Logger
    ) {
        self.bus = bus
        self.store = store
        self.bounds = bounds
        self.kept = kept
        self.logger = logger
        self.answers = AnswerLog(logger)
        self.worker = PartitionWorker(
            bus: bus, store: store, leases: .live(LiveShare.count, frozenAfter: OwnerLimits.frozenAfter),
            leaseInterval: leaseInterval, logger: logger)
    }

    var now: Timestamp { self.worker.time.now }

    // MARK: Life

    /// Works until cancelled, or until a drain has ended.
    package func run() async throws { try await self.worker.run(self) }

    /// Finishes the batch under way, gives all shares up and stops.
    package func drain() async { await self.worker.drain() }

    /// Whether Jobs are being handled.
    package var isReady: Bool { self.worker.isReady }

    package func joined() {}

    package func left(because error: (any Error)?) async {
        if let error { self.logger.warning("live conversations interrupted", [.error: "\(error)"]) }
        self.book = LiveBook()
        (self.expired, self.removedHolders) = ([], [])
        await self.store.close()
    }

    package func serve() async throws {
        while !Task.isCancelled, !self.worker.isDraining {
            try await self.look()
            var batch = try await self.gathered()
            do {
                try await self.handle(&batch)
            } catch StoreError.refused(let state, let message) where batch.isSingle {
                self.answers.gaveUp(batch.firstAsked, state: state, message: message)
            }
            for (share, through) in batch.positions { self.worker.trim(share, through: through) }
        }
    }

    // MARK: Intake

    /// One read, and more while only lines come: they share a commit. A read that waits would return with each line, so there is
    /// a pause between these reads instead.
    private func gathered() async throws(BusError) -> LiveBatch {
        var batch = LiveBatch()
        // While several come anyway, a transaction is worth a moment's wait: it costs more than what is in it.
        let pause = self.arrivals.pause(at: .now)
        if pause > .zero { try? await self.bus.pause(for: pause) }
        try await self.intake(&batch, within: self.patience())
        self.arrivals.looked(batch.steps.count, at: .now)
        let end = ContinuousClock.now + ConversationLimits.linesGatheredFor
        while batch.isOfLinesAlone, !batch.isSingle, batch.steps.count < ConversationLimits.linesGatheredMax {
            let pause = min(end - .now, ConversationLimits.linesReadEvery)
            guard pause >= .milliseconds(1), !self.worker.isDraining else { break }
            try? await Task.sleep(for: pause)
            try await self.intake(&batch, within: .zero)
        }
        return batch
    }

    /// How long a read may wait for Jobs: not much longer than until time changes something.
    private func patience() -> Duration {
        let bounds = self.bounds
        guard let next = self.book.nextDeadline({ $0.deadline(within: bounds) }) else {
            return self.worker.readBlockMax
        }
        let left = Duration.milliseconds(next.milliseconds - self.now.milliseconds)
        return max(OwnerLimits.timedReadBlockMax, min(left, self.worker.readBlockMax))
    }

    private func intake(_ batch: inout LiveBatch, within pause: Duration) async throws(BusError) {
        // With something to do already nobody waits for more.
        let isBusy = !self.silentNodes.isEmpty || !self.expired.isEmpty || !self.removedHolders.isEmpty
        batch.isSingle = self.worker.isIsolatingPoison
        let read =
            try await batch.isSingle
            ? self.worker.readOne()
            : self.worker.read(
                limit: OwnerLimits.jobsPerShareMax, blockFor: isBusy ? .milliseconds(1) : pause)
        for part in self.worker.advance(past: read) {
            batch.positions.append((part.share, part.through))
            for entry in part.entries {
                let job: LiveJob
                do throws(WireError) {
                    job = try LiveJob(decoding: entry.bytes)
                } catch {
                    self.logger.error("job not understood", [.error: "\(error)", .stream: "\(part.share.stream)"])
                    continue
                }
                let age = self.ages?.age(of: entry.id) ?? .zero
                if case .ofRooms(let job) = job {
                    try await self.passOn(job, to: RoomShare(part.share), age: age)
                } else {
                    batch.add(job, share: part.share, age: age)
                }
            }
        }
    }

    /// A gateway of the release before appends Jobs about rooms here. They leave this stream once they are in the rooms' own.
    private func passOn(_ job: RoomJob, to share: RoomShare, age: Duration) async throws(BusError) {
        // Its client has been told that nothing was done.
        if case .frame = job, age > ClusterLimits.frameAgeMax { return }
        do {
            try await self.bus.append(job, to: Keyspace.rooms(share))
        } catch {
            guard error != .unavailable else { throw error }
            self.logger.error("job about a room not passed on", [.error: "\(error)"])
        }
    }

    // MARK: Between batches

    private func look() async throws {
        guard try await self.worker.look(for: self) else { return }
        if !self.book.all.isEmpty { self.worker.stir() }
        if self.ages == nil { self.ages = EntryAges(serverTime: try await self.bus.time()) }
        try await self.lookForRemovedHolders()
        self.silentNodes.formUnion(self.reports.stopped(among: Set(self.book.all.flatMap(\.nodes)), at: .now))
        if self.sweptAt.map({ .now - $0 >= OwnerLimits.sweepInterval }) ?? true {
            self.sweptAt = .now
            try await self.sweep()
        } else if self.hasExpiredLines {
            try await self.sweepTranscripts(in: Array(self.worker.owned.keys))
        }
    }

    /// A device that is taken out of its profile whispers no longer (contract §14.4, §19.20).
    private func lookForRemovedHolders() async throws(StoreError) {
        let held = self.book.all.compactMap { conversation in
            conversation.stream.flatMap { $0.isPaused ? nil : (conversation.id, conversation.profile, $0.holder) }
        }
        guard !held.isEmpty else { return }
        let members = try await self.store.query(LiveViews.members(of: Array(Set(held.map(\.1)))))
        self.removedHolders = held.filter { members[$0.1]?.contains($0.2) != true }.map { ($0.0, $0.2) }
    }

    private func sweep() async throws(StoreError) {
        let shares = self.ownedShares
        guard !shares.isEmpty else { return }
        self.expired = try await self.store.query(
            LiveTable.expired(in: shares, limit: OwnerLimits.expiredAtOnce))
        // In memory, time ends their streams.
        try await self.load(
            try await self.store.query(
                LiveTable.overdue(
                    in: shares, pausedFor: self.bounds.pauseMax, limit: ConversationLimits.streamsEndedAtOnce)))
        try await self.sweepTranscripts(in: shares)
        var pipeline = Pipeline()
        pipeline.add(LiveTable.sweep(in: shares))
        _ = try await self.store.pipeline(pipeline)
        self.book.keep { !$0.isQuiet }
    }

    private func sweepTranscripts(in shares: [LiveShare]) async throws(StoreError) {
        self.hasExpiredLines = try await TranscriptSweep.run(
            in: shares, on: self.store, for: ConversationLimits.linesSweptFor)
    }

    package func took(_ shares: [LiveShare]) async throws {
        try await self.load(try await self.store.query(LiveTable.active(in: shares)))
        self.logger.notice("live shares taken", [.count: .number(self.worker.owned.count)])
    }

    package func gaveUp(_ shares: [LiveShare]) {
        self.book.keep { self.owns($0.id.uuid) }
        self.logger.notice("live shares given up", [.count: .number(shares.count)])
    }

    /// Gateways report again what they hold: nothing is to be written.
    package func busHasLost(_ losses: BusLosses) { self.ages = nil }

    var ownedShares: [LiveShare] { Array(self.worker.owned.keys) }

    func owns(_ id: UUIDText) -> Bool { self.worker.owned[LiveShare(of: id)] != nil }

    /// A node did not hear a Notice; nil if the bus was away.
    func unheard(by node: NodeID?) {
        if let node { self.silentNodes.insert(node) }
    }
}
