package import Contract

/// Signals for participants who are not connected, and which signals have come. In memory alone: what is lost is offered anew
/// (contract §15.2). Pure: the time is an argument.
package struct KeptSignals: Sendable {
    /// Of one pair.
    package static let pairBytesMax = 262_144
    /// Of the process. Beyond it a signal is not kept.
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

    private var kept: [UUIDText: [Pair: [Kept]]] = [:]
    private var marks: [UUIDText: [Mark]] = [:]
    package private(set) var bytes = 0

    package init() {}

    /// - Returns: whether it has come before.
    package mutating func isRepeated(_ nonce: [UInt8], from sender: PrincipalID, in room: UUIDText) -> Bool {
        let mark = Mark(from: sender, nonce: nonce)
        var marks = self.marks.removeValue(forKey: room) ?? []
        defer { self.marks[room] = marks }
        if marks.contains(mark) { return true }
        if marks.count >= Self.marksMax { marks.removeFirst() }
        marks.append(mark)
        return false
    }

    /// Keeps a signal: the newest of its kind, and of candidates the newest 64.
    package mutating func keep(
        _ kind: RoomSignalKind, _ payload: [UInt8], from sender: PrincipalID, to peer: PrincipalID, in room: UUIDText,
        at now: Timestamp
    ) {
        guard payload.count <= Self.pairBytesMax else { return }
        let pair = Pair(from: sender, to: peer)
        var list = self.kept[room]?[pair] ?? []
        self.bytes -= Self.size(of: list)
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
        let size = Self.size(of: list)
        if self.bytes + size > Self.bytesMax {
            list.removeLast()
            self.bytes += Self.size(of: list)
        } else {
            self.bytes += size
        }
        self.kept[room, default: [:]][pair] = list.isEmpty ? nil : list
    }

    private static func size(of list: [Kept]) -> Int { list.reduce(0) { $0 + $1.payload.count } }

    /// What waits for somebody who has come back, in the order in which it came.
    package mutating func take(for peer: PrincipalID, in room: UUIDText, at now: Timestamp) -> [[UInt8]] {
        guard let pairs = self.kept[room] else { return [] }
        var taken: [Kept] = []
        for (pair, list) in pairs where pair.to == peer {
            taken += list.filter { $0.at + RoomLimits.signalsKeptFor > now }
            self.drop(pair, in: room)
        }
        return taken.sorted { $0.at < $1.at }.map(\.payload)
    }

    /// Forgets what concerns somebody who has no seat any more.
    package mutating func forget(_ participant: PrincipalID, in room: UUIDText) {
        for pair in (self.kept[room] ?? [:]).keys where pair.from == participant || pair.to == participant {
            self.drop(pair, in: room)
        }
    }

    package mutating func forget(_ room: UUIDText) {
        for pair in (self.kept[room] ?? [:]).keys { self.drop(pair, in: room) }
        self.marks[room] = nil
    }

    /// Forgets what is too old, and the marks of rooms that are not in memory.
    package mutating func age(at now: Timestamp, keeping isKept: (UUIDText) -> Bool) {
        for (room, pairs) in self.kept {
            for (pair, list) in pairs where list.allSatisfy({ $0.at + RoomLimits.signalsKeptFor <= now }) {
                self.drop(pair, in: room)
            }
        }
        self.marks = self.marks.filter { isKept($0.key) }
    }

    private mutating func drop(_ pair: Pair, in room: UUIDText) {
        guard let list = self.kept[room]?.removeValue(forKey: pair) else { return }
        self.bytes -= Self.size(of: list)
        if self.kept[room]?.isEmpty == true { self.kept[room] = nil }
    }
}
