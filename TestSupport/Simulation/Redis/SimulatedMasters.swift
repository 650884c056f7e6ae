import ClusterContract
import Contract

@testable import TestKit

/// Masters of a Redis Cluster, each with a replica. The replica is behind, so a new master lacks the last writes.
final class SimulatedMasters {
    static let count = 3
    /// How far a replica may be behind its master; each world chooses one.
    static let lags: [Int64] = [.milliseconds(50), .milliseconds(300), .seconds(2)]
    /// How long an election takes.
    static let election: ClosedRange<Int64> = .milliseconds(500)...(.seconds(4))
    /// After this time every process has fetched the topology (`RedisLimits.topologyEvery`).
    static let learnedMax: Int64 = .seconds(5)
    /// For this long listeners may not have reached a new master (`RedisLimits.listenersMissing`).
    static let settling: Int64 = .seconds(3)
    /// How long listeners take to reach a new master (`RedisLimits.reconnect`).
    static let listenersMax: Int64 = .milliseconds(1_200)

    let lagMax: Int64
    private(set) var away: Set<Int> = []
    /// Grows with each loss of a master: answers under way are lost with it.
    private var losses = [Int](repeating: 0, count: count)
    private var settledAt = [Int64](repeating: 0, count: count)
    /// The last time at which a master was away, or just replaced.
    private(set) var lastTrouble = Int64.min
    /// The data of the replicas.
    private var copy: (streams: [String: MemoryStream], keys: [KeyName: MemoryKey]) = ([:], [:])

    init(lagMax: Int64) { self.lagMax = lagMax }

    /// The master of a name, the same in every run.
    static func master(of name: String) -> Int {
        Int(name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 } % UInt32(self.count))
    }

    func isAway(_ names: [String]) -> Bool {
        !self.away.isEmpty && names.contains { self.away.contains(Self.master(of: $0)) }
    }

    func losses(of names: [String]) -> Int {
        Set(names.map(Self.master)).reduce(0) { $0 + self.losses[$1] }
    }

    /// Whether a Notice without receivers does not prove that its listeners are gone.
    func isSettling(_ channel: String) -> Bool { Machine.current.now < self.settledAt[Self.master(of: channel)] }

    func replicate(_ streams: [String: MemoryStream], _ keys: [KeyName: MemoryKey]) { self.copy = (streams, keys) }

    func lose(_ master: Int) {
        self.away.insert(master)
        self.losses[master] += 1
        self.settledAt[master] = .max
        self.lastTrouble = .max
    }

    /// All masters restart.
    func restart() { for master in 0..<Self.count { self.losses[master] += 1 } }

    /// - Parameters:
    ///   - streams, keys: the cluster's data. The new master's part becomes the replica's data.
    ///   - isNew: the replica was empty, and its entry numbers start again.
    func takeOver(
        _ master: Int, isNew: Bool, _ streams: inout [String: MemoryStream], _ keys: inout [KeyName: MemoryKey]
    ) {
        let copy = isNew ? (streams: [:], keys: [:]) : self.copy
        self.away.remove(master)
        self.settledAt[master] = Machine.current.now + Self.settling
        if self.away.isEmpty { self.lastTrouble = Machine.current.now + Self.learnedMax }
        func isOthers(_ name: String) -> Bool { Self.master(of: name) != master }
        streams = streams.filter { isOthers($0.key) }.merging(copy.streams.filter { !isOthers($0.key) }) { $1 }
        keys = keys.filter { isOthers($0.key.name) }.merging(copy.keys.filter { !isOthers($0.key.name) }) { $1 }
    }
}
