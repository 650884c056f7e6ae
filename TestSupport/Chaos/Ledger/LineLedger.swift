import Synchronization

/// Lines that whisperers typed and listeners were shown, in one order of moments. In the end the ledger lists what was
/// wrong (contract §14.7, §14.10, §14.12). Every line that is typed is unlike all others.
package final class LineLedger: Sendable {
    /// One time of listening: from a `listen` until its listener leaves or is sent away.
    package struct Visit: Hashable, Sendable, CustomStringConvertible {
        package var listener: String
        package var conversation: String
        package var number: Int

        package init(_ listener: String, to conversation: String, number: Int = 1) {
            self.listener = listener
            self.conversation = conversation
            self.number = number
        }

        package var description: String { "\(self.listener), visit \(self.number) to \(self.conversation)" }
    }

    private struct Line {
        var conversation: String
        var typedAt: Int
        /// When somebody was shown it first.
        var shownAt: Int?
    }

    private struct Record {
        var asksAt: Int
        var joinedAt: Int?
        var endedAt: Int?
        /// From here on new keys are in use that this listener must not have.
        var isOutSince: Int?
        var shown: [String] = []
        /// Lines that the client says are missing.
        var missing = 0
    }

    private struct State {
        var moment = 0
        var lines: [String: Line] = [:]
        var order: [String] = []
        var visits: [Visit: Record] = [:]
        var remarks: [String] = []

        mutating func next() -> Int {
            self.moment += 1
            return self.moment
        }
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: What happens

    package func typed(_ line: String, in conversation: String) {
        self.state.withLock { state in
            state.lines[line] = Line(conversation: conversation, typedAt: state.next())
            state.order.append(line)
        }
    }

    /// The listener asks to listen.
    package func asks(_ visit: Visit) {
        self.state.withLock { state in
            let moment = state.next()
            state.visits[visit] = Record(asksAt: moment)
        }
    }

    package func joined(_ visit: Visit) {
        self.state.withLock { state in
            let moment = state.next()
            if state.visits[visit]?.joinedAt == nil { state.visits[visit]?.joinedAt = moment }
        }
    }

    package func shown(_ line: String, to visit: Visit) {
        self.state.withLock { state in
            let moment = state.next()
            state.visits[visit]?.shown.append(line)
            if state.lines[line]?.shownAt == nil { state.lines[line]?.shownAt = moment }
        }
    }

    package func missing(_ count: Int, of visit: Visit) {
        self.state.withLock { $0.visits[visit]?.missing += count }
    }

    /// The listener leaves, or its whisperer sends it away: nothing that is typed from here on is promised to it.
    package func ends(_ visit: Visit) {
        self.state.withLock { state in
            let moment = state.next()
            if state.visits[visit]?.endedAt == nil { state.visits[visit]?.endedAt = moment }
        }
    }

    /// New keys are in use, since this listener was sent away: what is typed from here on must not be shown to it.
    package func isOut(_ visit: Visit) {
        self.state.withLock { state in
            let moment = state.next()
            if state.visits[visit]?.isOutSince == nil { state.visits[visit]?.isOutSince = moment }
        }
    }

    package func remark(_ text: String) { self.state.withLock { $0.remarks.append(text) } }

    // MARK: What it came to

    package struct Count: Equatable, Sendable, Codable {
        package var typed = 0
        package var shown = 0
        package var missing = 0
        package var visits = 0
    }

    package var count: Count {
        self.state.withLock { state in
            Count(
                typed: state.lines.count, shown: state.visits.values.reduce(0) { $0 + $1.shown.count },
                missing: state.visits.values.reduce(0) { $0 + $1.missing },
                visits: state.visits.values.count { $0.joinedAt != nil })
        }
    }

    /// Lines that this visitor should have and was not shown, beyond those that it says are missing.
    package func lost(_ visit: Visit) -> [String] { self.state.withLock { Self.lost(visit, $0) } }

    private static func lost(_ visit: Visit, _ state: State) -> [String] {
        // Some lines of a visit that has ended may have been on their way, or asked for.
        guard let record = state.visits[visit], let joinedAt = record.joinedAt, record.endedAt == nil else { return [] }
        let shown = Set(record.shown)
        let lost = state.order.filter { text in
            let line = state.lines[text]!
            return line.conversation == visit.conversation && line.typedAt > joinedAt && !shown.contains(text)
        }
        return Array(lost.dropFirst(record.missing))
    }

    /// Promises that were not kept. Empty if all is well.
    ///
    /// - **Lost:** typed while a listener had joined who stayed, and neither shown to it nor told as missing.
    /// - **Twice:** shown twice in one visit.
    /// - **From before:** shown to another listener already when this one first asked to listen. On a later visit it may get
    ///   lines of the time between, if the server has just forgotten how many were completed.
    /// - **Read after removal:** typed when keys were in use that this visitor must not have.
    /// - **Foreign:** typed in another conversation, or by nobody.
    package func faults() -> [String] {
        self.state.withLock { state in
            var faults = state.remarks
            for (visit, record) in state.visits.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                let first = LineLedger.Visit(visit.listener, to: visit.conversation)
                let asksAt = state.visits[first]?.asksAt ?? record.asksAt
                var seen: Set<String> = []
                for text in record.shown {
                    guard let line = state.lines[text], line.conversation == visit.conversation else {
                        faults.append("foreign line: \(visit) was shown \(text)")
                        continue
                    }
                    if !seen.insert(text).inserted { faults.append("line twice: \(visit) was shown \(text)") }
                    if let shownAt = line.shownAt, shownAt < asksAt {
                        faults.append("line from before: \(visit) was shown \(text)")
                    }
                    if let out = record.isOutSince, line.typedAt > out {
                        faults.append("line read after removal: \(visit) was shown \(text)")
                    }
                }
                for text in Self.lost(visit, state) { faults.append("line lost: \(text) for \(visit)") }
            }
            return faults
        }
    }
}
