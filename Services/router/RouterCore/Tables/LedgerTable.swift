import ClusterContract
import Contract
import Store

/// `router.ledger`: one table for each day of signed times, and `ledger_kept` for rows of no day. `AcceptStatement` adds to it.
enum LedgerTable {
    private static let dayMilliseconds: Int64 = 86_400_000
    /// The day of rows that no day's table takes.
    private static let noDay: Int32 = -1

    /// Days since 1970, in UTC. A time that no calendar here knows is of no day.
    static func day(of time: Timestamp) -> Int32 {
        // The day after must be a number, too.
        guard time.milliseconds >= 0, time.milliseconds / Self.dayMilliseconds < Int32.max else { return Self.noDay }
        return Int32(time.milliseconds / Self.dayMilliseconds)
    }

    /// Where a batch looks for what was accepted before: on the day of the signed time, on the day before and the day after, because a
    /// client may have signed the same message anew, and among rows of no day.
    struct LookUp {
        let days: [Int32]
        /// The day of all messages, or 0: then each row adds its own.
        let base: Int32
        /// The day before and the last one, from `base`.
        let (first, last): (Int32, Int32)
        private let isOneDay: Bool

        init(_ envelopes: [AcceptEnvelope]) {
            self.days = envelopes.map { LedgerTable.day(of: $0.timestamp) }
            self.isOneDay = Set(self.days).count == 1
            self.base = self.isOneDay ? self.days[0] : 0
            self.first = self.base - 1
            // The day after costs a look of its own, which most batches need not pay.
            let mayBeOfTheDayAfter = envelopes.contains {
                !$0.isTimely || LedgerTable.isAtTheEndOfItsDay($0.timestamp)
            }
            self.last = self.base + (mayBeOfTheDayAfter ? 1 : 0)
        }

        /// One day is known before the statement runs, so Postgres leaves all other tables out at once. For several it chooses
        /// for each row, which costs as much as another look-up.
        var rowDay: StaticString { self.isOneDay ? "" : "g.day + " }
    }

    /// Whether a message of the day after may have been taken before this one, both of them in time: clocks of clients are ahead or
    /// behind by no more than `Limits.timestampSkewMilliseconds`, at either time.
    private static func isAtTheEndOfItsDay(_ time: Timestamp) -> Bool {
        time.milliseconds % Self.dayMilliseconds >= Self.dayMilliseconds - 2 * Limits.timestampSkewMilliseconds
    }

    /// Makes the tables of today and of so many days after.
    /// - Returns: how many days after today have one.
    static func addDays(ahead: Int32) -> Statement<Int32> {
        Statement(value: "SELECT router.add_ledger_days(now(), \(ahead))")
    }

    /// Drops the oldest day if it is over for longer than the ledger remembers.
    /// - Returns: whether it was.
    static func dropDay(olderThan age: Duration) -> Statement<Bool> {
        Statement(value: "SELECT router.drop_ledger_day(now(), \(Int32(age.milliseconds / Self.dayMilliseconds)))")
    }

    /// Rows of no day go by their age. Rows that a receipt has just locked are left to the next sweep.
    static func forgetKept(olderThan age: Duration) -> SQL {
        """
        DELETE FROM router.ledger_kept l USING (
            SELECT message_id, sender, recipient FROM router.ledger_kept
            WHERE accepted_at < now() - \(age.milliseconds) * interval '1 millisecond' LIMIT \(RouterLimits.sweepRowsMax)
            FOR UPDATE SKIP LOCKED) old
        WHERE l.message_id = old.message_id AND l.sender = old.sender AND l.recipient = old.recipient
        """
    }
}

extension AcceptEnvelope {
    /// Whether a message of this time is taken, unless it is known (contract §3.8).
    var isTimely: Bool { self.timestamp.isWithinSkew(of: self.receivedAt) }
}
