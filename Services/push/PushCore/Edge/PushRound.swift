import Contract
import Logging
import Store
import Synchronization
import Telemetry

/// Pushes mail's wake-ups of many recipients side by side: one question to the database before, one statement after.
struct PushRound: Sendable {
    struct Item: Sendable {
        var recipient: WhisperID
        var wakeID: UUIDText
        /// Nil: nobody waits for it, it is a reminder or a retry.
        var queuedAt: Timestamp?
        var isReminder = false
        /// It was looked whether it may be pushed: its time has come.
        var isDue = false
    }

    let desk: PushDesk
    let table: RecipientTable
    let watcher: Watcher
    let schedule: PushSchedule
    let logger: Logger

    /// - Returns: when everything that has to be remembered is in the database.
    /// - Throws: nothing may have been pushed, or pushed and not remembered. Do it again: a push replaces its predecessor.
    func push(_ items: [Item]) async throws(StoreError) {
        guard !items.isEmpty else { return }
        let known = try await self.table.read(items.map(\.recipient))
        var answered: [WhisperID] = []
        var held: [(id: WhisperID, until: Timestamp)] = []
        var ready: [(item: Item, recipient: RecipientTable.Recipient)] = []
        let now = Timestamp.now
        for item in items {
            guard var recipient = known[item.recipient] else { continue }
            guard item.isDue || recipient.hasMail else {
                // Everything has been read since: a phone must not light up for nothing.
                self.logger.debug("wake not needed", [.wakeId: "\(item.wakeID)"])
                continue
            }
            if recipient.hasAnswered {
                answered.append(item.recipient)
                recipient.history.unanswered = 0
            }
            switch item.isDue ? .push : WakePlan.decide(self.unscaled(recipient.history, at: now), at: now) {
            case .push: ready.append((item, recipient))
            case .hold(let until): held.append((item.recipient, self.scaled(until, at: now)))
            }
        }
        self.desk.metrics.woke.increment(by: answered.count)
        if !held.isEmpty { try await self.table.hold(held) }
        let (records, dead) = await self.send(ready)
        try await self.table.write(records, dead)
        self.desk.metrics.deadLetters.increment(by: dead.count)
        let sentAt = ContinuousClock.now
        self.watcher.watch.withLock { watch in
            for record in records where record.result == .sent { watch.sent(to: record.recipient, at: sentAt) }
        }
    }

    private typealias Outcome = (record: RecipientTable.Record, dead: RecipientTable.DeadLetter?)

    private func send(
        _ ready: [(item: Item, recipient: RecipientTable.Recipient)]
    ) async -> ([RecipientTable.Record], [RecipientTable.DeadLetter]) {
        await withTaskGroup(of: Outcome.self) { group in
            var outcomes: [Outcome] = []
            for (index, (item, recipient)) in ready.enumerated() {
                if index >= PushLimits.sendsInFlightMax, let done = await group.next() { outcomes.append(done) }
                group.addTask { await self.send(item, to: recipient) }
            }
            for await outcome in group { outcomes.append(outcome) }
            return (outcomes.map(\.record), outcomes.compactMap(\.dead))
        }
    }

    private func send(_ item: Item, to recipient: RecipientTable.Recipient) async -> Outcome {
        let push = Push(
            kind: .mail(isReminder: item.isReminder), wakeID: item.wakeID, expires: .now + Limits.pendingTTL)
        if recipient.history.failures > 0 { self.desk.metrics.retries.increment() }
        if item.isReminder { self.desk.metrics.reminders.increment() }
        let attempt = await self.desk.attempt(push, for: item.recipient, on: recipient.device, queuedAt: item.queuedAt)
        let now = Timestamp.now
        var step = WakePlan.Step(history: recipient.history)
        if let answer = attempt.answer {
            step = WakePlan.after(answer, recipient.history, at: now, chance: .random(in: 0..<1))
            step.history.dueAt = step.history.dueAt.map { self.scaled($0, at: now) }
        } else {
            step.history.dueAt = nil
        }
        let record = RecipientTable.Record(
            recipient: item.recipient, wakeID: item.wakeID, provider: attempt.provider, result: attempt.result,
            history: step.history, triedAt: now)
        guard step.isDead else { return (record, nil) }
        self.logger.warning("wake given up", [.wakeId: "\(item.wakeID)", .reason: "\(attempt.result.rawValue)"])
        return (
            record,
            RecipientTable.DeadLetter(
                recipient: item.recipient, wakeID: item.wakeID, kind: push.kind.name, provider: attempt.provider,
                reason: attempt.result, tries: recipient.history.failures + 1, at: now)
        )
    }

    // The plan counts in its own time; operators may stretch it.

    private func scaled(_ time: Timestamp, at now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds + Int64(Double(time.milliseconds - now.milliseconds) * self.schedule.scale))
    }

    private func unscaled(_ history: WakePlan.History, at now: Timestamp) -> WakePlan.History {
        func stretch(_ time: Timestamp) -> Timestamp {
            Timestamp(
                milliseconds: now.milliseconds + Int64(Double(time.milliseconds - now.milliseconds) / self.schedule.scale))
        }
        var history = history
        history.sentAt = history.sentAt.map(stretch)
        history.dueAt = history.dueAt.map(stretch)
        return history
    }
}

/// Who was pushed lately, shared by those who push and the one who looks.
final class Watcher: Sendable {
    let watch = Mutex(WakeWatch())
}
