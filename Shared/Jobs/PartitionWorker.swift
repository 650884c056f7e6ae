package import Bus
package import ClusterContract
import Contract
package import Logging
package import Store
import Telemetry

/// An owner of shares, at each turn of its life. `PartitionWorker` calls it on the owner's own thread.
package protocol PartitionOwner: Actor {
    associatedtype Share: LeasedShare

    /// The store is connected. Nothing is owned yet.
    func joined() async throws
    /// Works until cancelled, or until the worker drains.
    func serve() async throws
    /// Everything that was known is void: somebody else may own the shares by now. The store's session ends after this.
    /// - Parameter error: why, if it is no drain.
    func left(because error: (any Error)?) async
    func took(_ shares: [Share]) async throws
    /// Called between batches, before others can own them. Jobs that were read and not committed stay in the streams.
    func gaveUp(_ shares: [Share]) async throws
    /// Redis was emptied, or masters of it were replaced. Positions in streams there have started over, because clocks may have.
    func busHasLost(_ losses: BusLosses)
}

/// Owns shares of some work for one actor: leases, positions, reading, the loss of Redis, and the life from join to drain.
///
/// It belongs to that actor, which decides what a batch is and commits it. `Leases` sees to it that nobody else commits.
package final class PartitionWorker<Share: LeasedShare> {
    package struct Bounds: Sendable {
        /// Between two looks at who owns what.
        package var leaseInterval: Duration
        /// Longest wait for a Job, or for a share to own.
        package var readBlockMax: Duration
        /// Both, where nothing has happened for `idleAfter`.
        package var idleInterval: Duration
        package var idleAfter: Duration
        /// After a failure of bus or store, before trying again.
        package var retryPause: Duration
        /// Reads of one Job at a time after the database has refused a batch.
        package var poisonIsolationReads: Int

        package init(
            leaseInterval: Duration, readBlockMax: Duration, idleInterval: Duration, idleAfter: Duration,
            retryPause: Duration, poisonIsolationReads: Int
        ) {
            self.leaseInterval = leaseInterval
            self.readBlockMax = readBlockMax
            self.idleInterval = idleInterval
            self.idleAfter = idleAfter
            self.retryPause = retryPause
            self.poisonIsolationReads = poisonIsolationReads
        }
    }

    /// The entries read for one share.
    package struct Part {
        package var share: Share
        /// The last of `entries`.
        package var through: EntryID
        /// Entries up to here may have been read before.
        package var readBefore: EntryID
        package var entries: [StreamEntry]
    }

    /// The shares that are ours, and the last entry read of each.
    package private(set) var owned: [Share: EntryID] = [:]

    /// By the database's clock, as of joining and of each look at the shares: that clock may be set.
    package private(set) var time = ToldTime(.now)

    /// How far shares had been read that have started over, by the streams of then.
    private var readBefore: [Share: EntryID] = [:]

    private let bus: any Bus
    private let store: PostgresConnection
    private let leases: Leases
    private let bounds: Bounds
    private let logger: Logger
    private let canary: Canary
    private let latch = DrainLatch()
    private let streams = Share.all.map(\.stream)
    private let sharesByStream = Dictionary(uniqueKeysWithValues: Share.all.map { ($0.stream, $0) })
    /// As of when the positions were last known to be of the present streams.
    private var replacements = Replacements.none
    private var isServing = false
    private var lookedAt: ContinuousClock.Instant?
    /// When something happened last.
    private var stirredAt = ContinuousClock.now
    /// Processes that took part at the last look, this one included.
    private var members = 1
    private var turns = ReadTurns<Share>()
    /// Above 0: Jobs are taken one at a time.
    private var poisonIsolationReadsLeft = 0
    /// The share whose turn is next then.
    private var nextIsolated = 0

    /// - Parameters:
    ///   - process: names this process's key in Redis.
    ///   - store: a connection for the owner alone; its locks say what is owned.
    package init(
        process: NodeID, bus: any Bus, store: PostgresConnection, leases: Leases, bounds: Bounds, logger: Logger
    ) {
        self.canary = Canary(process)
        self.bus = bus
        self.store = store
        self.leases = leases
        self.bounds = bounds
        self.logger = logger
    }

    // MARK: Life

    /// Works until cancelled, or until a drain has ended.
    package func run<Owner: PartitionOwner>(_ owner: isolated Owner) async throws where Owner.Share == Share {
        while !Task.isCancelled, !self.latch.isDraining {
            var failure: (any Error)?
            do {
                try await self.join(owner)
                self.isServing = true
                try await owner.serve()
            } catch {
                if case StoreError.refused = error { self.poisonIsolationReadsLeft = self.bounds.poisonIsolationReads }
                failure = error
            }
            self.isServing = false
            self.owned = [:]
            self.readBefore = [:]
            await owner.left(because: failure)
            await self.store.close()
            if !self.latch.isDraining { try await Task.sleep(for: self.bounds.retryPause) }
        }
        self.latch.end()
        // The code that drains ends the process; until then there is nothing more to do.
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    /// Finishes the batch under way, gives all shares up and stops.
    package func drain(isolation: isolated (any Actor)? = #isolation) async {
        self.latch.ask()
        guard self.isServing else { return }
        await self.latch.untilEnded()
    }

    package var isDraining: Bool { self.latch.isDraining }

    /// Whether Jobs are being handled.
    package var isReady: Bool { self.isServing && !self.latch.isDraining }

    private func join<Owner: PartitionOwner>(_ owner: isolated Owner) async throws where Owner.Share == Share {
        try await self.store.connect()
        var joining = Pipeline()
        let joined = joining.add(self.leases.join)
        let time = joining.add(ToldTime.question)
        let answers = try await self.store.pipeline(joining)
        guard try answers[joined] else { throw LeaseError.earlierReleaseIsAtWork }
        self.time = ToldTime(try answers[time])
        self.lookedAt = nil
        self.stir()
        try await owner.joined()
    }

    // MARK: Pace

    /// Something happens here, or time changes something. For `idleAfter` looks and reads come as they do for work. Jobs
    /// and new owners stir by themselves.
    package func stir() { self.stirredAt = .now }

    private var isIdle: Bool { .now - self.stirredAt >= self.bounds.idleAfter }

    /// How long a read may wait for Jobs.
    package var readBlockMax: Duration { self.isIdle ? self.bounds.idleInterval : self.bounds.readBlockMax }

    // MARK: Between batches

    /// Looks who owns which share, and whether Redis was emptied, if it is time. Intervals are counted by a steady clock.
    /// - Returns: whether it was time.
    package func look<Owner: PartitionOwner>(for owner: isolated Owner) async throws -> Bool
    where Owner.Share == Share {
        let now = ContinuousClock.now
        let interval = self.isIdle ? self.bounds.idleInterval : self.bounds.leaseInterval
        guard self.lookedAt.map({ now - $0 >= interval }) ?? true else { return false }
        self.lookedAt = now
        try await self.lookAtLeases(owner)
        let losses = try await self.canary.look(self.bus)
        if !losses.isEmpty {
            let lost = self.owned.keys.filter { losses.includes(self.streams[$0.index]) }
            self.logger.warning("bus has lost something", [.count: .number(lost.count)])
            self.stir()
            for share in lost {
                self.readBefore[share] = max(self.readBefore[share] ?? .start, self.owned[share] ?? .start)
                self.owned[share] = .start
            }
            self.turns.startOver(with: self.owned.keys)
            owner.busHasLost(losses)
        }
        self.replacements = losses.replacements
        return true
    }

    private func lookAtLeases<Owner: PartitionOwner>(_ owner: isolated Owner) async throws
    where Owner.Share == Share {
        // A process that owns nothing writes nothing. So while standbys are away, at most one session waits for them
        // for each share.
        var looking = Pipeline()
        let locks = looking.add(self.leases.all)
        if !self.owned.isEmpty { looking.add(ReplicationBarrier.statement) }
        // In one round trip: it comes every second. Members that have joined since are checked the next time.
        let mayBeFrozen = self.members > 1 || self.leases.hasEarlierOwners
        let ended = mayBeFrozen ? looking.add(self.leases.endFrozen) : nil
        let time = looking.add(ToldTime.question)
        let answers = try await self.store.pipeline(looking)
        let snapshot = try answers[locks]
        self.time = ToldTime(try answers[time])
        let hasEnded = try ended.map { try answers[$0] } ?? false
        let decision = self.leases.decide(snapshot)
        if hasEnded || snapshot.members != self.members || !decision.isEmpty { self.stir() }
        self.members = snapshot.members
        if !decision.giveUp.isEmpty {
            let shares = decision.giveUp.compactMap { Share($0) }
            for share in shares {
                self.owned[share] = nil
                self.readBefore[share] = nil
            }
            self.turns.remove(shares)
            try await owner.gaveUp(shares)
            _ = try await self.store.query(self.leases.giveUp(decision.giveUp))
        }
        guard !decision.take.isEmpty else { return }
        var taking = Pipeline()
        let taken = taking.add(self.leases.take(decision.take))
        taking.add(ReplicationBarrier.statement)
        let shares = try await self.store.pipeline(taking)[taken].compactMap { Share($0) }
        guard !shares.isEmpty else { return }
        for share in shares { self.owned[share] = .start }
        self.turns.startOver(with: self.owned.keys)
        try await owner.took(shares)
    }

    // MARK: Intake

    /// Jobs are read one at a time, to find out which of them the database refuses.
    package var isIsolatingPoison: Bool { self.poisonIsolationReadsLeft > 0 }

    /// The next read is one of a few shares with a Job of each (`ReadTurns`). Its result says nothing about the reads
    /// behind it.
    package var readsInTurns: Bool { self.turns.areTaken(by: self.owned.count) }

    /// Reads what stands behind the positions. With nothing owned it waits as long as a read may.
    /// - Parameter limit: Jobs of each share.
    package func read(
        limit: Int, blockFor: Duration, isolation: isolated (any Actor)? = #isolation
    ) async throws(BusError) -> [StreamBatch] {
        guard !self.owned.isEmpty else {
            try? await Task.sleep(for: self.readBlockMax)
            return []
        }
        let isInTurns = self.readsInTurns
        let shares = isInTurns ? self.turns.next : Array(self.owned.keys)
        // Mostly of all, hundreds of times a second: then without a look-up for each.
        let positions =
            isInTurns
            ? shares.map { (stream: self.streams[$0.index], after: self.owned[$0]!) }
            : self.owned.map { (stream: self.streams[$0.key.index], after: $0.value) }
        let read: [StreamBatch]
        do throws(BusError) {
            read = try await self.bus.read(
                positions, limit: isInTurns ? 1 : limit, blockFor: isInTurns ? .zero : blockFor)
        } catch {
            // In a cluster this may be one master's outage. Its streams are in the next read of all, which fails if the
            // whole bus is away.
            guard isInTurns, error == .unavailable else { throw error }
            read = []
        }
        let cut = read.filter(\.isCut).compactMap { self.sharesByStream[$0.stream] }
        self.turns.hasRead(shares, cut: Set(cut).intersection(self.owned.keys), of: self.owned.keys)
        return read
    }

    /// Reads a single Job. The shares take turns.
    package func readOne(isolation: isolated (any Actor)? = #isolation) async throws(BusError) -> [StreamBatch] {
        guard !self.owned.isEmpty else { return try await self.read(limit: 1, blockFor: .zero) }
        let shares = self.owned.keys.sorted()
        let next = shares.firstIndex { $0.index >= self.nextIsolated } ?? 0
        for share in shares[next...] + shares[..<next] {
            guard let position = self.owned[share] else { continue }
            self.poisonIsolationReadsLeft -= 1
            let read = try await self.bus.read(
                [(stream: self.streams[share.index], after: position)], limit: 1, blockFor: .zero)
            if !read.isEmpty {
                self.nextIsolated = share.index + 1
                return read
            }
        }
        return []
    }

    /// Moves the positions behind the entries read. Entries of shares given up meanwhile belong to the next owner.
    package func advance(past read: [StreamBatch]) -> [Part] {
        if !read.isEmpty { self.stir() }
        return read.compactMap { batch in
            guard let share = self.sharesByStream[batch.stream], self.owned[share] != nil,
                let last = batch.entries.last
            else { return nil }
            self.owned[share] = last.id
            let readBefore = self.readBefore[share] ?? .start
            if last.id >= readBefore { self.readBefore[share] = nil }
            return Part(share: share, through: last.id, readBefore: readBefore, entries: batch.entries)
        }
    }

    /// Removes finished Jobs from their stream. On a replaced master they stay until they were read again: the new
    /// master may have given their numbers, or lower ones, to unread Jobs.
    package func trim(_ share: Share, through id: EntryID) {
        let stream = self.streams[share.index]
        guard !self.bus.replacements.hasChanged(since: self.replacements, at: stream) else { return }
        self.bus.trim(stream, through: id)
    }
}
