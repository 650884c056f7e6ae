package import Contract

/// All calls of the shares that one process owns. A batch changes it, and is then either committed or taken back.
package struct CallBook: Sendable {
    /// The change that one batch made to one call.
    package struct Change: Sendable {
        package var wakeID: UUIDText
        package var before: CallMachine?
        package var after: CallMachine?
    }

    /// A call is its id, without regard to case, between two people.
    private struct Key: Hashable {
        var callID: UUIDText
        var low: WhisperID
        var high: WhisperID

        init(_ callID: UUIDText, _ one: WhisperID, _ other: WhisperID) {
            self.callID = callID
            self.low = min(one, other)
            self.high = max(one, other)
        }
    }

    private var calls: [UUIDText: CallMachine] = [:]
    private var byKey: [Key: UUIDText] = [:]
    private var byIdentity: [WhisperID: Set<UUIDText>] = [:]
    /// As the calls were before the batch.
    private var undo: [UUIDText: CallMachine?] = [:]

    package init() {}

    package var all: some Collection<CallMachine> { self.calls.values }

    package subscript(wakeID: UUIDText) -> CallMachine? { self.calls[wakeID] }

    package func call(_ callID: UUIDText, between one: WhisperID, and other: WhisperID) -> CallMachine? {
        self.byKey[Key(callID, one, other)].flatMap { self.calls[$0] }
    }

    package func calls(of identity: WhisperID) -> [CallMachine] {
        (self.byIdentity[identity] ?? []).compactMap { self.calls[$0] }
    }

    /// Changes a call, or adds it, or with nil forgets it. Can be taken back until `commit`.
    package mutating func put(_ call: CallMachine?, at wakeID: UUIDText) {
        if self.undo.index(forKey: wakeID) == nil { self.undo.updateValue(self.calls[wakeID], forKey: wakeID) }
        self.set(call, at: wakeID)
    }

    /// Changes what is not written down: what is on its way to whom.
    package mutating func dispatch(at now: Timestamp) -> [(call: CallMachine, pending: PendingCallFrame, leg: CallLeg)]
    {
        var sent: [(call: CallMachine, pending: PendingCallFrame, leg: CallLeg)] = []
        for wakeID in self.calls.keys {
            guard var call = self.calls[wakeID], call.pendingFrames.contains(where: { $0.progress == .waiting }) else {
                continue
            }
            let pendingFrames = call.dispatch(at: now)
            guard !pendingFrames.isEmpty else { continue }
            self.calls[wakeID] = call
            sent += pendingFrames.map { (call, $0.pending, $0.leg) }
        }
        return sent
    }

    /// The changes of the batch so far.
    package var changes: [Change] {
        self.undo.compactMap { wakeID, before in
            let after = self.calls[wakeID]
            return before == after ? nil : Change(wakeID: wakeID, before: before, after: after)
        }
    }

    package mutating func commit() { self.undo = [:] }

    package mutating func takeBack() {
        for (wakeID, before) in self.undo { self.set(before, at: wakeID) }
        self.undo = [:]
    }

    /// Forgets the calls of shares that another process owns now.
    package mutating func keep(_ isKept: (CallMachine) -> Bool) {
        for (wakeID, call) in self.calls where !isKept(call) { self.set(nil, at: wakeID) }
    }

    /// A call from the tables.
    package mutating func load(_ call: CallMachine) { self.set(call, at: call.wakeID) }

    private mutating func set(_ call: CallMachine?, at wakeID: UUIDText) {
        let old = self.calls[wakeID]
        self.calls[wakeID] = call
        if let call {
            guard old == nil else { return }
            self.byKey[Key(call.callID, call.caller, call.callee)] = wakeID
            for identity in [call.caller, call.callee] { self.byIdentity[identity, default: []].insert(wakeID) }
        } else if let old {
            let key = Key(old.callID, old.caller, old.callee)
            if self.byKey[key] == wakeID { self.byKey[key] = nil }
            for identity in [old.caller, old.callee] {
                self.byIdentity[identity]?.remove(wakeID)
                if self.byIdentity[identity]?.isEmpty == true { self.byIdentity[identity] = nil }
            }
        }
    }
}
