import Bus
import ClusterContract
import Contract
import Participants
import ServerCrypto
import Store
import Telemetry

/// One batch: what is read, decided and written in one transaction, and who hears of it afterwards.
extension CallCoordinator {
    func handle(_ batch: CallBatch) async throws {
        let looked = try await self.lookForSides(batch)
        self.silentNodes.subtract(looked.silent)
        if batch.asksForRelays { try await self.renewRelayKey() }
        let start = ContinuousClock.now
        var outcome = try await self.transacted(batch, looked)
        let changes = self.book.changes
        self.book.commit()
        if !batch.steps.isEmpty {
            self.metrics.batchJobs.record(batch.steps.count)
            self.metrics.commitSeconds.record(duration: ContinuousClock.now - start)
        }
        await self.tell(&outcome, changes)
    }

    // MARK: Before

    /// Facts from outside the database.
    private struct Looked {
        var silent: Set<NodeID> = []
        /// Callees of new calls, where they are.
        var callees: [WhisperID: CallLeg] = [:]
        /// Missing sides of calls, and where they are now.
        var sides: [WhisperID: CallLeg?] = [:]
    }

    private func lookForSides(_ batch: CallBatch) async throws(BusError) -> Looked {
        var looked = Looked(silent: self.silentNodes)
        let beginnings = batch.beginnings
        // First the keys, then the look: whoever binds in between finds the key and says so.
        for call in beginnings {
            let share = CallShare(of: call.from, and: call.to)
            for identity in [call.from, call.to]
            where !self.book.calls(of: identity).contains(where: { $0.share == share }) {
                self.bus.setWithoutWaiting(Keyspace.engaged(identity, in: share), to: [1], for: CallLimits.engagedMin)
            }
        }
        var missing: Set<WhisperID> = []
        if self.shouldLocate, self.locatedAt.map({ .now - $0 >= CallLimits.locatePause }) ?? true {
            self.shouldLocate = false
            self.locatedAt = .now
            for call in self.book.all {
                for side in call.missing { missing.insert(call.identity(of: side)) }
            }
        }
        let callees = Set(beginnings.map(\.to))
        let legs = try await self.legs(of: Array(callees.union(missing)))
        looked.callees = legs.filter { callees.contains($0.key) }
        for identity in missing { looked.sides[identity] = .some(legs[identity]) }
        return looked
    }

    // MARK: The transaction

    struct Outcome {
        var answers: [(address: AnswerAddress, answer: Answer)] = []
    }

    private func transacted(_ batch: CallBatch, _ looked: Looked) async throws(StoreError) -> Outcome {
        var attempt = 1
        while true {
            do throws(StoreError) {
                return try await self.attempt(batch, looked)
            } catch {
                self.book.takeBack()
                guard error == .conflict, attempt < OwnerLimits.attemptsMax else { throw error }
                attempt += 1
            }
        }
    }

    private func attempt(_ batch: CallBatch, _ looked: Looked) async throws(StoreError) -> Outcome {
        let identities = batch.identities
        guard !identities.isEmpty else {
            // Nobody says anything new: nothing needs to be read, and mostly nothing to be written.
            let (outcome, slots) = self.apply(batch, looked, slots: BusySlots(), accounts: [:])
            let writes = self.writes(slots)
            if !writes.pipeline.isEmpty { _ = try await self.store.pipeline(writes.pipeline) }
            return outcome
        }
        let parties = batch.partiesOfNewCalls
        return try await self.store.transaction { transaction throws(StoreError) in
            var reading = Pipeline()
            let accounts = reading.add(AccountViews.accounts(of: identities))
            let locked =
                parties.isEmpty
                ? nil
                : (
                    slots: reading.add(BusySlotTable.lock(parties)),
                    rings: reading.add(BusySlotTable.lockRings(parties))
                )
            let found = try await transaction.pipeline(reading)
            var slots = BusySlots()
            if let locked {
                slots = BusySlots(try found[locked.slots], rings: try found[locked.rings], notedSince: self.notedSince)
            }
            let (outcome, after) = self.apply(batch, looked, slots: slots, accounts: try found[accounts])
            let writes = self.writes(after)
            if !writes.pipeline.isEmpty {
                let written = try await transaction.pipeline(writes.pipeline)
                // Another process has taken a slot or a ring since they were read, so decide again.
                for (taken, count) in writes.taking where try written[taken] < count { throw .conflict }
            }
            return outcome
        }
    }

    private func apply(
        _ batch: CallBatch, _ looked: Looked, slots: BusySlots, accounts: [WhisperID: AccountStatus]
    ) -> (Outcome, BusySlots) {
        var rules = CallRules(
            book: self.book, slots: slots, accounts: accounts, legs: looked.callees,
            ringTime: self.configuration.ringTime, at: self.now)
        // One owner at a time, so that a change copies nothing.
        self.book = CallBook()
        var outcome = Outcome()
        rules.tick()
        for wakeID in self.callsMissingSlot { rules.slotLost(wakeID) }
        for node in looked.silent { rules.unheard(by: node) }
        for (identity, leg) in looked.sides { rules.located(identity, on: leg) }
        for step in batch.steps {
            switch step {
            case .frame(let frame, let address):
                self.silentSince[frame.leg.node] = nil
                if let answer = rules.received(frame, wakeID: .random()) { outcome.answers.append((address, answer)) }
            case .turn(let caller, let address):
                outcome.answers.append((address, rules.judge(caller) ?? self.turnCredentials(for: caller.identity)))
            case .bound(let connection):
                rules.bound(
                    connection.identity, on: CallLeg(node: connection.node, connection: connection.connection))
            case .delivered(let receipt): rules.delivered(receipt)
            case .erased(let identity): rules.erased(identity)
            case .refused(let refusal, let address): outcome.answers.append((address, .refused(refusal)))
            }
        }
        self.book = rules.book
        return (outcome, rules.slots)
    }

    private struct Writes {
        var pipeline = Pipeline()
        /// The statements that take slots and rings, and how many each.
        var taking: [(taken: Pipeline.Ticket<Int>, count: Int)] = []
    }

    private func writes(_ slots: BusySlots) -> Writes {
        let changes = self.book.changes
        var writes = Writes()
        let over = changes.filter { $0.after?.isOver ?? true && $0.before?.isOver == false }.map(\.wakeID)
        if !over.isEmpty { writes.pipeline.add(BusySlotTable.release(over)) }
        let (removed, added) = slots.changes
        if !removed.isEmpty { writes.pipeline.add(BusySlotTable.remove(removed)) }
        if !added.isEmpty { writes.taking.append((writes.pipeline.add(BusySlotTable.add(added)), added.count)) }
        let (silenced, rung) = slots.ringChanges
        if !silenced.isEmpty { writes.pipeline.add(BusySlotTable.removeRings(silenced)) }
        if !rung.isEmpty { writes.taking.append((writes.pipeline.add(BusySlotTable.addRings(rung)), rung.count)) }
        writes.pipeline.add(CallTable.write(changes))
        return writes
    }

    /// Reads the key of the present period's pseudonyms, or makes it. Once in a period.
    private func renewRelayKey() async throws(StoreError) {
        let period = RelayPeriod(at: self.now, life: self.configuration.turn.ttl)
        guard self.relayKey?.period != period else { return }
        // One after the other: who has not made the key sees it only in a later snapshot.
        _ = try await self.store.query(RelayKeyTable.sweep)
        _ = try await self.store.query(RelayKeyTable.make(for: period.startsAt))
        guard let key = try await self.store.query(RelayKeyTable.key(for: period.startsAt)) else { return }
        self.relayKey = (period, key)
    }

    private func turnCredentials(for identity: WhisperID) -> Answer {
        guard let (period, key) = self.relayKey else {
            return .refused(Refusal(.internalError, "no relay can be named now; safe to retry"))
        }
        let turn = self.configuration.turn
        let credentials = TurnCredentials(
            secret: turn.secret, pseudonym: period.pseudonym(of: .identity(identity), key: key),
            expiresAt: period.expiresAt)
        return .reply(credentials.frame(urls: turn.urls, ttl: period.remaining(at: self.now)))
    }

    // MARK: After the commit

    private func tell(_ outcome: inout Outcome, _ changes: [CallBook.Change]) async {
        var notices = NoticeBatch(bus: self.bus) { [weak self] node, error in
            // Bare: it lasts one hop, and happens only when a gateway or the bus has died. Frames that got lost with the bus
            // are sent again when nothing is heard of them.
            Task { await self?.unheard(by: error == nil ? node : nil) }
        }
        for (address, answer) in outcome.answers {
            self.answers.answered(address, answer)
            notices.answer(address, answer)
        }
        for (call, pending, leg) in self.book.dispatch(at: self.now) {
            let delivery = CallDelivery(
                connection: leg.connection, share: call.share, call: call.wakeID, number: pending.number,
                requestID: call.requestID(for: pending, on: leg), type: pending.kind.type, payload: pending.payload)
            notices.add(.call(delivery), for: leg.node)
        }
        notices.send()
        for wake in self.owedWakes { self.send(wake) }
        self.owedWakes = []
        for change in changes { self.tell(change) }
        await self.hideFromRedis(changes)
        if !changes.isEmpty { self.metrics.active.set(self.book.all.count { !$0.isOver }) }
    }

    private func tell(_ change: CallBook.Change) {
        guard let call = change.after else { return }
        let before = change.before
        if !Set(call.missing).isSubset(of: before?.missing ?? []) { self.shouldLocate = true }
        if call.phase != before?.phase { self.showInRedis(call) }
        if call.isRinging, call.isWoken, before?.isWoken != true {
            self.send(Wake(ringing: call, at: self.now))
        } else if let before, before.isWoken, !before.isOver, let wake = Wake(overBecauseOf: call, at: self.now) {
            self.send(wake)
        }
        if let result = call.setupResult, before?.setupResult == nil { self.metrics.setups[result].increment() }
        if call.reachedAt != nil, before?.reachedAt == nil, call.isRinging {
            self.metrics.ringSeconds.record(
                duration: .milliseconds(self.now.milliseconds - call.startedAt.milliseconds))
        }
        self.metrics.candidatesDropped.increment(by: call.candidatesDropped - (before?.candidatesDropped ?? 0))
        if call.phase != before?.phase {
            self.logger.debug(
                "call changed",
                [.callId: "\(call.callID)", .wakeId: "\(call.wakeID)", .reason: "\(call.phaseName)"])
        }
    }

    func send(_ wake: Wake) {
        self.logger.debug("wake queued", [.wakeId: "\(wake.wakeID)"])
        self.bus.append(wake, to: Keyspace.callWakes) { [weak self] _ in
            // Bare: it lasts one hop. The next batch tries again.
            Task { await self?.owe(wake) }
        }
    }

    private func owe(_ wake: Wake) { self.owedWakes.append(wake) }

    // MARK: Redis in front

    /// Writes what others look up: who is waited for, and what rings.
    func showInRedis(_ call: CallMachine) {
        var life = CallLimits.engagedMin
        for side in CallSide.allCases {
            let identity = call.identity(of: side)
            // The callee of a ringing call may have begun another call in the same share.
            var ringing: UUIDText?
            // As long as the longest of the identity's calls in this share.
            for other in self.book.calls(of: identity) where other.share == call.share {
                life = max(life, .milliseconds(other.forgetAt.milliseconds - self.now.milliseconds))
                if other.isRinging, other.callee == identity { ringing = other.callID }
            }
            self.bus.setWithoutWaiting(
                Keyspace.engaged(identity, in: call.share), to: ringing.map { $0.encoded() } ?? [1], for: life)
        }
        guard call.isRinging else { return }
        let ringing = RingingCall(
            callID: call.callID, caller: call.caller, callee: call.callee, isVideo: call.isVideo, wakeID: call.wakeID,
            ringsUntil: call.ringsUntil)
        self.bus.setWithoutWaiting(Keyspace.call(call.callID), to: ringing.encoded(), for: life)
    }

    private func hideFromRedis(_ changes: [CallBook.Change]) async {
        var keys: [KeyName] = []
        for change in changes {
            guard let before = change.before else { continue }
            if before.isRinging, change.after?.isRinging != true { keys.append(Keyspace.call(before.callID)) }
            guard change.after == nil else { continue }
            for identity in [before.caller, before.callee]
            where !self.book.calls(of: identity).contains(where: { $0.share == before.share }) {
                keys.append(Keyspace.engaged(identity, in: before.share))
            }
        }
        guard !keys.isEmpty else { return }
        // Left behind, they cost one look-up and expire by themselves.
        try? await self.bus.delete(keys)
    }
}

extension CallMachine {
    var reachedAt: Timestamp? {
        if case .ringing(let reachedAt) = self.phase { reachedAt } else { nil }
    }

    /// The result of the attempt; nil while it rings.
    var setupResult: CallResult? {
        switch self.phase {
        case .ringing: nil
        case .answered: .answered
        case .ended(_, at: _, by: _, answeredAt: .some): .answered
        case .ended(let reason, at: _, by: _, answeredAt: nil):
            switch reason {
            case .declined: .declined
            case .busy: .busy
            case .timeout: .timeout
            case .failed: .failed
            case .cancelled, .ended: .cancelled
            }
        }
    }

    /// For the log.
    fileprivate var phaseName: String {
        switch self.phase {
        case .ringing(nil): "ringing"
        case .ringing: "reached"
        case .answered: "answered"
        case .ended(let reason, at: _, by: _, answeredAt: _): reason.rawValue
        }
    }
}

extension Wake {
    /// The callee's phone is to ring.
    init(ringing call: CallMachine, at now: Timestamp) {
        self.init(
            recipient: call.callee, reason: .call(isVideo: call.isVideo, until: call.ringsUntil), wakeID: call.wakeID,
            queuedAt: now)
    }

    /// The phone is to ring no longer; nil if it never did, or its owner has decided that.
    init?(overBecauseOf call: CallMachine, at now: Timestamp) {
        guard call.isWoken, case .ended(_, at: _, by: let side, answeredAt: nil) = call.phase, side != .callee else {
            return nil
        }
        self.init(recipient: call.callee, reason: .callOver, wakeID: call.wakeID, queuedAt: now)
    }

    /// The wake-up that push should have received for a call by now.
    init?(owedBecauseOf call: CallMachine, at now: Timestamp) {
        if call.isRinging, call.isWoken {
            self.init(ringing: call, at: now)
        } else {
            self.init(overBecauseOf: call, at: now)
        }
    }
}
