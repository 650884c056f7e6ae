import DequeModule

/// Decides when receipts go: never more in a minute than the server takes of one identity, and never so many at once that
/// other frames of the connection are refused (contract §11, §13). Outlives connections, as the server's count does.
///
/// Receipts of delivery wait here and nowhere else. A lost one heals: the server sends the message again. Read marks
/// wait in the store; here they only get their turn.
package struct ReceiptPacer {
    package typealias Instant = ContinuousClock.Instant

    /// Oldest first. Receipts that are not in `owed` any more are skipped.
    private var waiting: Deque<OwedReceipt> = []
    private var owed: Set<OwedReceipt> = []
    /// Read marks wait for their turn.
    private var doReadMarksWait = false
    /// All that went is worked off at this time, at the rate that may go on for ever.
    private var workedOffAt: Instant?
    /// The server asked for silence until then.
    private var quietUntil: Instant?

    private static let step = Duration.seconds(1) / ClientLimits.receiptsPerSecond

    package init() {}

    /// A message is safe here, and its sender is to be told. Beyond the bound nothing is taken.
    package mutating func delivered(_ receipt: OwedReceipt) {
        guard self.owed.count < ClientLimits.receiptsWaitingMax, self.owed.insert(receipt).inserted else { return }
        self.waiting.append(receipt)
    }

    /// Takes the receipts of delivery that go now.
    package mutating func due(at now: Instant) -> [OwedReceipt] {
        var due: [OwedReceipt] = []
        var room = self.room(at: now)
        while room > 0, let receipt = self.waiting.popFirst() {
            guard self.owed.remove(receipt) != nil else { continue }
            due.append(receipt)
            room -= 1
        }
        self.spend(due.count, at: now)
        return due
    }

    /// Takes the read marks that go now: the first of those that are owed. A read mark says that a message was delivered,
    /// too. Called after `due`.
    package mutating func readMarks(of receipts: [OwedReceipt], at now: Instant) -> [OwedReceipt] {
        let due = Array(receipts.prefix(self.room(at: now)))
        for receipt in due { self.owed.remove(receipt) }
        self.spend(due.count, at: now)
        self.doReadMarksWait = due.isEmpty && !receipts.isEmpty
        return due
    }

    /// The server wants no receipts for a while.
    package mutating func refused(retryAfter: Duration?, at now: Instant) {
        self.quietUntil = max(self.quietUntil ?? now, now + max(retryAfter ?? .zero, .seconds(1)))
    }

    /// Drops the waiting receipts: the server sends their messages again on the next connection.
    package mutating func disconnected() {
        self.waiting = []
        self.owed = []
        self.doReadMarksWait = false
        self.quietUntil = nil
    }

    /// When `due` or `readMarks` has something to take next, as far as it is late: a second's worth at a time.
    package var nextWake: Instant? {
        let room = self.workedOffAt.map {
            $0 - Self.step * (ClientLimits.receiptsBurst - ClientLimits.receiptsPerSecond)
        }
        let isWaiting = !self.owed.isEmpty || self.doReadMarksWait
        return [isWaiting ? room : nil, self.quietUntil].compactMap { $0 }.max()
    }

    private mutating func room(at now: Instant) -> Int {
        if let quietUntil, quietUntil > now { return 0 }
        self.quietUntil = nil
        let backlog = max((self.workedOffAt ?? now) - now, .zero)
        return max(Int((Self.step * ClientLimits.receiptsBurst - backlog) / Self.step), 0)
    }

    private mutating func spend(_ count: Int, at now: Instant) {
        guard count > 0 else { return }
        self.workedOffAt = max(self.workedOffAt ?? now, now) + Self.step * count
    }
}
