package import Contract

/// Decides who is busy.
///
/// A person has one *slot*, held while calling out or talking, and one *ring*, held while being called. So a person
/// whose phone rings may call out, and third callers find the person busy (contract §13a). A ringing call holds the
/// slot of its caller and the ring of its callee. An answered call holds the slots of both.
///
/// Contains the rows of `calls.lines` (slots) and `calls.rings` that one batch needs, and their changes. The database
/// decides, because two calls of one person may belong to different processes.
package struct BusySlots: Sendable {
    package struct Slot: Equatable, Sendable {
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

    package private(set) var before: [WhisperID: Slot]
    package private(set) var after: [WhisperID: Slot]
    /// Calls that ring for their callees.
    package private(set) var ringsBefore: [WhisperID: UUIDText]
    package private(set) var rings: [WhisperID: UUIDText]

    /// Connections were noted only since this time.
    private let notedSince: Timestamp

    package init(
        _ rows: [WhisperID: Slot] = [:], rings: [WhisperID: UUIDText] = [:],
        notedSince: Timestamp = Timestamp(milliseconds: 0)
    ) {
        self.before = rows
        self.after = rows
        self.ringsBefore = rings
        self.rings = rings
        self.notedSince = notedSince
    }

    /// Takes the caller's slot and the callee's ring for a new call, or none.
    ///
    /// A caller cannot be in an answered call any more, because one person has one device. The slot of an owner who has
    /// been away for long is free, so that two dead phones do not keep their owners busy for hours. An answered call
    /// that loses a slot ends, so time during which nobody noted connections does not count.
    /// - Parameter crosses: the callee has just called this caller, and that call has lost. Then the callee may be rung by
    ///   somebody else as well, and the new call takes the slot that the lost one has given back.
    package mutating func take(
        _ call: UUIDText, caller: WhisperID, callee: WhisperID, crosses: Bool = false, at now: Timestamp
    ) -> Bool {
        let isCallerFree = self.after[caller].map(\.isAnswered) ?? true
        let isCalleeFree =
            self.after[callee].map {
                $0.isAnswered && max($0.seenAt, self.notedSince) + CallLimits.slotLostAfter < now
            } ?? true
        guard isCallerFree, isCalleeFree, crosses || self.rings[callee] == nil else { return false }
        let slot = Slot(call: call, isAnswered: false, seenAt: now)
        self.after[caller] = slot
        self.after[callee] = self.rings[callee] == nil ? nil : slot
        if self.rings[callee] == nil { self.rings[callee] = call }
        return true
    }

    /// The call is over.
    package mutating func release(_ call: UUIDText) {
        self.after = self.after.filter { $0.value.call != call }
        self.rings = self.rings.filter { $0.value != call }
    }

    /// The callee gives its ring back and takes its slot from any other call. The caller keeps its slot, unless it has
    /// answered another call meanwhile.
    /// - Returns: the call that lost the slot of the callee.
    package mutating func answer(
        _ call: UUIDText, caller: WhisperID, callee: WhisperID, at now: Timestamp
    ) -> UUIDText? {
        let slot = Slot(call: call, isAnswered: true, seenAt: now)
        let lost = self.after[callee].flatMap { $0.call == call ? nil : $0.call }
        if self.rings[callee] == call { self.rings[callee] = nil }
        self.after[callee] = slot
        if self.after[caller]?.call == call { self.after[caller] = slot }
        return lost
    }

    /// The rows to delete, then the rows to insert.
    package var changes: (removed: [WhisperID], added: [(identity: WhisperID, slot: Slot)]) {
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
