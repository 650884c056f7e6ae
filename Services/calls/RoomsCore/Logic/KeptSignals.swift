package import Contract

/// Signals for participants who are not connected, and marks of received signals. In memory only: peers offer
/// lost signals again (contract §15.2). A batch changes it, and is then either committed or taken back. Pure: the time
/// is an argument.
package struct KeptSignals: Sendable {
    /// Bytes kept for one pair.
    package static let pairBytesMax = 262_144
    /// Bytes kept by the process. Beyond it a signal is not kept.
    package static let bytesMax = 64 * 1_048_576
    /// Nonces remembered of one room, to know a repeated signal by.
    package static let marksMax = 256

    private struct Pair: Hashable {
        var from: PrincipalID
        var to: PrincipalID
    }

    private struct Kept {
        var kind: RoomSignalKind
        var payload: [UInt8]
        var at: Timestamp
    }

    private struct Mark: Hashable {
        var from: PrincipalID
        var nonce: [UInt8]
    }

    /// The kept signals and marks of one room.
    private struct Room {
        var kept: [Pair: [Kept]] = [:]
        /// In the order in which they came.
        var marks: [Mark] = []
        /// Bytes of `kept`.
        var bytes = 0

        var isEmpty: Bool { self.kept.isEmpty && self.marks.isEmpty }

        mutating func put(_ list: [Kept], for pair: Pair) {
            self.bytes += KeptSignals.size(of: list) - KeptSignals.size(of: self.kept[pair] ?? [])
            self.kept[pair] = list.isEmpty ? nil : list
        }
    }

    private var rooms: [UUIDText: Room] = [:]
    /// Rooms as they were before the batch.
    private var undo: [UUIDText: Room?] = [:]
    package private(set) var bytes = 0

    package init() {}

    /// - Returns: whether the signal was received before.
    package mutating func isRepeated(_ nonce: [UInt8], from sender: PrincipalID, in room: UUIDText) -> Bool {
        let mark = Mark(from: sender, nonce: nonce)
        if self.rooms[room]?.marks.contains(mark) == true { return true }
        self.change(room) { room in
            if room.marks.count >= Self.marksMax { room.marks.removeFirst() }
            room.marks.append(mark)
        }
        return false
    }

    /// Keeps a signal: the newest of its kind, and of candidates the newest 64.
    package mutating func keep(
        _ kind: RoomSignalKind, _ payload: [UInt8], from sender: PrincipalID, to peer: PrincipalID, in room: UUIDText,
        at now: Timestamp
    ) {
        guard payload.count <= Self.pairBytesMax else { return }
        let pair = Pair(from: sender, to: peer)
        var list = self.rooms[room]?.kept[pair] ?? []
        let others = self.bytes - Self.size(of: list)
        if kind == .candidate {
            let candidates = list.count { $0.kind == .candidate }
            if candidates >= RoomLimits.candidatesKeptMax,
                let oldest = list.firstIndex(where: { $0.kind == .candidate })
            {
                list.remove(at: oldest)
            }
        } else {
            list.removeAll { $0.kind == kind }
        }
        list.append(Kept(kind: kind, payload: payload, at: now))
        while Self.size(of: list) > Self.pairBytesMax { list.removeFirst() }
        if others + Self.size(of: list) > Self.bytesMax { list.removeLast() }
        self.change(room) { $0.put(list, for: pair) }
    }

    private static func size(of list: [Kept]) -> Int { list.reduce(0) { $0 + $1.payload.count } }

    /// Takes the signals for a participant who is back, in order of arrival.
    package mutating func take(for peer: PrincipalID, in room: UUIDText, at now: Timestamp) -> [[UInt8]] {
        let waiting = self.rooms[room]?.kept.filter { $0.key.to == peer } ?? [:]
        guard !waiting.isEmpty else { return [] }
        self.change(room) { room in for pair in waiting.keys { room.put([], for: pair) } }
        return waiting.values.joined().filter { $0.at + RoomLimits.signalsKeptFor > now }.sorted { $0.at < $1.at }
            .map(\.payload)
    }

    /// Forgets the signals from and to a participant without a seat.
    package mutating func forget(_ participant: PrincipalID, in room: UUIDText) {
        let pairs = (self.rooms[room]?.kept.keys).map { $0.filter { $0.from == participant || $0.to == participant } }
        guard let pairs, !pairs.isEmpty else { return }
        self.change(room) { room in for pair in pairs { room.put([], for: pair) } }
    }

    package mutating func forget(_ room: UUIDText) {
        guard self.rooms[room] != nil else { return }
        self.change(room) { $0 = Room() }
    }

    /// Forgets signals that are too old, and the marks of rooms that are not in memory.
    package mutating func age(at now: Timestamp, keeping isKept: (UUIDText) -> Bool) {
        for (id, room) in self.rooms {
            let old = room.kept.filter { $0.value.allSatisfy { $0.at + RoomLimits.signalsKeptFor <= now } }.keys
            let forgetsMarks = !room.marks.isEmpty && !isKept(id)
            guard !old.isEmpty || forgetsMarks else { continue }
            self.change(id) { room in
                for pair in old { room.put([], for: pair) }
                if forgetsMarks { room.marks = [] }
            }
        }
    }

    // MARK: Batches

    /// Keeps the batch's changes.
    package mutating func commit() { self.undo = [:] }

    package mutating func takeBack() {
        for (id, before) in self.undo {
            self.bytes += (before?.bytes ?? 0) - (self.rooms[id]?.bytes ?? 0)
            self.rooms[id] = before
        }
        self.undo = [:]
    }

    private mutating func change(_ id: UUIDText, _ body: (inout Room) -> Void) {
        if self.undo.index(forKey: id) == nil { self.undo.updateValue(self.rooms[id], forKey: id) }
        var room = self.rooms.removeValue(forKey: id) ?? Room()
        let before = room.bytes
        body(&room)
        self.bytes += room.bytes - before
        self.rooms[id] = room.isEmpty ? nil : room
    }
}
