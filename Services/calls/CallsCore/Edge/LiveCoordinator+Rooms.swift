import Bus
import ClusterContract
import Contract
import ServerCrypto
import Store
import Telemetry

/// Rooms: one batch after the other, on the coordinator's connection (contract §15).
extension LiveCoordinator {
    func handle(_ batch: RoomBatch) async throws {
        for case .report(let node, _, _) in batch.steps { self.reportedAt[node] = .now }
        var batch = batch
        batch.drop(self.handled)
        // Before what has come: somebody may be back by now.
        batch.steps = self.leaving.map { .purge($0.room, $0.participant) } + batch.steps
        let time = ContinuousClock.now
        let isTime = self.roomsTickedAt.map { time - $0 >= CallLimits.roomsTickEvery } ?? true
        batch.isTick = isTime || !self.expiredRooms.isEmpty
        guard batch.isTick || !batch.steps.isEmpty || !batch.silent.isEmpty else { return }
        let codes = batch.guesses
        let found = codes.isEmpty ? [:] : try await self.store.query(RoomCodeTable.rooms(of: codes))
        batch = self.passOn(batch, found)
        if batch.wantsRelays { try await self.renewRelayKeys() }
        let listed = batch.askAboutAll
        let listedRooms = listed.isEmpty ? [:] : try await self.store.query(RoomTable.rooms(of: listed))
        let owned = batch.rooms.union(found.values).filter { self.owns($0) }
        try await self.loadRooms(Array(owned.union(self.expiredRooms)))
        var facts = RoomFacts()
        facts.codes = found
        facts.rooms = try await self.rooms(listedRooms)
        facts.relays.turn = self.turn
        (facts.relays.identities, facts.relays.guests) = (self.relayKeys.identities, self.relayKeys.guests)
        facts.salt = randomBytes(16)
        let outcome = try await self.transacted(batch, facts)
        self.rooms.commit()
        self.signals.commit()
        self.handled.note(batch.asked, at: time)
        (self.expiredRooms, self.leaving) = ([], [])
        await self.tell(outcome)
        guard batch.isTick else { return }
        self.roomsTickedAt = time
        self.roomMetrics.active.set(self.rooms.all.count { $0.hasConnected })
        self.roomMetrics.participants.set(self.rooms.all.reduce(0) { $0 + $1.nodes.count })
    }

    /// What is not in memory. Nobody else writes it: this process owns the shares.
    private func loadRooms(_ ids: [UUIDText]) async throws(StoreError) {
        let missing = ids.filter { self.rooms[$0] == nil }
        for start in stride(from: 0, to: missing.count, by: CallLimits.conversationsLoadedAtOnce) {
            let part = Array(missing[start..<min(start + CallLimits.conversationsLoadedAtOnce, missing.count)])
            for room in try await RoomTable.load(part).run(on: self.store) { self.rooms.load(room) }
        }
    }

    func loadRooms(in shares: [LiveShare]) async throws(StoreError) {
        try await self.loadRooms(try await self.store.query(RoomTable.active(in: shares)))
    }

    /// Rooms of other processes too, as the tables have them.
    private func rooms(_ ids: [PrincipalID: [UUIDText]]) async throws(StoreError) -> [PrincipalID: [RoomMachine]] {
        let machines = try await RoomTable.load(Array(Set(ids.values.joined()))).run(on: self.store)
        let byID = Dictionary(uniqueKeysWithValues: machines.map { ($0.id, $0) })
        return ids.mapValues { $0.compactMap { byID[$0] } }
    }

    /// Joins by code that name a room of another process go there. They are looked up again there.
    private func passOn(_ batch: RoomBatch, _ codes: [JoinCode: UUIDText]) -> RoomBatch {
        var batch = batch
        batch.steps.removeAll { step in
            guard case .frame(let frame, let request) = step, let code = frame.body.guess, let room = codes[code],
                !self.owns(room)
            else { return false }
            // Lost, its client gets INTERNAL_ERROR and asks again.
            self.bus.append(LiveJob.frame(request), to: Keyspace.live(LiveShare(of: room)), failed: { _ in })
            return true
        }
        return batch
    }

    private func renewRelayKeys() async throws(StoreError) {
        let periods = RelayKeys.periods(life: self.turn.ttl, at: self.now)
        guard !self.relayKeys.has(periods) else { return }
        var pipeline = Pipeline()
        pipeline.add([RelayKeyTable.sweep])
        for period in periods { pipeline.add([RelayKeyTable.make(for: period.startsAt)]) }
        let keys = periods.map { pipeline.add(RelayKeyTable.key(for: $0.startsAt)) }
        let found = try await self.store.pipeline(pipeline)
        self.relayKeys.identities = try found[keys[0]].map { (periods[0], $0) }
        self.relayKeys.guests = try found[keys[1]].map { (periods[1], $0) }
    }

    // MARK: The transaction

    private func transacted(_ batch: RoomBatch, _ facts: RoomFacts) async throws(StoreError) -> Outcome {
        var attempt = 1
        while true {
            do throws(StoreError) {
                return try await self.attempt(batch, facts)
            } catch {
                self.rooms.takeBack()
                self.signals.takeBack()
                // Two processes have drawn the same code: another one is drawn.
                var isPassing = error == .conflict
                if case .unique = error { isPassing = true }
                guard isPassing, attempt < CallLimits.attemptsMax else { throw error }
                attempt += 1
            }
        }
    }

    private func attempt(_ batch: RoomBatch, _ known: RoomFacts) async throws(StoreError) -> Outcome {
        guard !batch.principals.isEmpty else {
            // Nobody says anything new: nothing needs to be read, and mostly nothing to be written.
            let (outcome, written) = self.apply(batch, known)
            var writes = Pipeline()
            writes.add(written)
            if !writes.isEmpty { _ = try await self.store.pipeline(writes) }
            return outcome
        }
        let (identities, guests) = Self.split(batch.principals)
        let growing = batch.growing
        let candidates = batch.wishes > 0 ? Self.candidates(for: batch.wishes) : [:]
        if growing.isEmpty, candidates.isEmpty, !batch.isGuessed {
            return try await self.attempt(batch, known, identities, guests)
        }
        return try await self.store.transaction { transaction throws(StoreError) in
            var reading = Pipeline()
            if !growing.isEmpty { reading.add([RoomTable.lock(growing)]) }
            let accounts = reading.add(IdentityView.accounts(of: identities))
            let guestAccounts = reading.add(LiveViews.guests(guests))
            let hosted = growing.isEmpty ? nil : reading.add(RoomTable.hosted(by: growing))
            let seats = growing.isEmpty ? nil : reading.add(RoomTable.rooms(of: growing))
            let taken =
                candidates.isEmpty ? nil : reading.add(RoomCodeTable.taken(of: Array(candidates.values.joined())))
            // Later the sweep counts them.
            let counts =
                candidates.isEmpty || self.codeCounts != nil ? nil : reading.add(RoomCodeTable.counts)
            let guesses = batch.isGuessed ? reading.add(RoomCodeTable.guesses) : nil
            let found = try await transaction.pipeline(reading)
            var facts = known
            for (identity, account) in try found[accounts] { facts.accounts[.identity(identity)] = account }
            for (guest, account) in try found[guestAccounts] { facts.accounts[.guest(guest)] = account }
            if let hosted { facts.hosted = try found[hosted] }
            if let seats { facts.seats = try found[seats].mapValues(\.count) }
            if let taken {
                let taken = try found[taken]
                facts.freeCodes = candidates.mapValues { $0.filter { !taken.contains($0) } }
            }
            if let counts { self.codeCounts = try found[counts] }
            facts.codeCounts = self.codeCounts ?? [:]
            if let guesses { facts.guesses = try found[guesses] ?? RoomFacts.Guesses() }
            let (outcome, written) = self.apply(batch, facts)
            var writes = Pipeline()
            writes.add(written)
            if !writes.isEmpty { _ = try await transaction.pipeline(writes) }
            return outcome
        }
    }

    /// Nobody counts what others have: nothing has to stay as it is between reading and writing. Signals, which are most of all
    /// frames, write nothing and so cost one round trip.
    private func attempt(
        _ batch: RoomBatch, _ known: RoomFacts, _ identities: [WhisperID], _ guests: [GuestID]
    ) async throws(StoreError) -> Outcome {
        var reading = Pipeline()
        let accounts = identities.isEmpty ? nil : reading.add(IdentityView.accounts(of: identities))
        let guestAccounts = guests.isEmpty ? nil : reading.add(LiveViews.guests(guests))
        let found = try await self.store.pipeline(reading)
        var facts = known
        if let accounts { for (id, account) in try found[accounts] { facts.accounts[.identity(id)] = account } }
        if let guestAccounts { for (id, account) in try found[guestAccounts] { facts.accounts[.guest(id)] = account } }
        let (outcome, written) = self.apply(batch, facts)
        var writes = Pipeline()
        writes.add(written)
        if !writes.isEmpty { _ = try await self.store.pipeline(writes) }
        return outcome
    }

    /// Random codes of each length: more than are needed, because some are somebody's.
    private static func candidates(for wishes: Int) -> [Int: [JoinCode]] {
        var codes: [Int: [JoinCode]] = [:]
        var random = SystemRandomNumberGenerator()
        for digits in RoomLimits.codeDigits where digits > 0 {
            codes[Int(digits)] = (0..<wishes + CallLimits.spareCodes).compactMap { _ in
                JoinCode((0..<digits).map { _ in "\(Int.random(in: 0...9, using: &random))" }.joined())
            }
        }
        return codes
    }

    private func apply(_ batch: RoomBatch, _ facts: RoomFacts) -> (Outcome, [SQL]) {
        var rules = RoomRules(book: self.rooms, signals: self.signals, facts: facts, at: self.now)
        // One owner at a time, so that a change copies nothing.
        (self.rooms, self.signals) = (RoomBook(), KeptSignals())
        var outcome = Outcome()
        func flush(_ rules: inout RoomRules) {
            outcome.sayings += rules.tellings.map { .telling($0) }
            rules.tellings = []
        }
        if batch.isTick { rules.tick() }
        for node in batch.silent { rules.unheard(by: node) }
        for step in batch.steps {
            switch step {
            case .frame(let frame, let request):
                let answer = rules.received(frame)
                // What a connection is in stands before the answer, and what follows from it behind.
                let own = rules.tellings.filter { $0.isEvent(for: frame.connection) }
                outcome.sayings += own.map { .telling($0) }
                outcome.sayings.append(.answer(request.answer, answer))
                rules.tellings.removeAll { $0.isEvent(for: frame.connection) }
                if case .join = frame.body { self.roomMetrics.joins[RoomJoinResult(answer)].increment() }
            case .left(let room, let connection): rules.left(room, connection)
            case .report(let node, let entries, let share): rules.reported(entries, by: node, of: share)
            case .purge(let room, let participant): rules.purged(room, participant)
            }
            flush(&rules)
        }
        flush(&rules)
        self.rooms = rules.book
        self.signals = rules.signals
        for kind in rules.signalled { self.roomMetrics.signals[kind].increment() }
        if !rules.misses.isEmpty { self.roomMetrics.misses.increment(by: rules.misses.count) }
        var written = RoomTable.write(self.rooms.changes, at: self.now)
        if !rules.misses.isEmpty { written.append(RoomCodeTable.miss(rules.misses)) }
        for case .telling(.purge(let room, let participant)) in outcome.sayings {
            written.append(RoomTable.leave([room], participant))
        }
        return (outcome, written)
    }

    // MARK: Between batches

    func sweepRooms(in shares: [LiveShare]) async throws(StoreError) {
        var pipeline = Pipeline()
        let expired = pipeline.add(RoomTable.expired(in: shares, limit: CallLimits.conversationsExpiredAtOnce))
        let leaving = pipeline.add(RoomTable.leaving(in: shares, limit: CallLimits.conversationsExpiredAtOnce))
        pipeline.add(RoomCodeTable.sweep)
        let counts = pipeline.add(RoomCodeTable.counts)
        let found = try await self.store.pipeline(pipeline)
        (self.expiredRooms, self.leaving) = (try found[expired], try found[leaving])
        self.codeCounts = try found[counts]
        self.rooms.keep { !$0.isQuiet }
    }

    // MARK: After the commit

    func wake(_ identity: WhisperID, forRoom room: UUIDText) {
        let wake = Wake(room: room, for: identity, at: self.now)
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
