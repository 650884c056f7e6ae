package import Contract

/// Who is in a call: one person, one line. The rows of `calls.lines` that one batch needs, and what it does to them. The
/// database holds the truth, because two calls of one person may belong to different processes.
package struct Lines: Sendable {
    package struct Line: Equatable, Sendable {
        package var call: UUIDText
        package var isAnswered: Bool
        /// When its owner was last known to be connected.
        package var seenAt: Timestamp

        package init(call: UUIDText, isAnswered: Bool, seenAt: Timestamp) {
            self.call = call
            self.isAnswered = isAnswered
            self.seenAt = seenAt
        }
    }

    package private(set) var before: [WhisperID: Line]
    package private(set) var after: [WhisperID: Line]

    /// Before then nobody may have noted who is connected.
    private let notedSince: Timestamp

    package init(_ rows: [WhisperID: Line] = [:], notedSince: Timestamp = Timestamp(milliseconds: 0)) {
        self.before = rows
        self.after = rows
        self.notedSince = notedSince
    }

    /// Takes both lines for a new call, or none.
    ///
    /// Who begins a call is not in an answered one any more, whatever became of that: one person has one device. And a line
    /// whose owner has been away for long is free, so that two dead phones do not keep their owners busy for hours.
    /// An answered call that loses a line in this way ends, so that the time during which nobody could look does not count.
    package mutating func take(_ call: UUIDText, caller: WhisperID, callee: WhisperID, at now: Timestamp) -> Bool {
        let isCallerFree = self.after[caller].map(\.isAnswered) ?? true
        let isCalleeFree =
            self.after[callee].map {
                $0.isAnswered && max($0.seenAt, self.notedSince) + CallLimits.lineLostAfter < now
            } ?? true
        guard isCallerFree, isCalleeFree else { return false }
        let line = Line(call: call, isAnswered: false, seenAt: now)
        self.after[caller] = line
        self.after[callee] = line
        return true
    }

    /// The call is over.
    package mutating func release(_ call: UUIDText) {
        self.after = self.after.filter { $0.value.call != call }
    }

    package mutating func answer(_ call: UUIDText, at now: Timestamp) {
        for (identity, line) in self.after where line.call == call {
            self.after[identity] = Line(call: call, isAnswered: true, seenAt: now)
        }
    }

    /// What is to be written: rows that go, then rows that come.
    package var changes: (removed: [WhisperID], added: [(identity: WhisperID, line: Line)]) {
        let touched = Set(self.before.keys).union(self.after.keys).filter { self.before[$0] != self.after[$0] }.sorted()
        return (
            touched.filter { self.before[$0] != nil },
            touched.compactMap { identity in self.after[identity].map { (identity, $0) } }
        )
    }
}
