package import Bus
package import ClusterContract
import Contract
import Jobs
package import Logging
package import Participants
import ServerCrypto
package import Store
import Telemetry

/// One calls process: owns shares of all rooms, and does for them what Jobs say, batch after batch (contract §15).
///
/// It works as the owner of calls does, beside it, on a stream and a connection of its own: a signal waits neither for a ring nor
/// for a knock.
package actor RoomCoordinator: PartitionOwner {
    private let bus: any Bus
    private let store: PostgresConnection
    /// Relays of rooms.
    private let turn: TurnConfiguration
    private let logger: Logger
    private let answers: AnswerLog
    private let metrics = RoomMetrics()
    private let worker: PartitionWorker<RoomShare>

    private var memory = RoomMemory()
    private var reports = NodeReports()
    /// Nodes that did not hear a Notice since the last batch.
    private var silentNodes: Set<NodeID> = []
    /// Rooms that are over, and seats of participants that leave all rooms. The next batch ends them.
    private var expired: [UUIDText] = []
    private var leaving: [(room: UUIDText, participant: PrincipalID)] = []
    /// Codes by digits, as of the last sweep. `nil`: not counted yet.
    private var codeCounts: [Int: Int]?
    /// The keys of the latest periods in which a participant asked for relays.
    private var relayKeys = RelayKeys()
    /// When time was last applied to rooms.
    private var tickedAt: ContinuousClock.Instant?
    private var sweptAt: ContinuousClock.Instant?
    private var arrivals = ArrivalPacing(
        interval: RoomOwnerLimits.readInterval, worthWaiting: RoomOwnerLimits.jobsWorthWaiting,
        window: RoomOwnerLimits.rateWindow)
    /// The ages of Jobs, by the clock of Redis.
    private var ages: EntryAges?

    /// - Parameter store: a connection for this owner alone; its locks say what the process owns.
    package init(
        bus: any Bus, store: PostgresConnection, turn: TurnConfiguration,
        leaseInterval: Duration = OwnerLimits.leaseInterval, logger: Logger
    ) {
        self.bus = bus
        self.store = store
        self.turn = turn
        self.logger = logger
        self.answers = AnswerLog(logger)
        self.worker = PartitionWorker(
            bus: bus, store: store, leases: .rooms(RoomShare.count, frozenAfter: OwnerLimits.frozenAfter),
            leaseInterval: leaseInterval, logger: logger)
    }

    private var now: Timestamp { self.worker.time.now }
    private var shares: [RoomShare] { Array(self.worker.owned.keys) }
    private func owns(_ room: UUIDText) -> Bool { self.worker.owned[RoomShare(of: room)] != nil }

    // MARK: Life

    /// Works until cancelled, or until a drain has ended.
    package func run() async throws { try await self.worker.run(self) }

    /// Finishes the batch under way, gives all shares up and stops.
    package func drain() async { await self.worker.drain() }

    /// Whether Jobs are being handled.
    package var isReady: Bool { self.worker.isReady }

    package func joined() {}

    package func left(because error: (any Error)?) async {
        if let error { self.logger.warning("rooms interrupted", [.error: "\(error)"]) }
        self.memory.forgetRooms()
        (self.expired, self.leaving) = ([], [])
        await self.store.close()
    }

    package func serve() async throws {
        while !Task.isCancelled, !self.worker.isDraining {
            try await self.look()
            let batch = try await self.intake()
            do {
                try await self.handle(batch)
            } catch StoreError.refused(let state, let message) where batch.isSingle {
                self.answers.gaveUp(batch.asked.first, state: state, message: message)
            }
            for (share, through) in batch.positions { self.worker.trim(share, through: through) }
        }
    }

    package func took(_ shares: [RoomShare]) async throws {
        try await self.load(try await self.store.query(RoomTable.active(in: shares)))
        self.logger.notice("room shares taken", [.count: .number(self.worker.owned.count)])
    }

    package func gaveUp(_ shares: [RoomShare]) {
        self.memory.keep { self.owns($0.id) }
        self.logger.notice("room shares given up", [.count: .number(shares.count)])
    }

    /// Gateways report again who is connected: nothing has to be written.
    package func busHasLost(_ losses: BusLosses) { self.ages = nil }

    // MARK: Intake

    private func intake() async throws(BusError) -> RoomBatch {
        // While several come anyway, a transaction is worth a moment's wait: it costs more than its content.
        let pause = self.arrivals.pause(at: .now)
        if pause > .zero { try? await self.bus.pause(for: pause) }
        let isBusy = !self.silentNodes.isEmpty || !self.expired.isEmpty || !self.leaving.isEmpty
        let patience = self.memory.isEmpty ? self.worker.readBlockMax : OwnerLimits.timedReadBlockMax
        var batch = RoomBatch()
        batch.isSingle = self.worker.isIsolatingPoison
        let read =
            try await batch.isSingle
            ? self.worker.readOne()
            : self.worker.read(
                limit: OwnerLimits.jobsPerShareMax, blockFor: isBusy ? .milliseconds(1) : patience)
        for part in self.worker.advance(past: read) {
            batch.positions.append((part.share, part.through))
            for entry in part.entries {
                do throws(WireError) {
                    batch.add(
                        try RoomJob(decoding: entry.bytes), share: part.share,
                        age: self.ages?.age(of: entry.id) ?? .zero)
                } catch {
                    self.logger.error("job not understood", [.error: "\(error)", .stream: "\(part.share.stream)"])
                }
            }
        }
        self.arrivals.looked(batch.steps.count, at: .now)
        return batch
    }

    // MARK: Between batches

    private func look() async throws {
        guard try await self.worker.look(for: self) else { return }
        if !self.memory.isEmpty { self.worker.stir() }
        if self.ages == nil { self.ages = EntryAges(serverTime: try await self.bus.time()) }
        self.silentNodes.formUnion(self.reports.stopped(among: self.memory.nodes, at: .now))
        guard self.sweptAt.map({ .now - $0 >= OwnerLimits.sweepInterval }) ?? true else { return }
        self.sweptAt = .now
        try await self.sweep()
    }

    private func sweep() async throws(StoreError) {
        let shares = self.shares
        guard !shares.isEmpty else { return }
        var pipeline = Pipeline()
        let expired = pipeline.add(RoomTable.expired(in: shares, limit: OwnerLimits.expiredAtOnce))
        let leaving = pipeline.add(RoomTable.leaving(in: shares, limit: OwnerLimits.expiredAtOnce))
        pipeline.add(RoomCodeTable.sweep)
        let counts = pipeline.add(RoomCodeTable.counts)
        let found = try await self.store.pipeline(pipeline)
        (self.expired, self.leaving) = (try found[expired], try found[leaving])
        self.codeCounts = try found[counts]
        self.memory.keep { !$0.isQuiet }
    }

    /// Loads rooms that are not in memory. Nobody else writes them: this process owns the shares.
    private func load(_ ids: some Sequence<UUIDText>) async throws(StoreError) {
        let missing = self.memory.missing(of: ids)
        for start in stride(from: 0, to: missing.count, by: OwnerLimits.loadedAtOnce) {
            let part = Array(missing[start..<min(start + OwnerLimits.loadedAtOnce, missing.count)])
            for room in try await RoomTable.load(part).run(on: self.store) { self.memory.load(room) }
        }
    }

    // MARK: Batches

    private func handle(_ read: RoomBatch) async throws {
        for case .report(let node, _, _) in read.steps { self.reports.heard(from: node, at: .now) }
        let time = ContinuousClock.now
        let isTime = self.tickedAt.map { time - $0 >= RoomOwnerLimits.tickEvery } ?? true
        var batch = self.memory.new(read)
        // Before the new Jobs: a participant may be back by now.
        batch.steps = self.leaving.map { .purge($0.room, $0.participant) } + batch.steps
        batch.silent = self.silentNodes
        batch.isTick = isTime || !self.expired.isEmpty
        self.silentNodes = []
        guard batch.isTick || !batch.steps.isEmpty || !batch.silent.isEmpty else { return }
        var facts = RoomFacts()
        let codes = batch.guesses
        if !codes.isEmpty {
            facts.codes = try await self.store.query(RoomCodeTable.rooms(of: codes))
            batch = self.passOn(batch, facts.codes)
        }
        try await self.load(batch.rooms.union(facts.codes.values).filter { self.owns($0) }.union(self.expired))
        if !batch.askAboutAll.isEmpty { facts.rooms = try await self.allRooms(of: batch.askAboutAll) }
        if batch.wantsRelays { facts.relays = try await self.relays() }
        if batch.wishes > 0 { facts.salt = randomBytes(16) }
        let outcome = try await self.transacted(batch, facts)
        self.memory.commit(batch, at: time)
        (self.expired, self.leaving) = ([], [])
        self.tell(outcome)
        guard batch.isTick else { return }
        self.tickedAt = time
        let figures = self.memory.figures
        self.metrics.active.set(figures.rooms)
        self.metrics.participants.set(figures.connections)
    }

    /// All rooms of these principals, also rooms of other processes, as the tables have them.
    private func allRooms(of principals: [PrincipalID]) async throws(StoreError) -> [PrincipalID: [RoomMachine]] {
        let ids = try await self.store.query(RoomTable.rooms(of: principals))
        let machines = try await RoomTable.load(Array(Set(ids.values.joined()))).run(on: self.store)
        let byID = Dictionary(uniqueKeysWithValues: machines.map { ($0.id, $0) })
        return ids.mapValues { $0.compactMap { byID[$0] } }
    }

    /// Joins by code that name a room of another process go to its owner, which looks the code up again.
    private func passOn(_ batch: RoomBatch, _ codes: [JoinCode: UUIDText]) -> RoomBatch {
        var batch = batch
        batch.steps.removeAll { step in
            guard case .frame(let frame, let request) = step, let code = frame.body.guess, let room = codes[code],
                !self.owns(room)
            else { return false }
            // Lost, its client gets INTERNAL_ERROR and asks again.
            self.bus.append(RoomJob.frame(request), to: Keyspace.rooms(RoomShare(of: room)), failed: { _ in })
            return true
        }
        return batch
    }

    private func relays() async throws(StoreError) -> RoomFacts.Relays {
        let periods = RelayKeys.periods(life: self.turn.ttl, at: self.now)
        if !self.relayKeys.has(periods) {
            var pipeline = Pipeline()
            pipeline.add([RelayKeyTable.sweep])
            for period in periods { pipeline.add([RelayKeyTable.make(for: period.startsAt)]) }
            let keys = periods.map { pipeline.add(RelayKeyTable.key(for: $0.startsAt)) }
            let found = try await self.store.pipeline(pipeline)
            self.relayKeys.identities = try found[keys[0]].map { (periods[0], $0) }
            self.relayKeys.guests = try found[keys[1]].map { (periods[1], $0) }
        }
        var relays = RoomFacts.Relays()
        relays.turn = self.turn
        (relays.identities, relays.guests) = (self.relayKeys.identities, self.relayKeys.guests)
        return relays
    }

    // MARK: The transaction

    private func transacted(_ batch: RoomBatch, _ facts: RoomFacts) async throws(StoreError) -> RoomMemory.Outcome {
        var attempt = 1
        while true {
            do throws(StoreError) {
                return try await self.attempt(batch, facts)
            } catch {
                self.memory.takeBack()
                // Two processes have drawn the same code: another one is drawn.
                var isPassing = error == .conflict
                if case .unique = error { isPassing = true }
                guard isPassing, attempt < OwnerLimits.attemptsMax else { throw error }
                attempt += 1
            }
        }
    }

    private func attempt(_ batch: RoomBatch, _ known: RoomFacts) async throws(StoreError) -> RoomMemory.Outcome {
        let candidates = batch.wishes > 0 ? Self.candidates(for: batch.wishes) : [:]
        guard !batch.growing.isEmpty || !candidates.isEmpty || batch.isGuessed else {
            return try await self.attemptWithoutLocks(batch, known)
        }
        return try await self.store.transaction { transaction throws(StoreError) in
            let growing = batch.growing
            var reading = Pipeline()
            if !growing.isEmpty { reading.add([RoomTable.lock(growing)]) }
            let accounts = AccountReading(of: batch.principals, in: &reading)
            let hosted = growing.isEmpty ? nil : reading.add(RoomTable.hosted(by: growing))
            let seats = growing.isEmpty ? nil : reading.add(RoomTable.rooms(of: growing))
            let taken =
                candidates.isEmpty ? nil : reading.add(RoomCodeTable.taken(of: Array(candidates.values.joined())))
            // Later the sweep counts them.
            let counts = candidates.isEmpty || self.codeCounts != nil ? nil : reading.add(RoomCodeTable.counts)
            let guesses = batch.isGuessed ? reading.add(RoomCodeTable.guesses) : nil
            let found = try await transaction.pipeline(reading)
            var facts = known
            facts.accounts = try accounts.accounts(in: found)
            if let hosted { facts.hosted = try found[hosted] }
            if let seats { facts.seats = try found[seats].mapValues(\.count) }
            if let taken {
                let taken = try found[taken]
                facts.freeCodes = candidates.mapValues { $0.filter { !taken.contains($0) } }
            }
            if let counts { self.codeCounts = try found[counts] }
            facts.codeCounts = self.codeCounts ?? [:]
            if let guesses { facts.guesses = try found[guesses] ?? RoomFacts.Guesses() }
            let (outcome, writes) = self.apply(batch, facts)
            if !writes.isEmpty { _ = try await transaction.pipeline(writes) }
            return outcome
        }
    }

    /// Nothing that the batch counts belongs to other processes: nothing has to stay as it is between reading and writing. Signals,
    /// the most frequent frames, write nothing and so cost one round trip.
    private func attemptWithoutLocks(
        _ batch: RoomBatch, _ known: RoomFacts
    ) async throws(StoreError) -> RoomMemory.Outcome {
        var facts = known
        var reading = Pipeline()
        let accounts = AccountReading(of: batch.principals, in: &reading)
        if !reading.isEmpty { facts.accounts = try accounts.accounts(in: try await self.store.pipeline(reading)) }
        let (outcome, writes) = self.apply(batch, facts)
        if !writes.isEmpty { _ = try await self.store.pipeline(writes) }
        return outcome
    }

    /// Random codes of each length: more than are needed, because other rooms have some of them.
    private static func candidates(for wishes: Int) -> [Int: [JoinCode]] {
        var codes: [Int: [JoinCode]] = [:]
        var random = SystemRandomNumberGenerator()
        for digits in RoomLimits.codeDigits where digits > 0 {
            codes[Int(digits)] = (0..<wishes + RoomOwnerLimits.spareCodes).compactMap { _ in
                JoinCode((0..<digits).map { _ in "\(Int.random(in: 0...9, using: &random))" }.joined())
            }
        }
        return codes
    }

    private func apply(_ batch: RoomBatch, _ facts: RoomFacts) -> (RoomMemory.Outcome, Pipeline) {
        let outcome = self.memory.apply(batch, facts, at: self.now)
        var writes = Pipeline()
        writes.add(RoomTable.write(outcome.changes, at: self.now))
        if !outcome.misses.isEmpty { writes.add([RoomCodeTable.miss(outcome.misses)]) }
        for case .effect(.purge(let room, let participant)) in outcome.steps {
            writes.add([RoomTable.leave([room], participant)])
        }
        return (outcome, writes)
    }

    // MARK: After the commit

    private func tell(_ outcome: RoomMemory.Outcome) {
        for kind in outcome.signals { self.metrics.signals[kind].increment() }
        for answer in outcome.joins { self.metrics.joins[RoomJoinResult(answer)].increment() }
        if !outcome.misses.isEmpty { self.metrics.misses.increment(by: outcome.misses.count) }
        guard !outcome.steps.isEmpty else { return }
        var notices = NoticeBatch(bus: self.bus) { [weak self] node, error in
            // Bare: it lasts one hop, and happens only when a gateway or the bus has died.
            Task { await self?.unheard(by: error == nil ? node : nil) }
        }
        for step in outcome.steps {
            switch step {
            case .answer(let address, let answer):
                self.answers.answered(address, answer)
                notices.answer(address, answer)
            case .effect(.event(let place, let event)):
                notices.add(.live(place.connection, event), for: place.node)
            case .effect(.frame(let place, let frame)):
                notices.add(.frame(place.connection, type: frame.type, payload: frame.payload), for: place.node)
            case .effect(.wake(let identity, let room)): self.wake(identity, for: room)
            case .effect(.purge(let room, let participant)):
                self.bus.append(
                    RoomJob.purge(room, participant), to: Keyspace.rooms(RoomShare(of: room)), failed: { _ in })
            }
        }
        notices.send()
    }

    /// A node did not hear a Notice; nil if the bus was away.
    private func unheard(by node: NodeID?) {
        if let node { self.silentNodes.insert(node) }
    }

    private func wake(_ identity: WhisperID, for room: UUIDText) {
        // All wake-ups of one room have one id on a device.
        let wake = Wake(
            recipient: identity, reason: .room(until: self.now + RoomOwnerLimits.wakeWorth),
            wakeID: Wake.opaque("whisper-room", "\(room)", identity), queuedAt: self.now)
        self.logger.debug("wake queued", [.wakeId: "\(wake.wakeID)"])
        // Lost, the next poke wakes.
        self.bus.append(wake, to: Keyspace.callWakes) { _ in }
    }
}

extension RoomJoinResult {
    fileprivate init(_ answer: Answer) {
        switch answer {
        case .reply: self = .joined
        case .refused(let refusal) where refusal.code == .notFound: self = .notFound
        default: self = .refused
        }
    }
}
