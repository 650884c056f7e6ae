import Bus
import ClusterContract
import Contract
import Synchronization

/// State of a `MemoryBus`.
struct MemoryBusState {
    /// A single server, until one of many parts is replaced.
    var replacements = Replacements.none
    var isAway = false
    /// Calls until one whose answer is lost.
    var callsUntilLoss: Int?
    /// Milliseconds.
    var time: UInt64 = 0
    /// How often something was leased: no two records have one name.
    var leases: UInt64 = 0
    var streams: [String: MemoryStream] = [:]
    var keys: [KeyName: MemoryKey] = [:]
    var subscriptions: [Int: MemorySubscription] = [:]
    var lastSubscription = 0
    /// Readers that found nothing. All of them look again after an append.
    var waiters: [MemoryWaiter] = []

    /// So many that names of one test are hardly ever in one part.
    private static let parts = 4_096

    /// The same in every run.
    private static func part(of name: String) -> Int {
        Int(name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 } % UInt32(self.parts))
    }

    mutating func replacePart(of name: String) {
        if !self.replacements.areCounted { self.replacements = Replacements(parts: Self.parts, part: Self.part) }
        self.replacements.note([Self.part(of: name)])
    }

    mutating func takeWaiters() -> [MemoryWaiter] {
        defer { self.waiters = [] }
        return self.waiters
    }

    mutating func value(of key: KeyName) -> [UInt8]? {
        guard let stored = self.keys[key] else { return nil }
        guard stored.end > .now else {
            self.keys[key] = nil
            return nil
        }
        return stored.value
    }
}

extension [StreamBatch] {
    /// As a server's answer is kept (`BusLimits.readBytesMax`): entries without room are left out, and those behind them.
    func cut() -> [StreamBatch] {
        var bytes = 0
        return self.map { batch in
            var kept = batch
            kept.entries = []
            for entry in batch.entries {
                guard bytes == 0 || bytes + entry.bytes.count <= BusLimits.readBytesMax else { break }
                bytes += entry.bytes.count
                kept.entries.append(entry)
            }
            kept.isCut = kept.entries.count < batch.entries.count
            return kept
        }
    }
}

struct MemoryKey {
    var value: [UInt8]
    var end: ContinuousClock.Instant

    init(_ value: [UInt8], for timeToLive: Duration) {
        self.value = value
        self.end = .now + timeToLive
    }
}

struct MemorySubscription: Sendable {
    var channels: Set<String>
    var onEvent: @Sendable (SubscriptionEvent) -> Void
}

struct MemoryStream {
    private struct Pending {
        var consumer: String
        var since: ContinuousClock.Instant
    }

    private struct Group {
        var last = EntryID.start
        var pending: [EntryID: Pending] = [:]
    }

    /// Oldest first.
    private(set) var entries: [StreamEntry] = []
    private var last = EntryID.start
    private var groups: [String: Group] = [:]

    /// - Parameter milliseconds: by the server's clock.
    mutating func append(_ bytes: [UInt8], at milliseconds: UInt64 = 1) {
        self.last.milliseconds = max(self.last.milliseconds, milliseconds)
        self.last.sequence += 1
        self.entries.append(StreamEntry(id: self.last, bytes: bytes))
        if self.entries.count > BusLimits.streamEntriesMax { self.entries.removeFirst() }
    }

    func entries(after id: EntryID, limit: Int) -> [StreamEntry] {
        Array(self.entries.lazy.drop { $0.id <= id }.prefix(limit))
    }

    mutating func remove(where isGone: (EntryID) -> Bool) {
        self.entries.removeAll { isGone($0.id) }
    }

    /// A server that loses its memory forgets its groups. Its numbers go on, for they are its clock.
    mutating func forgetGroups() { self.groups = [:] }

    mutating func take(group name: String, consumer: String, limit: Int) -> [StreamEntry] {
        var group = self.groups[name] ?? Group()
        let taken = self.entries(after: group.last, limit: limit)
        for entry in taken { group.pending[entry.id] = Pending(consumer: consumer, since: .now) }
        group.last = taken.last?.id ?? group.last
        self.groups[name] = group
        return taken
    }

    mutating func claim(group name: String, consumer: String, idle: Duration, limit: Int) -> [StreamEntry] {
        guard let pending = self.groups[name]?.pending else { return [] }
        let now = ContinuousClock.now
        let claimed = self.entries.lazy
            .filter { entry in pending[entry.id].map { now - $0.since >= idle } ?? false }
            .prefix(limit)
        for entry in claimed { self.groups[name]?.pending[entry.id] = Pending(consumer: consumer, since: now) }
        return Array(claimed)
    }

    mutating func acknowledge(_ ids: Set<EntryID>, group: String) {
        self.entries.removeAll { ids.contains($0.id) }
        for id in ids { self.groups[group]?.pending[id] = nil }
    }
}

/// Lets one task wait until another resumes it, in either order. Resuming twice changes nothing.
final class MemoryWaiter: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Void, Never>)
        case resumed
    }

    private let state = Mutex(State.new)

    func wait() async {
        await withCheckedContinuation { continuation in
            let isResumed = self.state.withLock { state in
                if case .resumed = state { return true }
                state = .waiting(continuation)
                return false
            }
            if isResumed { continuation.resume() }
        }
    }

    func resume() {
        let waiting: CheckedContinuation<Void, Never>? = self.state.withLock { state in
            defer { state = .resumed }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume()
    }
}
