import Synchronization

/// Every message as clients saw it, from all of them, in one order. In the end the ledger lists what the cluster did
/// wrong (`faults`, in Judgement.swift).
///
/// One moment is a number: events of different clients have an order, because they are all in this process.
package final class Ledger: Sendable {
    /// Where a message was seen.
    package enum Way: Equatable, Sendable {
        /// On a connection that was opened at this moment.
        case live(openedAt: Int)
        /// In a page; the moment at which it was asked for.
        case page(askedAt: Int)
    }

    struct Arrival {
        var moment: Int
        var time: ContinuousClock.Instant
        var way: Way
    }

    struct Record {
        var sender: String
        var firstSent: ContinuousClock.Instant
        var sentAt: [Int] = []
        /// The first attempt's; nil when there was another.
        var onlyConnection: Int?
        var acceptedAt: Int?
        /// Since the first attempt.
        var acceptedAfter: Duration?
        var arrivals: [Arrival] = []
        /// The most that its recipient has said of it.
        var marked: Mark?
        /// When its sender first heard of its delivery.
        var told: (moment: Int, time: ContinuousClock.Instant)?
        /// The most that its sender heard.
        var toldMark: Mark?
        /// Its sender was told that its time was over.
        var isExpired = false

        /// Accepted, and neither seen nor over.
        var isPending: Bool { self.acceptedAt != nil && self.arrivals.isEmpty && !self.isExpired }
    }

    struct State {
        var moment = 0
        var records: [Letter: Record] = [:]
        /// In the order of their first attempts.
        var order: [Letter] = []
        var remarks: [String] = []
        /// Clients whose mail is in no record: nothing is promised to them. Their forgeries must reach nobody.
        var strangers: Set<String> = []
        var forgeries: Set<Letter> = []
        var mailOfStrangers = 0
        /// Times that clients were without a connection that works.
        var gaps: [Duration] = []
        /// When somebody was away because it wanted to; the last one may not have ended.
        var absences: [String: [Absence]] = [:]
        var wakeUps = 0
        var clocksOff = 0
        var clockRightSince: ContinuousClock.Instant?
        var refusedByClocks = 0

        mutating func next() -> Int {
            self.moment += 1
            return self.moment
        }
    }

    struct Absence {
        var start: ContinuousClock.Instant
        var end: ContinuousClock.Instant?

        func overlaps(_ start: ContinuousClock.Instant, _ end: ContinuousClock.Instant) -> Bool {
            self.start <= end && self.end.map { start <= $0 } ?? true
        }
    }

    let state = Mutex(State())

    package init() {}

    package var now: Int { self.state.withLock { $0.next() } }

    // MARK: Writing

    package func sends(_ letter: Letter, from sender: String, on connection: Int) {
        self.state.withLock { state in
            let moment = state.next()
            if state.records[letter] == nil {
                state.records[letter] = Record(sender: sender, firstSent: .now, onlyConnection: connection)
                state.order.append(letter)
            } else {
                state.records[letter]!.onlyConnection = nil
            }
            state.records[letter]!.sentAt.append(moment)
        }
    }

    package func accepted(_ letter: Letter) {
        self.state.withLock { state in
            let moment = state.next()
            guard let record = state.records[letter], record.acceptedAt == nil else { return }
            state.records[letter]!.acceptedAt = moment
            state.records[letter]!.acceptedAfter = .now - record.firstSent
        }
    }

    /// - Parameter mark: what the recipient answers.
    package func arrived(_ letter: Letter, from sender: String, _ way: Way, mark: Mark = .delivered) {
        self.state.withLock { state in
            let moment = state.next()
            guard !state.strangers.contains(sender) else {
                state.mailOfStrangers += 1
                if state.forgeries.contains(letter) { state.remarks.append("forged mail was delivered: \(letter)") }
                return
            }
            guard let record = state.records[letter], record.sender == sender else {
                state.remarks.append("nobody sent \(letter)")
                return
            }
            state.records[letter]!.arrivals.append(Arrival(moment: moment, time: .now, way: way))
            state.records[letter]!.marked = max(record.marked ?? mark, mark)
        }
    }

    package func told(_ letter: Letter, _ mark: Mark = .delivered) {
        self.state.withLock { state in
            let moment = state.next()
            guard let record = state.records[letter] else {
                state.remarks.append("told of \(letter), which nobody sent")
                return
            }
            if record.told == nil { state.records[letter]!.told = (moment, .now) }
            state.records[letter]!.toldMark = max(record.toldMark ?? mark, mark)
        }
    }

    package func expired(_ letter: Letter) {
        self.state.withLock { $0.records[letter]?.isExpired = true }
    }

    /// A push reached somebody who is away.
    package func woken() { self.state.withLock { $0.wakeUps += 1 } }

    /// Somebody who would have come at a push is fetched without one. If mail waits, a wake-up is missing.
    package func fetched(_ recipient: String) {
        self.state.withLock { state in
            let waiting = state.order.filter { $0.to == recipient && state.records[$0]!.isPending }
            guard let first = waiting.first else { return }
            state.remarks.append("not woken: \(recipient), for whom \(waiting.count) wait, such as \(first.id)")
        }
    }

    /// A session that should live was refused. While a clock is off that is to be expected of one that ends soon, such as the
    /// old one of two after a refresh; it must open the door again afterwards, and that is looked at in the end.
    package func sessionRefused(_ who: String, _ why: String) {
        self.state.withLock { state in
            guard state.clocksOff == 0, state.clockRightSince.map({ .now - $0 > Self.clockSpare }) ?? true else {
                state.refusedByClocks += 1
                return
            }
            state.remarks.append("session lost: \(who), \(why)")
        }
    }

    /// A process learns of its clock's being set within a second, and what it said before may still be on its way.
    private static let clockSpare = Duration.seconds(8)

    package func clockMoved(isOff: Bool) {
        self.state.withLock { state in
            state.clocksOff += isOff ? 1 : -1
            if !isOff { state.clockRightSince = .now }
        }
    }

    package func isStranger(_ id: String) { self.state.withLock { _ = $0.strangers.insert(id) } }

    /// Its signature is not its sender's.
    package func forged(_ letter: Letter) { self.state.withLock { _ = $0.forgeries.insert(letter) } }

    /// It ends its own connection, and comes back when it likes to or is woken.
    package func leaves(_ who: String) {
        self.state.withLock { $0.absences[who, default: []].append(Absence(start: .now)) }
    }

    package func comes(_ who: String) {
        self.state.withLock { state in
            guard let last = state.absences[who]?.indices.last else { return }
            state.absences[who]![last].end = .now
        }
    }

    package func wasAway(_ gap: Duration) { self.state.withLock { $0.gaps.append(gap) } }

    /// Something that must not happen, whatever else does.
    package func remark(_ text: String) { self.state.withLock { $0.remarks.append(text) } }

    // MARK: Reading

    package struct Count: Sendable, Codable, Equatable {
        package var sent = 0
        package var accepted = 0
        package var arrived = 0
        package var told = 0
        package var expired = 0
        /// Pages may show what is on its way live, and is not acknowledged yet; nothing comes live a second time for no reason.
        package var repeatedLive = 0
        package var wakeUps = 0
        /// Times that a session was refused while a clock was off.
        package var refusedByClocks = 0
        /// Seen again, live or in a page, before the receipt was honoured.
        package var repeated = 0
        /// Arrivals of what strangers wrote.
        package var mailOfStrangers = 0
    }

    package var count: Count {
        self.state.withLock { state in
            var count = Count()
            count.wakeUps = state.wakeUps
            count.refusedByClocks = state.refusedByClocks
            count.mailOfStrangers = state.mailOfStrangers
            for record in state.records.values {
                count.sent += 1
                if record.acceptedAt != nil { count.accepted += 1 }
                if !record.arrivals.isEmpty { count.arrived += 1 }
                if record.told != nil { count.told += 1 }
                if record.isExpired { count.expired += 1 }
                count.repeated += max(0, record.arrivals.count - 1)
                count.repeatedLive += record.arrivals.dropFirst().count {
                    if case .live = $0.way { true } else { false }
                }
            }
            return count
        }
    }

    /// Arrived, and its sender has not heard so.
    package var untold: [Letter] {
        self.state.withLock { state in
            state.order.filter { !state.records[$0]!.arrivals.isEmpty && state.records[$0]!.told == nil }
        }
    }

    /// From the first attempt to send to the first arrival, of every letter that arrived.
    package var travelTimes: [Duration] {
        self.state.withLock { state in
            state.records.values.compactMap { record in record.arrivals.first.map { $0.time - record.firstSent } }
        }
    }

    /// The same, of every letter that first came in a `message_received`, not in a page, while neither its sender nor its recipient was
    /// away: who leaves with a message that was not accepted sends it again when it comes back.
    package var liveTravelTimes: [Duration] { self.liveTravels.map(\.time) }

    /// The one of them that took longest, in words.
    package var slowestLive: String? {
        guard let (letter, record, time) = self.liveTravels.max(by: { $0.time < $1.time }) else { return nil }
        let accepted = record.acceptedAfter.map { "accepted after \($0.shown)" } ?? "not known to be accepted"
        return
            "\(letter) from \(record.sender), attempts: \(record.sentAt.count), \(accepted), received after \(time.shown)"
    }

    private var liveTravels: [(letter: Letter, record: Record, time: Duration)] {
        self.state.withLock { state in
            state.records.compactMap { letter, record in
                guard let first = record.arrivals.first, case .live = first.way,
                    ![record.sender, letter.to].contains(where: { who in
                        state.absences[who]?.contains { $0.overlaps(record.firstSent, first.time) } ?? false
                    })
                else { return nil }
                return (letter, record, first.time - record.firstSent)
            }
        }
    }

    /// How long each client was without a connection, each time.
    package var gaps: [Duration] { self.state.withLock { $0.gaps } }
}
