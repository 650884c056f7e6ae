import Bus
import ClusterContract
import Contract
import Participants
import Store
import Telemetry

/// One batch: what is read, decided and written in one transaction, and who hears of it afterwards.
extension LiveCoordinator {
    func handle(_ batch: inout LiveBatch) async throws {
        for case .report(let node, _, _) in batch.steps { self.reports.heard(from: node, at: .now) }
        if !batch.left.isEmpty {
            batch.ofProfilesLeft = try await self.store.query(
                LiveTable.ids(of: Array(batch.left), in: self.ownedShares))
        }
        try await self.load(Array(batch.conversations.union(self.expired)))
        let silent = self.silentNodes
        self.silentNodes = []
        let outcome = try await self.transacted(batch, silent: silent)
        self.book.commit()
        let now = self.now
        self.book.keep({ !$0.isAsleep(at: now) }, of: outcome.asleep)
        self.metrics.linesStored.increment(by: outcome.linesStored)
        (self.expired, self.removedHolders) = ([], [])
        await self.tell(outcome)
    }

    /// Loads conversations that are not in memory. Nobody else writes them: this process owns the shares.
    func load(_ ids: [ConversationID]) async throws(StoreError) {
        let missing = ids.filter { self.book[$0] == nil }
        for start in stride(from: 0, to: missing.count, by: OwnerLimits.loadedAtOnce) {
            let part = Array(missing[start..<min(start + OwnerLimits.loadedAtOnce, missing.count)])
            for conversation in try await LiveTable.load(part, on: self.store) { self.book.load(conversation) }
        }
    }

    // MARK: The transaction

    struct Outcome {
        enum Saying {
            case answer(AnswerAddress, Answer)
            case telling(LiveTelling)
        }

        /// In the order in which they were decided.
        var sayings: [Saying] = []
        /// Lines to be stored. Their whisperers are told once they are.
        var lines: [LiveLine] = []
        var linesStored = 0
        /// Conversations that need not stay in memory.
        var asleep: [ConversationID] = []
    }

    private func transacted(_ batch: LiveBatch, silent: Set<NodeID>) async throws(StoreError) -> Outcome {
        var attempt = 1
        while true {
            do throws(StoreError) {
                return try await self.attempt(batch, silent: silent)
            } catch {
                self.book.takeBack()
                guard error == .conflict, attempt < OwnerLimits.attemptsMax else { throw error }
                attempt += 1
            }
        }
    }

    private func attempt(_ batch: LiveBatch, silent: Set<NodeID>) async throws(StoreError) -> Outcome {
        let concerned = batch.judged.compactMap { self.book[$0]?.profile }
        let profiles = Array(batch.profiles.union(concerned))
        guard !batch.principals.isEmpty || !profiles.isEmpty else {
            // Nobody says anything new: nothing needs to be read, and mostly nothing to be written.
            let outcome = self.apply(batch, LiveFacts(), silent: silent)
            return try await self.write(outcome) { writes throws(StoreError) in try await self.store.pipeline(writes) }
        }
        let growing = batch.growing
        let starts = batch.starts
        return try await self.store.transaction { transaction throws(StoreError) in
            var reading = Pipeline()
            if !growing.isEmpty { reading.add(LiveTable.lock(Array(growing))) }
            let holders = Array(Set(starts.map(\.holder)))
            if !starts.isEmpty { reading.add(LiveTable.lockStreams(of: holders, in: profiles)) }
            let accounts = AccountReading(of: batch.principals, in: &reading)
            let members = reading.add(LiveViews.members(of: profiles))
            let lists = batch.profiles.isEmpty ? nil : reading.add(LiveTable.lists(of: Array(batch.profiles)))
            let ended = starts.isEmpty ? nil : reading.add(LiveTable.ended(starts.map(\.content)))
            let held = starts.isEmpty ? nil : reading.add(LiveTable.held(by: Array(Set(starts.map(\.connection)))))
            let last = starts.isEmpty ? nil : reading.add(TranscriptTable.lastLines(of: starts.map(\.content)))
            let openOf = starts.isEmpty ? nil : reading.add(LiveTable.open(of: holders))
            let openIn = starts.isEmpty ? nil : reading.add(LiveTable.open(in: profiles))
            let found = try await transaction.pipeline(reading)
            var facts = LiveFacts(accounts: try accounts.accounts(in: found), members: try found[members])
            if let lists { facts.lists = try found[lists] }
            if let ended { facts.ended = try found[ended] }
            if let held { facts.held = try found[held] }
            if let openOf { facts.openOf = try found[openOf] }
            if let openIn { facts.openIn = try found[openIn] }
            if let last { facts.lastLines = try found[last] }
            let outcome = self.apply(batch, facts, silent: silent)
            return try await self.write(outcome) { writes throws(StoreError) in try await transaction.pipeline(writes) }
        }
    }

    /// Writes what the batch has changed, and its lines behind it: a stream stands before its lines.
    private func write(
        _ outcome: Outcome, by run: (Pipeline) async throws(StoreError) -> Pipeline.Answers
    ) async throws(StoreError) -> Outcome {
        var outcome = outcome
        var writes = Pipeline()
        writes.add(LiveTable.write(self.book.changes))
        let stored = outcome.lines.isEmpty ? nil : writes.add(TranscriptTable.store(outcome.lines, within: self.kept))
        guard !writes.isEmpty else { return outcome }
        let answers = try await run(writes)
        if let stored {
            let stored = try answers[stored]
            outcome.linesStored = stored.count
            outcome.sayings += LiveRules.stored(outcome.lines, notKept: Set(stored.notKept)).map { .telling($0) }
        }
        return outcome
    }

    private func apply(_ batch: LiveBatch, _ facts: LiveFacts, silent: Set<NodeID>) -> Outcome {
        var rules = LiveRules(book: self.book, facts: facts, limits: self.bounds, at: self.now)
        // One owner at a time, so that a change copies nothing.
        self.book = LiveBook()
        var outcome = Outcome()
        func flush(_ rules: inout LiveRules) {
            outcome.sayings += rules.tellings.map { .telling($0) }
            rules.tellings = []
        }
        rules.tick()
        for node in silent { rules.unheard(by: node) }
        for id in self.expired { rules.expired(id) }
        for (id, holder) in self.removedHolders { rules.removed(holder, from: id) }
        for step in batch.steps {
            switch step {
            case .frame(let frame, let address):
                let answer = rules.received(frame)
                // The events of the caller's own connection stand before the answer, all other tellings behind it.
                let own = rules.tellings.filter { $0.isEvent(for: frame.connection) }
                outcome.sayings += own.map { .telling($0) }
                outcome.sayings.append(.answer(address, answer))
                rules.tellings.removeAll { $0.isEvent(for: frame.connection) }
                if case .knock = frame.body { self.metrics.knocks[KnockResult(answer)].increment() }
            case .left(let id, let connection): rules.left(id, connection)
            case .report(let node, let entries, let share): rules.reported(entries, by: node, of: share)
            case .line(let line): rules.said(line)
            case .membersChanged(let profile): rules.membersChanged(of: profile, in: batch.ofProfilesLeft)
            case .erased(let id, let identity): rules.erased(identity, from: id)
            case .refused(let refusal, let address): outcome.sayings.append(.answer(address, .refused(refusal)))
            }
            flush(&rules)
        }
        flush(&rules)
        outcome.lines = rules.lines
        outcome.asleep = rules.asleep
        self.book = rules.book
        return outcome
    }

    // MARK: After the commit

    func tell(_ outcome: Outcome) async {
        guard !outcome.sayings.isEmpty else { return }
        var notices = NoticeBatch(bus: self.bus) { [weak self] node, error in
            // Bare: it lasts one hop, and happens only when a gateway or the bus has died.
            Task { await self?.unheard(by: error == nil ? node : nil) }
        }
        let places = await self.places(of: outcome)
        for saying in outcome.sayings {
            switch saying {
            case .answer(let address, let answer):
                self.answers.answered(address, answer)
                notices.answer(address, answer)
            case .telling(.event(let connection, let event)):
                notices.add(.live(connection.connection, event), for: connection.node)
            case .telling(.frame(.connection(let connection), let type, let payload)):
                notices.add(.frame(connection.connection, type: type, payload: payload), for: connection.node)
            case .telling(.frame(.principal(let principal), let type, let payload)):
                guard let place = places[principal] else { continue }
                notices.add(.frame(place.connection, type: type, payload: payload), for: place.node)
            case .telling(.knock(let type, let payload, let devices, let otherwise, let conversation)):
                let present = devices.compactMap { places[.identity($0)] }
                for place in present {
                    notices.add(.frame(place.connection, type: type, payload: payload), for: place.node)
                }
                if present.isEmpty { self.wake(otherwise, becauseOf: conversation) }
            }
        }
        notices.send()
    }

    /// Nobody who could decide is connected.
    private func wake(_ device: WhisperID, becauseOf conversation: ConversationID) {
        guard self.knockWakes.admits(conversation, at: .now) else { return }
        let wake = Wake(knockAt: conversation, for: device, at: self.now)
        self.logger.debug("wake queued", [.wakeId: "\(wake.wakeID)"])
        self.bus.append(wake, to: Keyspace.callWakes) { [weak self] _ in
            // Bare: it lasts one hop. The next knock wakes.
            Task { await self?.notWoken(conversation) }
        }
    }

    private func notWoken(_ conversation: ConversationID) { self.knockWakes.failed(conversation) }

    /// The connections of principals that only presence keys know. A principal that is not connected gets nothing: it
    /// asks when it comes back.
    private func places(of outcome: Outcome) async -> [PrincipalID: LiveConnection] {
        var wanted: Set<PrincipalID> = []
        for case .telling(let telling) in outcome.sayings {
            switch telling {
            case .frame(.principal(let principal), _, _): wanted.insert(principal)
            case .knock(_, _, let devices, _, _): wanted.formUnion(devices.map { .identity($0) })
            case .frame(.connection, _, _), .event: break
            }
        }
        let principals = Array(wanted)
        var places: [PrincipalID: LiveConnection] = [:]
        for start in stride(from: 0, to: principals.count, by: ClusterLimits.presencesPerReadMax) {
            let part = principals[start..<min(start + ClusterLimits.presencesPerReadMax, principals.count)]
            guard let values = try? await self.bus.get(part.map { Keyspace.presence($0) }) else { return places }
            for (principal, value) in zip(part, values) {
                guard let value, let presence = try? Presence(decoding: value) else { continue }
                places[principal] = LiveConnection(node: presence.node, connection: presence.connection)
            }
        }
        return places
    }
}

extension Wake {
    /// All knocks at one conversation have one id on a device, so that the newest takes the place of those before.
    init(knockAt conversation: ConversationID, for device: WhisperID, at now: Timestamp) {
        self.init(
            recipient: device, reason: .knock(until: now + ConversationLimits.knockWorth),
            wakeID: Self.opaque("whisper-knock", "\(conversation)", device), queuedAt: now)
    }
}

extension LiveTelling {
    func isEvent(for connection: LiveConnection) -> Bool {
        if case .event(connection, _) = self { true } else { false }
    }
}

extension KnockResult {
    fileprivate init(_ answer: Answer) {
        switch answer {
        case .reply(type: LiveAdmitted.type, _): self = .admitted
        case .reply(type: LiveWaiting.type, _): self = .waiting
        default: self = .refused
        }
    }
}
