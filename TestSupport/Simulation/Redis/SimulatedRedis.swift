import Bus
import Contract

@testable import TestKit

/// What the server of the bus remembers. Commands reach it one after the other, over `RedisLink`s.
final class SimulatedRedis {
    /// Somebody who waits for entries.
    final class Waiter {
        fileprivate let streams: [String]
        fileprivate let answer: () -> Bool

        /// - Parameters:
        ///   - streams: where something may come.
        ///   - answer: looks again; says whether it found something, or waits no more.
        init(for streams: [String], _ answer: @escaping () -> Bool) {
            self.streams = streams
            self.answer = answer
        }
    }

    private(set) var streams: [String: MemoryStream] = [:]
    private var keys: [KeyName: MemoryKey] = [:]
    private var waiters: [Waiter] = []
    /// When the server's clock stood at 0, on the machine's. Nil: entries have numbers and no times, so they stay young.
    private var clockStart: Int64?
    /// What was published, by channel, and reached somebody. Nil: nobody counts.
    var heard: [String: Growth.Heard]?
    /// Every process's link, in the order in which they were made.
    var links: [RedisLink] = []
    /// Nil: there is one server.
    private(set) var masters: SimulatedMasters?

    // MARK: Time

    func startClock() { self.clockStart = Machine.current.now }

    /// Milliseconds.
    var time: UInt64 { self.clockStart.map { UInt64(Machine.current.now - $0) / 1_000_000 } ?? 0 }

    // MARK: Faults

    /// Everything is gone but who listens.
    /// - Parameter isNew: it is another server, whose entries begin to count anew.
    func forgetEverything(isNew: Bool) {
        self.keys = [:]
        if isNew {
            self.streams = [:]
            if self.clockStart != nil { self.startClock() }
        } else {
            for name in self.streams.keys { self.streams[name]!.removeAll() }
        }
    }

    // MARK: Masters

    func becomeCluster() {
        let lag = SimulatedMasters.lags.randomElement(using: &Machine.current.random)!
        self.masters = SimulatedMasters(lagMax: lag)
        self.replicate()
    }

    private func replicate() {
        guard let masters else { return }
        masters.replicate(self.streams, self.keys)
        Machine.current.after(Int64.random(in: 0...masters.lagMax, using: &Machine.current.random)) { [weak self] in
            self?.replicate()
        }
    }

    func lose(_ master: Int) {
        guard let masters, !masters.away.contains(master) else { return }
        masters.lose(master)
        for link in self.links { link.masterWasLost(master) }
    }

    func takeOver(_ master: Int) {
        guard let masters, masters.away.contains(master) else { return }
        masters.takeOver(master, &self.streams, &self.keys)
        for link in self.links { link.masterTookOver(master) }
        self.waiters.removeAll { $0.answer() }
    }

    /// Whether any of these names is a lost master's.
    func isAway(_ names: [String]) -> Bool { self.masters?.isAway(names) ?? false }

    // MARK: Streams

    func append(_ bytes: [UInt8], to stream: String) {
        self.streams[stream, default: MemoryStream()].append(bytes, at: max(self.time, 1))
        self.waiters.removeAll { $0.streams.contains(stream) && $0.answer() }
    }

    func wait(_ waiter: Waiter) { self.waiters.append(waiter) }

    /// It waits no more.
    func leave(_ waiter: Waiter) { self.waiters.removeAll { $0 === waiter } }

    func read(_ positions: [(stream: String, after: EntryID)], limit: Int) -> [StreamBatch] {
        positions.compactMap { position in
            guard !self.isAway([position.stream]) else { return nil }
            let entries = self.streams[position.stream]?.entries(after: position.after, limit: limit) ?? []
            return entries.isEmpty ? nil : StreamBatch(stream: position.stream, entries: entries)
        }.cut()
    }

    func change<T>(_ stream: String, _ body: (inout MemoryStream) -> T) -> T {
        body(&self.streams[stream, default: MemoryStream()])
    }

    func depth(_ stream: String) -> Int { self.streams[stream]?.entries.count ?? 0 }

    /// Nothing stands in any stream whose name begins so.
    func isEmpty(_ prefix: String) -> Bool {
        self.streams.allSatisfy { !$0.key.hasPrefix(prefix) || $0.value.entries.isEmpty }
    }

    // MARK: Keys

    func value(of key: KeyName) -> [UInt8]? {
        guard let stored = self.keys[key] else { return nil }
        guard stored.end > .now else {
            self.keys[key] = nil
            return nil
        }
        return stored.value
    }

    func set(_ key: KeyName, to value: [UInt8]?, for timeToLive: Duration = .zero) {
        self.keys[key] = value.map { MemoryKey($0, for: timeToLive) }
    }

    // MARK: Channels

    /// - Returns: how many listen.
    func publish(_ bytes: [UInt8], to channel: String) -> Int {
        var count = 0
        for link in self.links where link.hears(channel) {
            count += 1
            link.deliver(channel, bytes)
        }
        self.heard?[channel, default: Growth.Heard()].notices += count
        self.heard?[channel]!.bytes += count * bytes.count
        return count
    }
}

extension MemoryStream {
    /// Its numbers go on, its groups are forgotten.
    fileprivate mutating func removeAll() {
        self.remove { _ in true }
        self.forgetGroups()
    }
}
