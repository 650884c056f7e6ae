package import Contract

/// Decides which grants are sent, and when the next generation of keys begins (contract §14.7). Holds only ids and
/// numbers.
///
/// After a removal, all other listeners get the key of the next generation. No content is sealed until all these grants
/// are answered (`lowest`). The next generation begins even if no listener is left.
package struct GrantQueue {
    /// One `live_grant`.
    package struct Batch: Equatable, Sendable {
        package var generation: Int
        /// Empty if only the next generation is to begin.
        package var listeners: [PrincipalID]
    }

    /// The server's current generation.
    package private(set) var generation = 1
    /// Admitted listeners, whether they listen now or not.
    package private(set) var members: Set<PrincipalID> = []
    /// Content may be sealed with this generation and later ones. Removed listeners had older keys.
    package private(set) var lowest: Int
    /// The newest generation whose key was offered to a listener, whether the server has answered or not.
    package private(set) var offered: Int
    private var waiting: [PrincipalID] = []
    private var underWay: Batch?
    private var wantsRenewal = false
    /// The generation whose grants are being sent to all listeners.
    private var rotatingTo: Int?

    /// - Parameters:
    ///   - newest: the newest generation that this device has used or offered before.
    ///   - lowest: above the keys of all listeners that were removed before.
    package init(newest: Int = 1, lowest: Int = 1) {
        self.offered = newest
        self.lowest = max(newest, lowest)
    }

    /// `live_started` or `live_roster` was received: the batch under way may have been carried out or not.
    /// - Parameters:
    ///   - members: each with the generation of its newest grant.
    package mutating func learned(generation: Int, members: [PrincipalID: Int]) {
        self.generation = generation
        // Another device may have offered it.
        self.offered = max(self.offered, generation)
        self.members = Set(members.keys)
        self.underWay = nil
        self.rotatingTo = nil
        self.waiting.removeAll { self.members.contains($0) }
        self.waiting += members.filter { $0.value < generation }.map(\.key).sorted { "\($0)" < "\($1)" }
    }

    /// - Returns: whether this admits the listener. Otherwise it is a member that lacks a key, or its grant is pending.
    package mutating func admit(_ listener: PrincipalID) -> Bool {
        let isUnderWay = self.underWay?.listeners.contains(listener) == true
        guard !isUnderWay, !self.waiting.contains(listener) else { return false }
        self.waiting.append(listener)
        return !self.members.contains(listener)
    }

    /// This or another device has removed a listener. A repetition changes nothing.
    package mutating func removed(_ listener: PrincipalID) {
        let isUnderWay = self.underWay?.listeners.contains(listener) == true
        self.waiting.removeAll { $0 == listener }
        self.underWay?.listeners.removeAll { $0 == listener }
        if self.members.remove(listener) != nil || isUnderWay { self.leaves(behind: self.offered) }
    }

    /// Nothing more is sealed with this generation or an older one: a removed listener may have its key.
    package mutating func leaves(behind generation: Int) { self.lowest = max(self.lowest, generation + 1) }

    /// Whether content waits for the next generation.
    package var blocksSealing: Bool { self.generation < self.lowest }

    /// The grants to send now. One batch is under way at a time.
    package mutating func next() -> Batch? {
        guard self.underWay == nil else { return nil }
        if self.rotatingTo == nil, self.wantsRenewal || self.generation < self.lowest {
            self.wantsRenewal = false
            self.rotatingTo = self.generation + 1
            let others = self.members.subtracting(self.waiting)
            self.waiting = others.sorted { "\($0)" < "\($1)" } + self.waiting
        }
        guard !self.waiting.isEmpty || self.rotatingTo != nil else { return nil }
        let batch = Batch(
            generation: self.rotatingTo ?? self.generation,
            listeners: Array(self.waiting.prefix(LiveLimits.grantsMax)))
        self.waiting.removeFirst(batch.listeners.count)
        self.underWay = batch
        self.offered = max(self.offered, batch.generation)
        return batch
    }

    /// `live_granted` was received.
    /// - Returns: the generation that content is sealed with from now on.
    package mutating func answered(granted: [PrincipalID]) -> Int? {
        guard let batch = self.underWay else { return nil }
        self.underWay = nil
        self.generation = batch.generation
        self.members.subtract(batch.listeners)
        self.members.formUnion(batch.listeners.filter { granted.contains($0) })
        guard self.waiting.isEmpty else { return nil }
        self.rotatingTo = nil
        return self.generation
    }

    /// The server did not accept the batch. It is sent again.
    package mutating func failed() {
        self.waiting = (self.underWay?.listeners ?? []) + self.waiting
        self.underWay = nil
    }

    /// No listener of the batch can get a key.
    package mutating func dropped() {
        self.members.subtract(self.underWay?.listeners ?? [])
        self.underWay = nil
    }

    /// Requests the next key without a removal: the present key has sealed many packets.
    package mutating func rotate() { if self.rotatingTo == nil { self.wantsRenewal = true } }
}
