import Bus

/// Which master serves which slot, as one node of a Redis Cluster has told it.
struct RedisTopology: Equatable {
    /// Each has one slot at least.
    private(set) var masters: [RedisAddress] = []
    /// For each slot the index of its master; -1 if nobody serves it.
    private var masterOfSlot = [Int16](repeating: -1, count: HashSlot.count)
    /// The cluster's epoch. It rises with each election, and a node that was cut off lags behind.
    var epoch: UInt64 = 0

    /// Nobody serves anything.
    init() {}

    /// The master's place in `masters`.
    func index(of slot: Int) -> Int? {
        let index = self.masterOfSlot[slot]
        return index < 0 ? nil : Int(index)
    }

    func master(of slot: Int) -> RedisAddress? { self.index(of: slot).map { self.masters[$0] } }

    /// Whether every slot has a master.
    var isWhole: Bool { !self.masterOfSlot.contains(-1) }

    mutating func assign(_ slots: ClosedRange<Int>, to address: RedisAddress) {
        let index = self.masters.firstIndex(of: address) ?? self.masters.endIndex
        if index == self.masters.endIndex { self.masters.append(address) }
        for slot in slots { self.masterOfSlot[slot] = Int16(index) }
    }

    /// Slots that had another master in `older`, or none.
    func changes(since older: RedisTopology) -> [Int] {
        (0..<HashSlot.count).filter { self.master(of: $0) != older.master(of: $0) }
    }

    func slots(of address: RedisAddress) -> [Int] {
        guard let index = self.masters.firstIndex(of: address) else { return [] }
        return (0..<HashSlot.count).filter { self.masterOfSlot[$0] == Int16(index) }
    }
}

extension RedisTopology {
    /// Reads the answer to CLUSTER SLOTS: ranges of slots, each with its master and its replicas.
    /// - Parameter asked: the node that answers. It stands for a node whose address it does not know: itself.
    init(_ cursor: inout ReplyCursor, from asked: RedisAddress) throws(BusError) {
        for _ in 0..<(try cursor.array() ?? 0) {
            guard let parts = try cursor.array(), parts >= 3 else { throw .refused("CLUSTER SLOTS of an unknown form") }
            let (first, last) = (try cursor.integer(), try cursor.integer())
            guard 0 <= first, first <= last, last < HashSlot.count, let fields = try cursor.array(), fields >= 2 else {
                throw .refused("CLUSTER SLOTS of an unknown form")
            }
            let host = try cursor.bytes().map { String(decoding: $0, as: UTF8.self) } ?? ""
            let port = try cursor.integer()
            for _ in 2..<fields { try cursor.skip() }
            for _ in 3..<parts { try cursor.skip() }
            self.assign(
                first...last, to: RedisAddress(host: host.isEmpty || host == "?" ? asked.host : host, port: port))
        }
    }

    /// Reads the answer to CLUSTER INFO.
    /// - Returns: the epoch; `nil` if the node says that the cluster serves nothing now.
    static func epoch(in info: String) -> UInt64? {
        var values: [Substring: Substring] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        guard values["cluster_state"] == "ok" else { return nil }
        return values["cluster_current_epoch"].flatMap { UInt64($0) }
    }
}
