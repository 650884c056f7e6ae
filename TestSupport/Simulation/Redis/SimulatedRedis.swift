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
    /// Of a cluster alone.
    private(set) var jobs = ReadJobs()
    private var lastOrder = 0
    /// Of each process, by stream.
    private var lastOrders: [ObjectIdentifier: [String: Int]] = [:]

    // MARK: Time

    func startClock() { self.clockStart = Machine.current.now }

    /// Milliseconds.
    var time: UInt64 { self.clockStart.map { UInt64(Machine.current.now - $0) / 1_000_000 } ?? 0 }

    // MARK: Faults

    /// Everything is gone but who listens.
    /// - Parameter isNew: it is another server, whose entries begin to count anew.
    func forgetEverything(isNew: Bool) {
        if let masters {
            // Whoever is connected sees them come back.
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

    /// - Parameter isNew: what takes its place has nothing.
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

    /// Who waits may reach more than before.
    func lookAgain() { self.waiters.removeAll { $0.answer() } }

    /// Whether any of these names is a lost master's.
    func isAway(_ names: [String]) -> Bool { self.masters?.isAway(names) ?? false }

    // MARK: Streams

    /// The place of a Job among all that processes have given to their buses.
    func nextOrder() -> Int {
        self.lastOrder += 1
        return self.lastOrder
    }

    /// A bus sends no Job again by itself: newer ones may have come meanwhile.
    /// - Parameter order: when its process gave it to the bus.
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

    /// It waits no more.
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

    /// - Returns: how many left unread.
    func trim(_ stream: String, through id: EntryID) -> Int {
        self.change(stream) { $0.remove { $0 <= id } }
        return self.jobs.trimmed(stream, through: id)
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
