import Synchronization
import TestKit

/// What a test saw of every message, from all clients, in one order. In the end it says what the cluster did wrong.
///
/// One moment is a number: events of different clients have an order, because they are all in this process.
final class Ledger: Sendable {
    /// Where a message was seen.
    enum Way: Equatable {
        case live
        /// In a page; the moment at which it was asked for.
        case page(askedAt: Int)
    }

    private struct Arrival {
        var moment: Int
        var time: ContinuousClock.Instant
        var way: Way
    }

    private struct Record {
        var sender: String
        var recipient: String
        var sentAt: [Int] = []
        /// The first attempt's; nil when there was another.
        var onlyConnection: Int?
        var acceptedAt: Int?
        var arrivals: [Arrival] = []
        /// When its sender first heard of its delivery.
        var told: (moment: Int, time: ContinuousClock.Instant)?
    }

    private struct State {
        var moment = 0
        var records: [String: Record] = [:]
        /// In the order of their first attempts.
        var order: [String] = []
        var remarks: [String] = []

        mutating func next() -> Int {
            self.moment += 1
            return self.moment
        }
    }

    private let state = Mutex(State())

    var now: Int { self.state.withLock { $0.next() } }

    func sends(_ id: String, from sender: String, to recipient: String, on connection: Int) {
        self.state.withLock { state in
            let moment = state.next()
            if state.records[id] == nil {
                state.records[id] = Record(sender: sender, recipient: recipient, onlyConnection: connection)
                state.order.append(id)
            } else {
                state.records[id]!.onlyConnection = nil
            }
            state.records[id]!.sentAt.append(moment)
        }
    }

    func accepted(_ id: String) {
        self.state.withLock { state in
            let moment = state.next()
            if state.records[id]?.acceptedAt == nil { state.records[id]?.acceptedAt = moment }
        }
    }

    /// - Returns: whether it is the first time.
    @discardableResult
    func arrived(_ id: String, from sender: String, at recipient: String, _ way: Way) -> Bool {
        self.state.withLock { state in
            let moment = state.next()
            guard let record = state.records[id], record.sender == sender, record.recipient == recipient else {
                state.remarks.append("\(id) reached \(recipient), for whom nobody sent it")
                return false
            }
            state.records[id]!.arrivals.append(Arrival(moment: moment, time: .now, way: way))
            return record.arrivals.isEmpty
        }
    }

    func delivered(_ id: String) {
        self.state.withLock { state in
            let moment = state.next()
            if state.records[id]?.told == nil { state.records[id]?.told = (moment, .now) }
        }
    }

    func remark(_ text: String) { self.state.withLock { $0.remarks.append(text) } }

    // MARK: Judging

    /// Arrived, and its sender has not heard so.
    var untold: [String] {
        self.state.withLock { state in
            state.order.filter { !state.records[$0]!.arrivals.isEmpty && state.records[$0]!.told == nil }
        }
    }

    struct Count {
        var sent = 0
        var accepted = 0
        var arrived = 0
        var told = 0
        /// Pages may show what is on its way live, and is not acknowledged yet; nothing comes live a second time for no reason.
        var repeatedLive = 0
    }

    var count: Count {
        self.state.withLock { state in
            state.records.values.reduce(into: Count()) { count, record in
                count.sent += 1
                if record.acceptedAt != nil { count.accepted += 1 }
                if !record.arrivals.isEmpty { count.arrived += 1 }
                if record.told != nil { count.told += 1 }
                count.repeatedLive += record.arrivals.dropFirst().count { $0.way == .live }
            }
        }
    }

    /// What was promised and not kept. Empty if all is well.
    ///
    /// - **Lost:** accepted, and never seen by its recipient, who has read its mailbox to the end.
    /// - **Untold:** arrived and acknowledged, and its sender has not heard so.
    /// - **Twice:** mail is delivered at least once until its receipt is honoured; clients drop what they know. A repetition
    ///   is wrong only when the receipt had been honoured before, which is certain once the sender has been told. A page
    ///   asked for after that must not show the message. On a live connection, what was on its way in that moment is
    ///   forgiven for `onTheWay`. Receipts that a crash destroyed were never told to the sender, so they do not count.
    /// - **Out of order:** of two messages of a pair, the first was accepted before the second was sent at all, or each was
    ///   sent once, in this order, on the same connection, and accepted in this order; yet the second arrived first.
    ///   Messages whose attempts overlap otherwise were accepted in an order that no client can know.
    func faults(onTheWay: Duration) -> [String] {
        self.state.withLock { state in
            var faults = state.remarks
            for id in state.order {
                let record = state.records[id]!
                if record.acceptedAt != nil, record.arrivals.isEmpty { faults.append("lost: \(id)") }
                if !record.arrivals.isEmpty, record.told == nil { faults.append("untold: \(id)") }
                guard let told = record.told else { continue }
                for arrival in record.arrivals.dropFirst() {
                    switch arrival.way {
                    case .page(let askedAt) where askedAt > told.moment:
                        faults.append("twice: \(id) in a page asked for after its receipt was honoured")
                    case .live where arrival.time > told.time + onTheWay:
                        faults.append("twice: \(id) live, \(arrival.time - told.time) after its receipt was honoured")
                    default: break
                    }
                }
            }
            return faults + Self.disorder(state)
        }
    }

    private static func disorder(_ state: State) -> [String] {
        var faults: [String] = []
        for (pair, ids) in Dictionary(grouping: state.order, by: { state.records[$0]!.sender + state.records[$0]!.recipient }) {
            let records = ids.map { (id: $0, record: state.records[$0]!) }
                .filter { !$0.record.arrivals.isEmpty && $0.record.acceptedAt != nil }
            for (position, later) in records.enumerated() {
                for earlier in records[..<position] where later.record.arrivals[0].moment < earlier.record.arrivals[0].moment {
                    let wasAcceptedBefore = earlier.record.acceptedAt! < later.record.sentAt[0]
                    let wereSentOnceEach = earlier.record.onlyConnection != nil
                        && earlier.record.onlyConnection == later.record.onlyConnection
                        && earlier.record.acceptedAt! < later.record.acceptedAt!
                    if wasAcceptedBefore || wereSentOnceEach {
                        faults.append("out of order (\(pair)): \(later.id) before \(earlier.id)")
                    }
                }
            }
        }
        return faults
    }
}
