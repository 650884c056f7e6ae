import Bus
import Contract
package import Store
import Telemetry

/// What time does to stored mail. Runs beside the batches, on a database connection of its own; doing it twice, or two
/// routers doing it at once, does no harm.
extension Router {
    /// Sweeps until cancelled.
    package func sweep(_ pool: PostgresPool) async throws {
        var sweptAt = ContinuousClock.now
        while true {
            try await Task.sleep(for: min(RouterLimits.lingeringInterval, self.sweepPause))
            await self.measureStreams()
            do throws(StoreError) {
                try await self.tellLingering(pool)
                try await self.learnMailboxes(pool)
                if ContinuousClock.now - sweptAt >= self.sweepPause {
                    sweptAt = .now
                    try await self.sweepOnce(pool)
                }
            } catch {
                self.logger.warning("sweep interrupted", [.error: "\(error)"])
            }
        }
    }

    /// What stands in a stream is exactly what is not known to be committed. All streams, because while the database is away
    /// they have no owner, and most to tell.
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
        guard !self.sessions.isEmpty else { return }
        let now = Timestamp.now
        // Numbers grow with time. What was drawn since the last look may be on its way.
        let last = try SegmentsTable.turns(try await pool.query(SegmentsTable.turns)).first { $0.parent == .outcomes }?.last ?? 0
        // The first look goes back a little: another router may have died before this one came to look.
        if self.outcomeMarks.isEmpty { self.outcomeMarks = [last - RouterLimits.lingeringLookBack] }
        self.outcomeMarks = (self.outcomeMarks + [last]).suffix(RouterLimits.lingeringTurns + 1)
        let news = try GroupNewsTable.news(
            try await pool.query(
                GroupNewsTable.created(
                    after: now - RouterLimits.lingeringInterval * RouterLimits.lingeringTurns, before: now - RouterLimits.lingeringInterval)))
        var outbox = self.makeOutbox()
        try await self.tell(news, &outbox) { sql throws(StoreError) in try await pool.query(sql) }
        let end = self.outcomeMarks.dropLast().last ?? 0
        var next = self.outcomeMarks[0]
        for _ in 0..<RouterLimits.lingeringPagesMax where next < end {
            let lingering = try OutcomesTable.outcomes(try await pool.query(OutcomesTable.numbered(after: next, through: end)))
            for (sender, outcome) in lingering {
                guard let session = self.sessions[sender] else { continue }
                outbox.add(.outcomes(session.connection, [outcome]), for: session.node)
            }
            // Most may be of senders who are away.
            next = Int64(lingering.count) == RouterLimits.sweepRowsMax ? lingering.last?.outcome.number ?? end : end
        }
        outbox.send()
    }

    /// Who has mail in the partitions taken lately: nobody else's mailbox has to be looked into.
    private func learnMailboxes(_ pool: PostgresPool) async throws(StoreError) {
        for partition in self.owned.keys {
            guard let term = self.mailboxes.term(of: partition) else { continue }
            let range = partition.identities
            var waiting: [WhisperID] = []
            for var row in try await pool.query(
                // One more than can be remembered is as good as all.
                MailboxTable.recipients(
                    from: range.lowerBound, through: range.upperBound, limit: Int64(RouterLimits.recipientsRememberedMax) + 1))
            {
                waiting.append(try row.next())
            }
            self.mailboxes.learned(waiting, in: term)
        }
    }

    private func sweepOnce(_ pool: PostgresPool) async throws(StoreError) {
        // First: nothing that fails below may keep somebody asleep.
        try await self.wakeWaiting(pool)
        let now = Timestamp.now
        let deadline = now - self.configuration.pendingTTL
        var pending: Int64 = 0
        var oldest: Timestamp?
        for partition in self.owned.keys.sorted() {
            let range = partition.identities
            var (count, first) = try await self.statistics(of: range, pool)
            if let accepted = first, accepted < deadline {
                try await self.expire(range, acceptedBefore: deadline, at: now, pool)
                (count, first) = try await self.statistics(of: range, pool)
            }
            pending += count
            if let first { oldest = min(oldest ?? first, first) }
        }
        self.metrics.pendingMessages.set(pending)
        self.metrics.pendingOldestSeconds.set(oldest.map { Double(now.milliseconds - $0.milliseconds) / 1_000 } ?? 0)
        for removal in [
            OutcomesTable.expire(createdBefore: deadline), GroupNewsTable.forget(createdBefore: now - RouterLimits.groupEventTTL),
            OutcomesTable.forgetLedger(acceptedBefore: now - RouterLimits.ledgerTTL),
            PeersTable.forget(sentBefore: now - PresenceLimits.trafficTTL),
        ] {
            // More may come in than one statement removes. A router whose rows another has just removed leaves the rest to it.
            for _ in 0..<RouterLimits.sweepStatementsMax {
                guard try await pool.execute(removal) == Int(RouterLimits.sweepRowsMax) else { break }
            }
        }
    }

    private func statistics(
        of range: ClosedRange<Int64>, _ pool: PostgresPool
    ) async throws(StoreError) -> (count: Int64, oldest: Timestamp?) {
        var row = try await pool.query(MailboxTable.statistics(from: range.lowerBound, through: range.upperBound))[0]
        return (try row.next(), try row.next())
    }

    private func expire(
        _ range: ClosedRange<Int64>, acceptedBefore deadline: Timestamp, at now: Timestamp, _ pool: PostgresPool
    ) async throws(StoreError) {
        let expired = try OutcomesTable.outcomes(
            try await pool.query(
                MailboxTable.expire(from: range.lowerBound, through: range.upperBound, acceptedBefore: deadline, at: now)))
        guard !expired.isEmpty else { return }
        self.metrics.expired.increment(by: expired.count)
        for (_, outcome) in expired {
            self.logger.debug("message expired", [.messageId: "\(outcome.messageID)", .whisperId: "\(outcome.peer)"])
        }
        var outbox = self.makeOutbox()
        await self.tell(expired, &outbox)
        outbox.send()
    }

    /// After a router or Redis died, wake-ups may have been lost with it: everybody who is away and has mail is woken.
    private func wakeWaiting(_ pool: PostgresPool) async throws(StoreError) {
        var left = self.toWake
        self.toWake = []
        // What could not be looked through is looked through the next time.
        defer { self.toWake.formUnion(left) }
        for partition in left where self.wakesWaiting < self.configuration.wakesWaitingMax {
            var next = partition.identities.lowerBound
            while self.owned[partition] != nil {
                let rows = try await pool.query(
                    MailboxTable.recipients(
                        from: next, through: partition.identities.upperBound, limit: RouterLimits.sweepRowsMax))
                var last: WhisperID?
                for var row in rows {
                    let identity: WhisperID = try row.next()
                    last = identity
                    self.wakeAnew(identity)
                }
                guard Int64(rows.count) == RouterLimits.sweepRowsMax, let last else { break }
                next = Int64(last.bits) + 1
            }
            left.remove(partition)
        }
    }

    /// Mail waits for which perhaps nobody was woken.
    private func wakeAnew(_ identity: WhisperID) {
        guard self.sessions[identity] == nil else {
            self.sessions[identity]!.mayHaveBeenMissed()
            return
        }
        self.wake(identity)
    }
}
