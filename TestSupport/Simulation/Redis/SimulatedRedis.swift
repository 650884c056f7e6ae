import Bus
import ClusterContract
import Contract

@testable import TestKit

/// The server of the bus. Commands reach it one after the other, over `RedisLink`s.
final class SimulatedRedis {
    /// A caller that waits for entries.
    final class Waiter {
        fileprivate let streams: [String]
        fileprivate let answer: () -> Bool

        /// - Parameters:
        ///   - streams: where entries may arrive.
        ///   - answer: checks again, and returns true if it has found entries or waits no more.
        init(for streams: [String], _ answer: @escaping () -> Bool) {
            self.streams = streams
            self.answer = answer
        }
    }

    private(set) var streams: [String: MemoryStream] = [:]
    private var keys: [KeyName: MemoryKey] = [:]
    private var waiters: [Waiter] = []
    /// The machine's time at which the server's clock was 0. Nil: entries have numbers and no times, so they do not
    /// age.
    private var clockStart: Int64?
    /// Received Notices and their bytes, by channel. Nil: not counted.
    var heard: [String: Growth.Heard]?
    /// The links of all processes, in the order of creation.
    var links: [RedisLink] = []
    /// Nil for a single server.
    private(set) var masters: SimulatedMasters?
    /// The Jobs that were read, for clusters only.
    private(set) var jobs = ReadJobs()
    private var lastOrder = 0
    /// The last order of each process, by stream.
    private var lastOrders: [ObjectIdentifier: [String: Int]] = [:]

    // MARK: Time

    func startClock() { self.clockStart = Machine.current.now }

    /// Milliseconds.
    var time: UInt64 { self.clockStart.map { UInt64(Machine.current.now - $0) / 1_000_000 } ?? 0 }

    // MARK: Faults

    /// Deletes everything except subscriptions.
    /// - Parameter isNew: a new server, whose entry numbers start again.
    func forgetEverything(isNew: Bool) {
        if let masters {
            // Connected processes see the masters restart.
            masters.restart()
            for link in self.links { link.mastersRestarted() }
            self.jobs.forget { _ in true }
        }
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

    /// - Parameter isNew: the new master is empty.
    func takeOver(_ master: Int, isNew: Bool) {
        guard let masters, masters.away.contains(master) else { return }
        masters.takeOver(master, isNew: isNew, &self.streams, &self.keys)
        self.jobs.forget { SimulatedMasters.master(of: $0) == master }
        for (name, stream) in self.streams where SimulatedMasters.master(of: name) == master {
            for entry in stream.entries { self.jobs.appended(entry.id, to: name) }
        }
        for link in self.links { link.masterTookOver(master) }
        self.lookAgain()
    }

    /// Waiting callers may reach more masters than before.
    func lookAgain() { self.waiters.removeAll { $0.answer() } }

    /// Whether any of these names belongs to a lost master.
    func isAway(_ names: [String]) -> Bool { self.masters?.isAway(names) ?? false }

    // MARK: Streams

    /// The place of a Job among all Jobs that processes have given to their buses.
    func nextOrder() -> Int {
        self.lastOrder += 1
        return self.lastOrder
    }

    /// A bus sends no Job again by itself: newer Jobs may have arrived meanwhile.
    /// - Parameter order: the place of the Job when its process gave it to the bus.
    func append(_ bytes: [UInt8], to stream: String, order: Int, from link: RedisLink) {
        let last = self.lastOrders[ObjectIdentifier(link)]?[stream] ?? 0
        if order < last {
            World.current.record.fault("a Job of \(link.host.name) came to \(stream) behind newer ones")
        }
        self.lastOrders[ObjectIdentifier(link), default: [:]][stream] = max(order, last)
        self.append(bytes, to: stream)
    }

    private func append(_ bytes: [UInt8], to stream: String) {
        self.streams[stream, default: MemoryStream()].append(bytes, at: max(self.time, 1))
        if self.masters != nil { self.jobs.appended(self.streams[stream]!.entries.last!.id, to: stream) }
        self.waiters.removeAll { $0.streams.contains(stream) && $0.answer() }
    }

    func wait(_ waiter: Waiter) { self.waiters.append(waiter) }

    /// The caller waits no more.
    func leave(_ waiter: Waiter) { self.waiters.removeAll { $0 === waiter } }

    func read(_ positions: [(stream: String, after: EntryID)], limit: Int, over link: RedisLink) -> [StreamBatch] {
        let batches = positions.compactMap { position -> StreamBatch? in
            guard link.reaches([position.stream]) else { return nil }
            let entries = self.streams[position.stream]?.entries(after: position.after, limit: limit) ?? []
            return entries.isEmpty ? nil : StreamBatch(stream: position.stream, entries: entries)
        }.cut()
        if self.masters != nil { for batch in batches { self.jobs.read(batch, over: link) } }
        return batches
    }

    /// - Returns: how many Jobs were removed unread.
    func trim(_ stream: String, through id: EntryID) -> Int {
        self.change(stream) { $0.remove { $0 <= id } }
        return self.jobs.trimmed(stream, through: id)
    }

    func change<T>(_ stream: String, _ body: (inout MemoryStream) -> T) -> T {
        body(&self.streams[stream, default: MemoryStream()])
    }

    func depth(_ stream: String) -> Int { self.streams[stream]?.entries.count ?? 0 }

    /// Whether all streams whose names begin so are empty.
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

    /// - Returns: the number of receivers.
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
    /// Removes all entries. Numbers continue, and groups are forgotten.
    fileprivate mutating func removeAll() {
        self.remove { _ in true }
        self.forgetGroups()
    }
}
