package import Contract

/// Who is in a call. One person has one *line*, held by calling out and by talking, and one *ring*, held by being called. So a
/// person whose phone rings may call out, while third callers find the person busy (contract §13a). A live call holds two of
/// these: its caller's line and its callee's ring, or after the answer the lines of both.
///
/// The rows of `calls.lines` and `calls.rings` that one batch needs, and what it does to them. The database holds the truth,
/// because two calls of one person may belong to different processes.
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
    /// Calls that ring for their callees.
    package private(set) var ringsBefore: [WhisperID: UUIDText]
    package private(set) var rings: [WhisperID: UUIDText]

    /// Before then nobody may have noted who is connected.
    private let notedSince: Timestamp

    package init(
        _ rows: [WhisperID: Line] = [:], rings: [WhisperID: UUIDText] = [:],
        notedSince: Timestamp = Timestamp(milliseconds: 0)
    ) {
        self.before = rows
        self.after = rows
        self.ringsBefore = rings
        self.rings = rings
        self.notedSince = notedSince
    }

    /// Takes the caller's line and the callee's ring for a new call, or none.
    ///
    /// Who begins a call is not in an answered one any more, whatever became of that: one person has one device. And a line
    /// whose owner has been away for long is free, so that two dead phones do not keep their owners busy for hours.
    /// An answered call that loses a line in this way ends, so that the time during which nobody could look does not count.
    /// - Parameter crosses: the callee has just called this caller, and that call has lost. Then the callee may be rung by
    ///   somebody else as well, and the new call takes the line that the lost one has given back.
    package mutating func take(
        _ call: UUIDText, caller: WhisperID, callee: WhisperID, crosses: Bool = false, at now: Timestamp
    ) -> Bool {
        let isCallerFree = self.after[caller].map(\.isAnswered) ?? true
        let isCalleeFree =
            self.after[callee].map {
                $0.isAnswered && max($0.seenAt, self.notedSince) + CallLimits.lineLostAfter < now
            } ?? true
        guard isCallerFree, isCalleeFree, crosses || self.rings[callee] == nil else { return false }
        let line = Line(call: call, isAnswered: false, seenAt: now)
        self.after[caller] = line
        self.after[callee] = self.rings[callee] == nil ? nil : line
        if self.rings[callee] == nil { self.rings[callee] = call }
        return true
    }

    /// The call is over.
    package mutating func release(_ call: UUIDText) {
        self.after = self.after.filter { $0.value.call != call }
        self.rings = self.rings.filter { $0.value != call }
    }

    /// The callee gives its ring back and takes its line, whoever had that. The caller keeps the line, unless the caller has
    /// answered another call meanwhile.
    /// - Returns: the call that has lost the callee's line.
    package mutating func answer(
        _ call: UUIDText, caller: WhisperID, callee: WhisperID, at now: Timestamp
    ) -> UUIDText? {
        let line = Line(call: call, isAnswered: true, seenAt: now)
        let lost = self.after[callee].flatMap { $0.call == call ? nil : $0.call }
        if self.rings[callee] == call { self.rings[callee] = nil }
        self.after[callee] = line
        if self.after[caller]?.call == call { self.after[caller] = line }
        return lost
    }

    /// What is to be written: rows that go, then rows that come.
    package var changes: (removed: [WhisperID], added: [(identity: WhisperID, line: Line)]) {
        let touched = Set(self.before.keys).union(self.after.keys).filter { self.before[$0] != self.after[$0] }.sorted()
        return (
            touched.filter { self.before[$0] != nil },
            touched.compactMap { identity in self.after[identity].map { (identity, $0) } }
        )
    }

    package var ringChanges: (removed: [WhisperID], added: [(identity: WhisperID, call: UUIDText)]) {
        let touched = Set(self.ringsBefore.keys).union(self.rings.keys)
            .filter { self.ringsBefore[$0] != self.rings[$0] }.sorted()
        return (
            touched.filter { self.ringsBefore[$0] != nil },
            touched.compactMap { identity in self.rings[identity].map { (identity, $0) } }
        )
    }
}
