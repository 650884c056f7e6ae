import Bus
import ClusterContract
package import Contract
package import Store
import Telemetry

/// Periodic work on stored mail. Runs beside the batches, on a database connection of its own. Doing it twice, or in
/// two routers at once, does no harm.
extension Router {
    /// Sweeps until cancelled.
    package func sweep(_ pool: PostgresPool) async throws {
        var sweptAt = ContinuousClock.now
        var isBehind = false
        while true {
            if !isBehind { try await self.bus.pause(for: min(RouterLimits.lingeringInterval, self.sweepPause)) }
            try Task.checkCancellation()
            await self.measureStreams()
            self.measureLoads()
            await self.attempt("counting mail of strangers") { () async throws(StoreError) in
                self.strangerMail = try await .measured(of: self.configuration.strangersStoreBytesMax, on: pool)
                self.strangerMail.show(in: self.metrics.strangers)
            }
            await self.attempt("telling") { () async throws(StoreError) in try await self.tellLingering(pool) }
            await self.attempt("learning") { () async throws(StoreError) in try await self.learnMailboxes(pool) }
            guard isBehind || ContinuousClock.now - sweptAt >= self.sweepPause else { continue }
            sweptAt = .now
            isBehind = await self.sweepOnce(pool)
        }
    }

    /// Runs `work` and logs its failure, which does not stop the other tasks.
    private func attempt(_ what: StaticString, _ work: () async throws(StoreError) -> Void) async {
        do throws(StoreError) {
            try await work()
        } catch {
            self.logger.warning("sweep interrupted", [.part: "\(what)", .error: "\(error)"])
        }
    }

    /// A stream holds the Jobs that are not known to be committed. All streams are measured, because without the
    /// database they have no owner and are the longest.
    private func measureStreams() async {
        let streams = Partition.all.map { Keyspace.mailbox($0).name } + [Keyspace.groups.name]
        if let wakes = try? await self.bus.depth(of: [Keyspace.wakes.name]).first { self.wakesWaiting = wakes }
        // Without the bus nobody knows; the gauges keep what was last seen.
        guard let depths = try? await self.bus.depth(of: streams), depths.count == streams.count else { return }
        for (partition, depth) in zip(self.metrics.partitions, depths) { partition.depth.set(depth) }
        self.metrics.busDepth.set(depths.dropLast().reduce(0, +))
        self.metrics.groupQuestionsWaiting.set(depths[Partition.count])
    }

    /// As often as the time to live asks for, if that is short.
    private nonisolated var sweepPause: Duration { min(RouterLimits.sweepInterval, self.configuration.pendingTTL / 4) }

    /// Outcomes and group events that should have reached somebody connected by now: whoever stored them died before saying so. Only recent
    /// ones are looked at; what is older was told when its sender was last connected, or waits until it is.
    private func tellLingering(_ pool: PostgresPool) async throws(StoreError) {
        guard !self.memory.sessions.isEmpty else { return }
        // Numbers grow with time. Outcomes since the last check may still be on their way.
        let last = try await pool.query(SegmentsTable.turns).first { $0.parent == .outcomes }?.last ?? 0
        // The first look goes back a little: another router may have died before this one came to look.
        if self.outcomeMarks.isEmpty { self.outcomeMarks = [last - RouterLimits.lingeringLookBack] }
        self.outcomeMarks = (self.outcomeMarks + [last]).suffix(RouterLimits.lingeringTurns + 1)
        let news = try await pool.query(
            GroupNewsTable.waiting(
                longerThan: RouterLimits.lingeringInterval,
                butNotLongerThan: RouterLimits.lingeringInterval * RouterLimits.lingeringTurns))
        var notices = self.makeNoticeBatch()
        try await self.tell(news, &notices) { statement throws(StoreError) in try await pool.query(statement) }
        let end = self.outcomeMarks.dropLast().last ?? 0
        var next = self.outcomeMarks[0]
        for _ in 0..<RouterLimits.lingeringPagesMax where next < end {
            let lingering = try await pool.query(OutcomesTable.numbered(after: next, through: end))
            for item in lingering {
                guard let session = self.memory.sessions[item.sender] else { continue }
                notices.add(.outcomes(session.connection, [item.outcome]), for: session.node)
            }
            // Most may be of senders who are away.
            next = Int64(lingering.count) == RouterLimits.sweepRowsMax ? lingering.last?.outcome.number ?? end : end
        }
        notices.send()
    }

    /// Learns which recipients have mail in the partitions taken lately: no other mailbox there has to be read.
    private func learnMailboxes(_ pool: PostgresPool) async throws(StoreError) {
        for partition in self.owned.keys {
            guard let term = self.memory.mailboxes.term(of: partition) else { continue }
            let range = partition.identities
            let waiting = try await pool.query(
                // One more than can be remembered is as good as all.
                MailboxTable.recipients(
                    from: range.lowerBound, through: range.upperBound,
                    limit: Int64(RouterLimits.recipientsRememberedMax) + 1))
            self.memory.mailboxes.learned(waiting, in: term)
        }
    }

    /// - Returns: whether more mail is due than one sweep removes.
    private func sweepOnce(_ pool: PostgresPool) async -> Bool {
        // First: nothing that fails below may keep somebody asleep.
        await self.attempt("waking") { () async throws(StoreError) in try await self.wakeWaiting(pool) }
        let isBehind = await self.expireMail(pool)
        await self.measureMail(pool)
        await self.attempt("noting full mailboxes") { () async throws(StoreError) in
            try await self.noteFullMailboxes(pool)
        }
        await self.attempt("turning the ledger") { () async throws(StoreError) in try await self.turnLedger(pool) }
        for removal in [
            OutcomesTable.expire(olderThan: self.configuration.pendingTTL),
            GroupNewsTable.expire(olderThan: self.configuration.groups.eventTTL),
            GroupNewsTable.forget(olderThan: RouterLimits.groupEventTTL),
            LedgerTable.forgetKept(olderThan: RouterLimits.ledgerTTL), PeersTable.forget(),
            FullMailboxesTable.forget(),
        ] {
            await self.attempt("forgetting") { () async throws(StoreError) in
                // More may come in than one statement removes. A router whose rows another has just removed leaves the rest to it.
                for _ in 0..<RouterLimits.sweepStatementsMax {
                    guard try await pool.execute(removal) == Int(RouterLimits.sweepRowsMax) else { break }
                }
            }
        }
        return isBehind
    }

    /// The ledger gets tables for the days to come, and loses those of days that are over for long enough.
    private func turnLedger(_ pool: PostgresPool) async throws(StoreError) {
        do throws(StoreError) {
            let ahead = try await pool.query(LedgerTable.addDays(ahead: RouterLimits.ledgerDaysAhead))
            self.metrics.ledgerDaysAhead.set(Int(ahead))
            for _ in 0..<RouterLimits.ledgerDaysDroppedMax {
                guard try await pool.query(LedgerTable.dropDay(olderThan: RouterLimits.ledgerTTL)) else { break }
            }
        } catch {
            self.metrics.ledgerDaysAhead.set(0)
            throw error
        }
    }

    /// Removes what is due of all partitions, one statement of each run after the other, until nothing is. A run with which
    /// something is wrong is left to the next sweep.
    /// - Returns: whether more is due.
    func expireMail(_ pool: PostgresPool) async -> Bool {
        var left = PartitionRun.runs(of: self.owned.keys)
        for _ in 0..<RouterLimits.expiryRoundsMax where !left.isEmpty {
            var next: [PartitionRun] = []
            for run in left where run.isWithin({ self.owned[$0] != nil }) {
                await self.attempt("expiry") { () async throws(StoreError) in
                    if try await self.expire(in: run, pool) { next.append(run) }
                }
            }
            left = next
        }
        return !left.isEmpty
    }

    /// - Returns: whether anything was due.
    private func expire(in run: PartitionRun, _ pool: PostgresPool) async throws(StoreError) -> Bool {
        let expired = try await pool.query(MailboxTable.expire(in: run, olderThan: self.configuration.pendingTTL))
        guard !expired.isEmpty else { return false }
        self.metrics.expired.increment(by: expired.count)
        for item in expired {
            self.logger.debug(
                "message expired",
                [.messageId: "\(item.outcome.messageID)", .whisperId: "\(item.outcome.peer)"])
        }
        var notices = self.makeNoticeBatch()
        self.tell(expired, &notices)
        notices.send()
        return true
    }

    /// Removes a portion of the mail to an erased identity, if its mailbox is ours. Its senders are told that it has expired.
    package func expireMail(to erased: WhisperID, _ pool: PostgresPool) async throws(StoreError) {
        guard self.owned[Partition(of: erased)] != nil else { return }
        let expired = try await pool.query(MailboxTable.expire(of: erased))
        self.memory.loads.forget(erased)
        self.metrics.expired.increment(by: expired.count)
        var notices = self.makeNoticeBatch()
        self.tell(expired, &notices)
        notices.send()
    }

    private func measureMail(_ pool: PostgresPool) async {
        var found: [MailboxTable.Statistics] = []
        for run in PartitionRun.runs(of: self.owned.keys) {
            await self.attempt("measuring") { () async throws(StoreError) in
                found.append(try await pool.query(MailboxTable.statistics(of: run)))
            }
        }
        self.metrics.pendingMessages.set(pendingMessages(found))
        self.metrics.pendingOldestSeconds.set(found.compactMap(\.oldestSeconds).max() ?? 0)
    }

    /// After a router or Redis died, wake-ups may have been lost with it: everybody who is away and has mail is woken.
    private func wakeWaiting(_ pool: PostgresPool) async throws(StoreError) {
        var left = self.toWake
        self.toWake = []
        // Partitions that could not be searched are searched the next time.
        defer { self.toWake.formUnion(left) }
        for partition in left where self.wakesWaiting < self.configuration.wakesWaitingMax {
            var next = partition.identities.lowerBound
            while self.owned[partition] != nil {
                let waiting = try await pool.query(
                    MailboxTable.recipients(
                        from: next, through: partition.identities.upperBound, limit: RouterLimits.sweepRowsMax))
                for identity in waiting { self.wakeIfAway(identity) }
                guard Int64(waiting.count) == RouterLimits.sweepRowsMax, let last = waiting.last else { break }
                next = Int64(last.bits) + 1
            }
            left.remove(partition)
        }
    }

    /// Mail waits for which perhaps nobody was woken.
    private func wakeIfAway(_ identity: WhisperID) {
        guard self.memory.sessions[identity] == nil else {
            self.memory.sessions[identity]!.mayHaveBeenMissed()
            return
        }
        self.wake(identity)
    }
}

/// Messages waiting in a router's partitions: counted, unless they are too many. Otherwise at least the partitions'
/// share of Postgres' estimate for all.
func pendingMessages(_ found: [MailboxTable.Statistics]) -> Int64 {
    let counted = found.reduce(0) { $0 + $1.counted }
    guard found.contains(where: { $0.counted > RouterLimits.pendingCountedMax }) else { return counted }
    let partitions = found.reduce(0) { $0 + $1.partitions }
    return max(counted, (found.map(\.estimated).max() ?? 0) / Int64(Partition.count) * Int64(partitions))
}
