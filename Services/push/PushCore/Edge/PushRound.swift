import ClusterContract
import Contract
import Logging
import Store
import Synchronization
import Telemetry

/// Pushes mail's wake-ups of many recipients side by side: one question to the database before, one statement after. Pushes that
/// take long do not hold up the round: they end beside the next ones, and are written down when they do.
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

    let sender: PushSender
    let table: RecipientTable
    let watcher: Watcher
    let schedule: PushSchedule
    let logger: Logger
    /// Shared by all who have this round.
    let underWay = PushesUnderWay()

    private typealias Ready = (item: Item, recipient: RecipientTable.Recipient)
    private typealias Outcome = (item: Item, record: RecipientTable.Record, dead: RecipientTable.DeadLetter?)

    /// Returns when all but slow pushes have ended, or after `PushLimits.roundTimeout`.
    /// - Parameters:
    ///   - group: runs the pushes.
    ///   - remembered: called, more than once, with items whose results are in the database. An item that is never
    ///     reported was not pushed, because another push to its recipient is under way, or was pushed and not recorded.
    ///     Push it again: a push replaces its predecessor.
    /// - Throws: nothing was pushed.
    func push(
        _ items: [Item], in group: inout DiscardingTaskGroup,
        remembered: @escaping @Sendable ([Item]) -> Void = { _ in }
    ) async throws(StoreError) {
        let begun = self.underWay.begin(items)
        guard !begun.isEmpty else { return }
        let ready: [Ready]
        do throws(StoreError) {
            ready = try await self.ready(begun)
        } catch {
            self.underWay.end(begun)
            throw error
        }
        let pushed = Set(ready.map { $0.item.recipient })
        let settled = begun.filter { !pushed.contains($0.recipient) }
        self.underWay.end(settled)
        remembered(settled)
        guard !ready.isEmpty else { return }
        let (untilTimeout, over) = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingOldest(1))
        group.addTask { await self.send(ready, over, remembered) }
        for await _ in untilTimeout {}
    }

    /// The items to push now; the results of all others are in the database.
    private func ready(_ items: [Item]) async throws(StoreError) -> [Ready] {
        let known = try await self.table.read(items.map(\.recipient))
        var answered: [WhisperID] = []
        var held: [(id: WhisperID, until: Timestamp)] = []
        var ready: [Ready] = []
        for item in items {
            guard var recipient = known[item.recipient] else { continue }
            let now = recipient.time.now
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
        self.sender.metrics.woke.increment(by: answered.count)
        if !held.isEmpty { try await self.table.hold(held) }
        return ready
    }

    /// Pushes side by side. Results are written together; results of slow pushes together with others that end soon
    /// after.
    /// - Parameter over: finished after the first time.
    private func send(
        _ ready: [Ready], _ over: AsyncStream<Never>.Continuation, _ remembered: @escaping @Sendable ([Item]) -> Void
    ) async {
        await withTaskGroup(of: Outcome?.self) { group in
            for (item, recipient) in ready {
                group.addTask { await self.send(item, to: recipient) }
            }
            var left = ready.count
            while left > 0 {
                // A cancelled sleep ends at once. Then there is no timeout, and the round waits for all pushes.
                if !Task.isCancelled {
                    group.addTask {
                        try? await Task.sleep(for: PushLimits.roundTimeout)
                        return nil
                    }
                }
                var outcomes: [Outcome] = []
                while outcomes.count < left, let next = await group.next(), let outcome = next {
                    outcomes.append(outcome)
                }
                left -= outcomes.count
                await self.remember(outcomes, remembered)
                over.finish()
            }
            group.cancelAll()
        }
    }

    private func remember(_ outcomes: [Outcome], _ remembered: @Sendable ([Item]) -> Void) async {
        guard !outcomes.isEmpty else { return }
        let items = outcomes.map(\.item)
        let (records, dead) = (outcomes.map(\.record), outcomes.compactMap(\.dead))
        // Only now may they be pushed again: the next one has to know what came of this one.
        defer { self.underWay.end(items) }
        do throws(StoreError) {
            try await self.table.write(records, dead)
        } catch {
            return self.logger.warning("pushes not remembered", [.error: "\(error)", .count: .number(items.count)])
        }
        self.sender.metrics.deadLetters.increment(by: dead.count)
        let sentAt = ContinuousClock.now
        self.watcher.watch.withLock { watch in
            for record in records where record.result == .sent { watch.sent(to: record.recipient, at: sentAt) }
        }
        remembered(items)
    }

    private func send(_ item: Item, to recipient: RecipientTable.Recipient) async -> Outcome {
        let push = Push(
            kind: .mail(isReminder: item.isReminder), wakeID: item.wakeID, expires: .now + Limits.pendingTTL)
        if recipient.history.failures > 0 { self.sender.metrics.retries.increment() }
        if item.isReminder { self.sender.metrics.reminders.increment() }
        let attempt = await self.sender.attempt(
            push, for: item.recipient, on: recipient.device, queuedAt: item.queuedAt)
        let now = recipient.time.now
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
        guard step.isDead else { return (item, record, nil) }
        self.logger.warning("wake given up", [.wakeId: "\(item.wakeID)", .reason: "\(attempt.result.rawValue)"])
        return (
            item, record,
            RecipientTable.DeadLetter(
                recipient: item.recipient, wakeID: item.wakeID, kind: push.kind.name, provider: attempt.provider,
                reason: attempt.result, tries: recipient.history.failures + 1)
        )
    }

    // The plan counts in its own time; operators may stretch it.

    private func scaled(_ time: Timestamp, at now: Timestamp) -> Timestamp {
        Timestamp(
            milliseconds: now.milliseconds + Int64(Double(time.milliseconds - now.milliseconds) * self.schedule.scale))
    }

    private func unscaled(_ history: WakePlan.History, at now: Timestamp) -> WakePlan.History {
        func stretch(_ time: Timestamp) -> Timestamp {
            Timestamp(
                milliseconds: now.milliseconds
                    + Int64(Double(time.milliseconds - now.milliseconds) / self.schedule.scale))
        }
        var history = history
        history.sentAt = history.sentAt.map(stretch)
        history.dueAt = history.dueAt.map(stretch)
        return history
    }
}

/// Recipients pushed lately, shared by the pushing tasks and the one that checks presence.
final class Watcher: Sendable {
    let watch = Mutex(WakeWatch())
}
