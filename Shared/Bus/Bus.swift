package import ClusterContract
import Contract

/// Messages between services, and keys that may be lost. No Redis in here.
///
/// Three parts, so that a user asks only for what it needs. `JobBus`: Jobs, kept until acknowledged. `NoticeBus`:
/// Notices, which only present subscribers receive. `KeyBus`: keys with a time to live.
package protocol Bus: JobBus, NoticeBus, KeyBus {}

package enum BusError: Error, Equatable {
    /// The bus cannot be reached. For a write: it was not written, or it was written and the answer was lost.
    /// Retrying is safe for Jobs (they bear repetition) and Notices.
    case unavailable
    /// Too much is waiting in this process already (`BusLimits`), or the server is out of memory. Nothing was written:
    /// shed load, do not retry at once.
    case full
    /// The server refused the command. A bug or a wrong configuration; the text is the server's.
    case refused(String)
}

package enum BusLimits {
    /// How long a process's canary outlives the last look at it (`Keyspace.canary`).
    package static let canaryTTL = Duration.seconds(3_600)
    /// Between two times that a look makes the canary live longer.
    package static let canaryExtendedEvery = Duration.seconds(10)
    /// Commands that one process may have under way on one connection before `BusError.full`.
    package static let commandsInFlightMax = 65_536
    /// Bytes waiting to be written to the server before `BusError.full`.
    package static let bytesWaitingMax = 64 * 1_024 * 1_024
    /// Entries kept in one stream; beyond it the oldest are dropped by the server. A dropped Job was never
    /// acknowledged, so its sender retries. The producer sheds load long before (`depth(of:)`).
    package static let streamEntriesMax = 100_000
    /// Bytes of Jobs that one `read` holds, whatever stands in the streams: a router's container has 256 MiB, and holds several
    /// times what it reads.
    package static let readBytesMax = 24 * 1_024 * 1_024
    /// Bytes of the longest Job: a frame, and a quarter more of what services add.
    package static let entryBytesMax = Limits.frameBytesMax / 4 * 5
    /// Streams of which one `read` holds an entry each, however long. A read of as many, with one entry from each, is never cut.
    package static let readStreamsMax = BusLimits.readBytesMax / BusLimits.entryBytesMax
}

/// The position of a Job in its stream: the server's clock in milliseconds, and a counter within one.
package struct EntryID: Hashable, Comparable, Sendable {
    package var milliseconds: UInt64
    package var sequence: UInt64

    /// Before every entry.
    package static let start = EntryID(milliseconds: 0, sequence: 0)

    package init(milliseconds: UInt64, sequence: UInt64) {
        self.milliseconds = milliseconds
        self.sequence = sequence
    }

    package static func < (a: EntryID, b: EntryID) -> Bool {
        (a.milliseconds, a.sequence) < (b.milliseconds, b.sequence)
    }
}

/// One Job as it stands in a stream, not yet decoded.
package struct StreamEntry: Sendable {
    package var id: EntryID
    package var bytes: [UInt8]

    package init(id: EntryID, bytes: [UInt8]) {
        self.id = id
        self.bytes = bytes
    }
}

/// The entries read from one stream.
package struct StreamBatch: Sendable {
    package var stream: String
    package var entries: [StreamEntry]
    /// More was asked for and there, and had no room (`BusLimits.readBytesMax`). `entries` may be empty then.
    package var isCut: Bool

    package init(stream: String, entries: [StreamEntry], isCut: Bool = false) {
        self.stream = stream
        self.entries = entries
        self.isCut = isCut
    }
}

package protocol JobBus: Sendable {
    /// Appends without waiting. Appends made in one turn of the caller travel in one write.
    ///
    /// Jobs of one process stand in a stream in the order in which it appended them. So the bus sends none again by itself: newer
    /// ones may have come meanwhile.
    /// - Parameter failed: called once if the Job was not, or perhaps not, written. Never called on success.
    ///   It runs on the bus's own thread: do little there.
    func append(_ bytes: [UInt8], to stream: String, failed: @escaping @Sendable (BusError) -> Void)

    /// Appends and waits until the server has it.
    func append(_ bytes: [UInt8], to stream: String) async throws(BusError)

    /// Reads what stands behind each position, waiting up to `blockFor` for the first entry.
    /// For streams with one reader: nothing is marked as taken, the position is the reader's own. No more than
    /// `BusLimits.readBytesMax` is kept of what comes; the rest is for the next read, and `isCut` says so.
    /// - Parameters:
    ///   - positions: streams and the last entry already read of each (`.start` for all).
    ///   - limit: entries per stream.
    /// - Returns: streams that had something; empty when the time was up or the task was cancelled.
    func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamBatch]

    /// Removes the entry at `id` and all before it. Does not wait.
    func trim(_ stream: String, through id: EntryID)

    /// Takes entries for one consumer of a group; each entry goes to one consumer, and stays assigned to it until
    /// acknowledged. The group is made if it does not exist (also after the server lost everything).
    /// Empty when the time was up or the task was cancelled; what was just then assigned is left to `claim`.
    func take(
        from stream: String, group: String, consumer: String, limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamEntry]

    /// Takes over entries that another consumer of the group holds unacknowledged for longer than `idle`.
    func claim(
        from stream: String, group: String, consumer: String, idle: Duration, limit: Int
    ) async throws(BusError) -> [StreamEntry]

    /// Ends these entries: acknowledged and removed. Does not wait; an entry whose end got lost comes again.
    func acknowledge(_ ids: [EntryID], in stream: String, group: String)

    /// Entries now waiting in each stream, in the order asked.
    func depth(of streams: [String]) async throws(BusError) -> [Int]

    /// The time in milliseconds by the clock that numbers entries (`EntryID.milliseconds`).
    func time() async throws(BusError) -> UInt64

    /// Waits by a timer of the bus's own thread. A caller that runs there is not woken through other threads, as by `Task.sleep`.
    /// - Throws: when the task is cancelled.
    func pause(for time: Duration) async throws(CancellationError)
}

extension JobBus {
    package func pause(for time: Duration) async throws(CancellationError) {
        do {
            try await Task.sleep(for: time)
        } catch {
            throw CancellationError()
        }
    }
}

package protocol NoticeBus: Sendable {
    /// Publishes without waiting for the answer.
    /// - Parameter heard: called once with the number of subscribers that got it, or the reason why it may have been lost.
    func publish(_ bytes: [UInt8], to channel: String, heard: (@Sendable (Result<Int, BusError>) -> Void)?)

    /// Subscribes until the surrounding task is cancelled, reconnecting as often as needed.
    /// - Parameter onEvent: called on the bus's own thread, in order.
    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void
    ) async throws(BusError)
}

package enum SubscriptionEvent: Sendable {
    /// Notices are heard from now on. Sent again after each reconnect; what was published in between is lost.
    case subscribed
    /// The connection is gone. Notices are missed until the next `subscribed`.
    case subscriptionLost
    case notice(channel: String, bytes: [UInt8])
}

package protocol KeyBus: Sendable {
    func get(_ key: KeyName) async throws(BusError) -> [UInt8]?
    func get(_ keys: [KeyName]) async throws(BusError) -> [[UInt8]?]
    /// As `get`, for a caller that does not wait. The answer may be delayed until the bus has something else to do.
    /// - Parameter heard: called once, on the bus's thread.
    func getWithoutWaiting(_ keys: [KeyName], heard: @escaping @Sendable (Result<[[UInt8]?], BusError>) -> Void)
    /// Reads and deletes in one step: of several callers only one gets the value.
    func take(_ key: KeyName) async throws(BusError) -> [UInt8]?
    func set(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) async throws(BusError)
    /// As `set`, without waiting. Lost silently while the bus is away.
    func setWithoutWaiting(_ key: KeyName, to value: [UInt8], for timeToLive: Duration)
    /// Sets the key and reads what stood there, in one step: of several callers each sees the one before it. Does not wait.
    /// - Parameter heard: called once, on the bus's thread, with what stood there.
    func exchangeWithoutWaiting(
        _ key: KeyName, for value: [UInt8], for timeToLive: Duration,
        heard: @escaping @Sendable (Result<[UInt8]?, BusError>) -> Void)
    func delete(_ keys: [KeyName]) async throws(BusError)
    /// Deletes the key only if it still holds `value`. Does not wait.
    func deleteWithoutWaiting(_ key: KeyName, ifStill value: [UInt8])
    /// Counts one use of a rate under `key`, for all processes together, by the server's clock (see `Pace`).
    /// - Returns: `nil` if it is allowed now, else the milliseconds until the next one is.
    func admit(_ key: KeyName, _ allowance: Allowance) async throws(BusError) -> Int64?
    /// Takes several uses of a rate under `key` at once, by the same count as `admit`. The process gives them out.
    func lease(_ key: KeyName, _ request: RateRequest) async throws(BusError) -> RateGrant
    /// Extends the time to live of keys. Does not wait, and creates no keys.
    func extendWithoutWaiting(_ keys: [KeyName], for timeToLive: Duration)
    /// How often each part of the bus has been replaced by a copy, or has come back.
    var replacements: Replacements { get }
}

extension KeyBus {
    package var replacements: Replacements { .none }
}

extension KeyBus {
    package func getWithoutWaiting(_ keys: [KeyName], heard: @escaping @Sendable (Result<[[UInt8]?], BusError>) -> Void)
    {
        // Bare: it lasts no longer than one answer of the bus.
        Task {
            do throws(BusError) {
                heard(.success(try await self.get(keys)))
            } catch {
                heard(.failure(error))
            }
        }
    }
}

// The typed face: a Notice cannot be put on a stream by mistake.

extension JobBus {
    package func append<J: Job>(_ job: J, to stream: StreamName<J>) async throws(BusError) {
        try await self.append(job.encoded(), to: stream.name)
    }

    package func append<J: Job>(
        _ job: J, to stream: StreamName<J>, failed: @escaping @Sendable (BusError) -> Void
    ) {
        self.append(job.encoded(), to: stream.name, failed: failed)
    }
}

extension NoticeBus {
    package func publish<N: Notice>(_ notice: N, to channel: ChannelName<N>) {
        self.publish(notice.encoded(), to: channel.name, heard: nil)
    }
}
