import Bus
import ClusterContract
import Contract
import Jobs
import LocalStack
import Logging
import Store
import TestKit
import Testing

/// Against a Postgres of its own, because leases are its locks.
@Suite(.timeLimit(.minutes(20))) struct PartitionWorkerTests {
    @Test func whoJoinsGetsItsPartAndWhoDrainsLeavesAll() async throws {
        try await Bench.run { bench in
            let (one, two) = (bench.owner(), bench.owner())
            try await bench.working([one]) {
                await one.heard { $0 == .owns(CallShare.count) }
                try await bench.working([two]) {
                    await two.heard { $0 == .owns(CallShare.count / 2) }
                    #expect(await one.owned.union(await two.owned).count == CallShare.count)
                    await one.drain()
                    #expect(await one.owned.isEmpty)
                    await two.heard { $0 == .owns(CallShare.count) }
                }
            }
        }
    }

    @Test func aJobIsReadOnceAndLeavesItsStream() async throws {
        try await Bench.run { bench in
            let owner = bench.owner()
            try await bench.working([owner]) {
                for job in [1, 2, 3] as [UInt8] {
                    try await bench.append(job, to: Int(job) % 2)
                    #expect(await owner.heard { $0.isJob } == .job(job, isSingle: false))
                }
                await owner.drain()
            }
            #expect(try await bench.depth() == 0)
        }
    }

    @Test func theJobThatTheDatabaseRefusesIsFoundAndTheOthersAreDone() async throws {
        try await Bench.run { bench in
            for job in [1, Owner.poison, 2] { try await bench.append(job, to: 0) }
            let owner = bench.owner()
            try await bench.working([owner]) {
                var seen: [Owner.Event] = []
                while seen.count < 3 { seen.append(await owner.heard { $0.isJob }) }
                #expect(
                    seen == [
                        .job(1, isSingle: true), .job(Owner.poison, isSingle: true), .job(2, isSingle: true),
                    ])
                // It does not stay so careful for ever.
                for job: UInt8 in 14...200 {
                    try await bench.append(job, to: 0)
                    if await owner.heard({ $0.isJob }) == .job(job, isSingle: false) { break }
                }
                await owner.drain()
            }
            #expect(try await bench.depth() == 0)
        }
    }

    @Test func positionsStartOverAfterRedisWasEmptied() async throws {
        try await Bench.run { bench in
            let owner = bench.owner()
            try await bench.working([owner]) {
                for job in [1, 2] as [UInt8] {
                    try await bench.append(job, to: 0)
                    await owner.heard { $0.isJob }
                }
                bench.bus.forgetEverything()
                // Its number is that of the first Job.
                try await bench.append(3, to: 0)
                #expect(await owner.heard { $0.isJob } == .job(3, isSingle: false, isReadAgain: true))
                await owner.drain()
            }
            #expect(try await bench.depth() == 0)
        }
    }

    /// Long Jobs stand in all streams, more than one read holds, and behind each comes another.
    @Test func eachStreamIsReadWhateverStandsInTheOthers() async throws {
        let bus = MemoryBus()
        for partition in Partition.all { try await bus.append(Reader.job, to: partition.stream) }
        try await Bench.run { bench in
            let reader = Reader(
                bus: bus,
                store: PostgresConnection(
                    PostgresConfiguration(url: bench.database.url(), applicationName: "jobs-tests"), logger: quiet))
            await reader.read(3)
        }
    }

    /// A release with 32 partitions owns one of them. Nobody of ours may own anything, and nothing is left behind.
    @Test func twoDivisionsOfTheSameWorkAreNotAtWorkTogether() async throws {
        try await Bench.run { bench in
            func session() async throws -> PostgresConnection {
                let session = PostgresConnection(
                    PostgresConfiguration(url: bench.database.url(), applicationName: "jobs-tests"), logger: quiet)
                try await session.connect()
                return session
            }
            let leases = Leases.partitions(Partition.count, frozenAfter: .seconds(60))
            let (before, now) = (try await session(), try await session())
            let take = Statement<Bool>(value: "SELECT pg_try_advisory_lock(7001, 31)")
            #expect(try await before.query(take))
            #expect(try await !now.query(leases.join))
            await now.close()
            // Ours left all that it had asked for.
            let all = Statement<Bool>(
                value: "SELECT bool_and(pg_try_advisory_lock(7001, g.share)) FROM generate_series(0, 30) AS g (share)")
            while try await !before.query(all) {
                _ = try await before.query(
                    Statement<Int>(affecting: "SELECT pg_advisory_unlock(7001, g) FROM generate_series(0, 30) g"))
            }
            await before.close()
            let (one, two, late) = (try await session(), try await session(), try await session())
            while try await !one.query(leases.join) {}
            #expect(try await two.query(leases.join))
            #expect(try await !late.query(take))
            await one.close()
            #expect(try await !late.query(take))
            await two.close()
            while try await !late.query(take) {}
            await late.close()
        }
    }

    /// The release before had one owner for a share of live conversations and rooms. There is never an owner of either beside it.
    @Test func noShareHasAnOwnerOfEitherRelease() async throws {
        try await Bench.run { bench in
            func session() async throws -> PostgresConnection {
                let session = PostgresConnection(
                    PostgresConfiguration(url: bench.database.url(), applicationName: "jobs-tests"), logger: quiet)
                try await session.connect()
                return session
            }
            let live = Leases.live(LiveShare.count, frozenAfter: .seconds(60))
            let rooms = Leases.rooms(RoomShare.count, frozenAfter: .seconds(60))
            let (before, now, beside) = (try await session(), try await session(), try await session())
            func take(_ share: Int32) async throws -> Bool {
                try await before.query(Statement<Bool>(value: "SELECT pg_try_advisory_lock(7005, \(share))"))
            }
            func release(_ share: Int32) async throws {
                #expect(try await before.query(Statement<Bool>(value: "SELECT pg_advisory_unlock(7005, \(share))")))
            }
            #expect(try await now.query(live.join))
            #expect(try await beside.query(rooms.join))
            #expect(try await take(3))
            #expect(try await now.query(live.take([2, 3])) == [2])
            #expect(try await beside.query(rooms.take([2, 3])) == [2])
            // The share of the release before does not look free: others are asked for.
            #expect(try await now.query(live.all).taken == [2, 3])
            #expect(try await beside.query(rooms.all).taken == [2, 3])
            // Nothing of what could not be taken is left.
            try await release(3)
            #expect(try await take(3))
            try await release(3)
            #expect(try await now.query(live.all).mine == [2])
            #expect(try await beside.query(rooms.take([3])) == [3])
            #expect(try await !take(2))
            _ = try await now.query(live.giveUp([2]))
            #expect(try await !take(2), "the rooms of the share have an owner")
            _ = try await beside.query(rooms.giveUp([2]))
            #expect(try await take(2))
            #expect(try await now.query(live.take([2])).isEmpty)
            for session in [before, now, beside] { await session.close() }
        }
    }

    /// Other databases of the server may be those of other clusters, which have the same locks.
    @Test func aFrozenOwnerOfAnotherClusterIsLeftAlone() async throws {
        try await Bench.run { bench in
            try await Bench.run { neighbour in
                let rooms = Leases.rooms(RoomShare.count, frozenAfter: .zero)
                func member(_ bench: Bench) async throws -> PostgresConnection {
                    let session = PostgresConnection(
                        PostgresConfiguration(url: bench.database.url(), applicationName: "member"), logger: quiet)
                    try await session.connect()
                    #expect(try await session.query(rooms.join))
                    return session
                }
                let (ours, theirs) = (try await member(bench), try await member(neighbour))
                #expect(try await !ours.query(rooms.endFrozen))
                #expect(try await theirs.query(Statement<Bool>(value: "SELECT true")))
                for session in [ours, theirs] { await session.close() }
            }
        }
    }

    @Test func aFrozenOwnerOfTheReleaseBeforeIsEnded() async throws {
        try await Bench.run { bench in
            let url = bench.database.url()
            let (before, now) = (
                PostgresConnection(PostgresConfiguration(url: url, applicationName: "before"), logger: quiet),
                PostgresConnection(PostgresConfiguration(url: url, applicationName: "now"), logger: quiet)
            )
            for session in [before, now] { try await session.connect() }
            let rooms = Leases.rooms(RoomShare.count, frozenAfter: .zero)
            #expect(try await now.query(rooms.join) && rooms.hasEarlierOwners)
            #expect(try await before.query(Statement<Bool>(value: "SELECT pg_try_advisory_lock(7006, 1)")))
            #expect(try await now.query(rooms.endFrozen))
            await #expect(throws: StoreError.self) {
                _ = try await before.query(Statement<Bool>(value: "SELECT true"))
            }
            for session in [before, now] { await session.close() }
        }
    }

    /// A master of Redis is replaced between a read and the end of its batch.
    @Test func whatWasReadOfAReplacedPartIsNotTrimmed() async throws {
        try await Bench.run { bench in
            let owner = bench.owner(beforeTrim: {
                if $0 == [7], bench.bus.replacements.total == 0 { bench.bus.replacePart(of: CallShare.all[0].stream) }
            })
            try await bench.working([owner]) {
                try await bench.append(6, to: 0)
                #expect(await owner.heard { $0.isJob } == .job(6, isSingle: false))
                try await bench.append(7, to: 0)
                #expect(await owner.heard { $0.isJob } == .job(7, isSingle: false))
                // Read again, and then done with.
                #expect(await owner.heard { $0.isJob } == .job(7, isSingle: false, isReadAgain: true))
                try await bench.append(8, to: 0)
                #expect(await owner.heard { $0.isJob } == .job(8, isSingle: false))
                await owner.drain()
            }
            #expect(try await bench.depth() == 0)
        }
    }

    /// Another share's master is replaced. Neither is a Job read again, nor does one stay that is done.
    @Test func aReplacedPartIsNoOtherShares() async throws {
        try await Bench.run { bench in
            let owner = bench.owner(beforeTrim: {
                if $0 == [7] { bench.bus.replacePart(of: CallShare.all[1].stream) }
            })
            try await bench.working([owner]) {
                try await bench.append(6, to: 0)
                #expect(await owner.heard { $0.isJob } == .job(6, isSingle: false))
                try await bench.append(7, to: 0)
                #expect(await owner.heard { $0.isJob } == .job(7, isSingle: false))
                #expect(await owner.heard { if case .lost = $0 { true } else { false } } == .lost([CallShare.all[1]]))
                #expect(await owner.positions[CallShare.all[0]]! > .start)
                try await bench.append(8, to: 0)
                #expect(await owner.heard { $0.isJob } == .job(8, isSingle: false))
                await owner.drain()
            }
            #expect(try await bench.depth() == 0)
        }
    }

    @Test func whereNothingHappensItLooksAndReadsMoreRarely() async throws {
        try await Bench.run { bench in
            let owner = bench.owner()
            try await bench.working([owner]) {
                await owner.heard { $0 == .owns(CallShare.count) }
                #expect(await owner.looks.allSatisfy { $0.readBlockMax == Owner.readBlockMax })
                let isRare = { @Sendable (look: Owner.Look) in look.readBlockMax == Owner.idleInterval }
                while await owner.looks.count(where: isRare) < 3 { await Task.yield() }
                let rare = await owner.looks.filter(isRare)
                for (look, next) in zip(rare, rare.dropFirst()) { #expect(next.at - look.at > Owner.idleInterval / 2) }
                try await bench.append(1, to: 0)
                await owner.heard { $0.isJob }
                let count = await owner.looks.count
                while await owner.looks.count == count { await Task.yield() }
                #expect(await owner.looks[count].readBlockMax == Owner.readBlockMax)
                await owner.drain()
            }
        }
    }

    /// The database takes the connection and says nothing. An attempt to connect lasts longer than a drain may.
    @Test func aDrainDoesNotWaitForADatabaseThatIsSilent() async throws {
        try await Bench.run(alone: true) { bench in
            await bench.database.server.signal(.pause)
            let owner = bench.owner()
            try await bench.working([owner]) {
                while await !owner.hasBegun { await Task.yield() }
                await owner.drain()
                #expect(await !owner.hasLeft)
                #expect(await !owner.isReady)
                await bench.database.server.signal(.resume)
            }
        }
    }
}

private struct Bench {
    let database: TestDatabase
    let bus = MemoryBus()

    static func run(alone: Bool = false, _ body: (Bench) async throws -> Void) async throws {
        try await TestDatabase.with("jobs", alone: alone) { try await body(Bench(database: $0)) }
    }

    func owner(beforeTrim: @escaping @Sendable ([UInt8]) -> Void = { _ in }) -> Owner {
        let configuration = PostgresConfiguration(url: self.database.url(), applicationName: "jobs-tests")
        return Owner(
            bus: self.bus, store: PostgresConnection(configuration, logger: quiet), beforeTrim: beforeTrim)
    }

    /// Lets owners work during `body`.
    func working(_ owners: [Owner], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            for owner in owners { group.addTask { try? await owner.run() } }
            defer { group.cancelAll() }
            try await body()
        }
    }

    func append(_ job: UInt8, to share: Int) async throws {
        try await self.bus.append([job], to: CallShare.all[share].stream)
    }

    func depth() async throws -> Int {
        try await self.bus.depth(of: CallShare.all.map(\.stream)).reduce(0, +)
    }
}

/// Owns all partitions, and puts another Job behind each that it has read.
private actor Reader: PartitionOwner {
    static let job = [UInt8](repeating: 7, count: BusLimits.entryBytesMax)

    private let bus: MemoryBus
    private let worker: PartitionWorker<Partition>
    private var counts = [Int](repeating: 0, count: Partition.count)

    init(bus: MemoryBus, store: PostgresConnection) {
        self.bus = bus
        self.worker = PartitionWorker(
            process: .random(), bus: bus, store: store,
            leases: .partitions(Partition.count, frozenAfter: .seconds(60)),
            bounds: .init(
                leaseInterval: .seconds(1), readBlockMax: .milliseconds(5), idleInterval: .seconds(1),
                idleAfter: .seconds(60), retryPause: .milliseconds(1),
                poisonIsolationReads: 64),
            logger: quiet)
    }

    /// Returns once so many Jobs of each partition were read.
    func read(_ count: Int) async {
        let work = Task { try? await self.worker.run(self) }
        while self.counts.min()! < count { await Task.yield() }
        work.cancel()
        await work.value
    }

    func serve() async throws {
        while !Task.isCancelled {
            _ = try await self.worker.look(for: self)
            // As many as after a long run of small Jobs.
            let read = try await self.worker.read(limit: 16, blockFor: .milliseconds(5))
            #expect(read.reduce(0) { $0 + $1.entries.count } <= BusLimits.readStreamsMax)
            for part in self.worker.advance(past: read) {
                self.counts[part.share.index] += part.entries.count
                self.worker.trim(part.share, through: part.through)
                for _ in part.entries { try await self.bus.append(Self.job, to: part.share.stream) }
            }
        }
    }

    func joined() {}
    func left(because error: (any Error)?) {}
    func took(_ shares: [Partition]) {}
    func gaveUp(_ shares: [Partition]) {}
    func busHasLost(_ losses: BusLosses) {}
}

/// Does Jobs of one byte.
private actor Owner: PartitionOwner {
    static let poison: UInt8 = 13
    static let readBlockMax = Duration.milliseconds(5)
    static let idleInterval = Duration.milliseconds(100)

    /// A look at who owns what, and how long a read may wait after it.
    struct Look: Sendable {
        var at: ContinuousClock.Instant
        var readBlockMax: Duration
    }

    enum Event: Equatable {
        case owns(Int)
        case job(UInt8, isSingle: Bool, isReadAgain: Bool = false)
        case left
        case lost([CallShare])

        var isJob: Bool { if case .job = self { true } else { false } }
    }

    private let worker: PartitionWorker<CallShare>
    private let (events, tell) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingOldest(1_000))

    private let beforeTrim: @Sendable ([UInt8]) -> Void

    init(bus: MemoryBus, store: PostgresConnection, beforeTrim: @escaping @Sendable ([UInt8]) -> Void) {
        self.beforeTrim = beforeTrim
        self.worker = PartitionWorker(
            process: .random(), bus: bus, store: store,
            leases: .calls(CallShare.count, frozenAfter: .seconds(60)),
            bounds: .init(
                leaseInterval: .milliseconds(20), readBlockMax: Self.readBlockMax, idleInterval: Self.idleInterval,
                idleAfter: .seconds(2), retryPause: .milliseconds(1),
                poisonIsolationReads: 64),
            logger: quiet)
    }

    var owned: Set<CallShare> { Set(self.worker.owned.keys) }
    var positions: [CallShare: EntryID] { self.worker.owned }
    var isReady: Bool { self.worker.isReady }
    private(set) var hasBegun = false
    private(set) var hasLeft = false
    private(set) var looks: [Look] = []

    func run() async throws {
        self.hasBegun = true
        try await self.worker.run(self)
    }

    func drain() async { await self.worker.drain() }

    /// The next event that fits. Events before it are dropped.
    @discardableResult
    nonisolated func heard(_ fits: (Event) -> Bool) async -> Event {
        for await event in self.events where fits(event) { return event }
        return .left
    }

    func joined() {}
    func left(because error: (any Error)?) {
        self.hasLeft = true
        self.tell.yield(.left)
    }

    func took(_ shares: [CallShare]) { self.tell.yield(.owns(self.worker.owned.count)) }
    func gaveUp(_ shares: [CallShare]) { self.tell.yield(.owns(self.worker.owned.count)) }
    func busHasLost(_ losses: BusLosses) {
        self.tell.yield(.lost(CallShare.all.filter { losses.includes($0.stream) }))
    }

    func serve() async throws {
        while !Task.isCancelled, !self.worker.isDraining {
            let now = ContinuousClock.now
            if try await self.worker.look(for: self) {
                self.looks.append(Look(at: now, readBlockMax: self.worker.readBlockMax))
            }
            let isSingle = self.worker.isIsolatingPoison
            let read =
                try await isSingle
                ? self.worker.readOne() : self.worker.read(limit: 8, blockFor: .milliseconds(5))
            let parts = self.worker.advance(past: read)
            let jobs = parts.flatMap { $0.entries.flatMap(\.bytes) }
            let again = parts.flatMap { part in part.entries.map { $0.id <= part.readBefore } }
            if jobs.contains(Self.poison), !isSingle { throw StoreError.refused(sqlState: "22000", message: "poison") }
            self.beforeTrim(jobs)
            for part in parts { self.worker.trim(part.share, through: part.through) }
            for (job, isReadAgain) in zip(jobs, again) {
                self.tell.yield(.job(job, isSingle: isSingle, isReadAgain: isReadAgain))
            }
        }
    }
}
