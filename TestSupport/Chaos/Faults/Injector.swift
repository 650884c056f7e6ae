import ClusterContract
import Contract
import LocalStack
import Synchronization
import TestKit

/// Makes a plan's faults happen to a cluster, several at a time, and undoes each.
struct Injector: Sendable {
    let stack: LocalStack
    let links: [Fault.Link: FaultyProxy]
    /// Between the nodes of Redis: each leads to one.
    let busLinks: [FaultyProxy]
    let ledger: Ledger
    let say: @Sendable (String) -> Void
    private let busy = BusyVictims()

    private static let yearSeconds = 31_557_600
    /// A process that ended while it was starting is started again, as any supervisor does.
    private static let startsMax = 20

    init(
        stack: LocalStack, links: [Fault.Link: FaultyProxy], busLinks: [FaultyProxy], ledger: Ledger,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.stack = stack
        self.links = links
        self.busLinks = busLinks
        self.ledger = ledger
        self.say = say
    }

    /// All of them. Afterwards everything runs and is as it was.
    func run(_ plan: FaultPlan) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for (number, step) in plan.steps.enumerated() {
                try await Task.sleep(for: step.pause)
                let victims = self.withRouters(step.fault.victims)
                try await waitUntil("room for \(step.fault)", within: .seconds(120), every: .milliseconds(20)) {
                    self.busy.take(victims, atMost: plan.together)
                }
                self.say("fault \(number + 1): \(step.fault)")
                group.addTask {
                    try await self.happen(step.fault)
                    self.busy.release(victims)
                }
            }
        }
    }

    /// Starts whatever ended by itself, and remarks it: nobody killed it.
    func keepAlive() async {
        while !Task.isCancelled {
            for process in self.stack.processes where !self.busy.contains(process.description) {
                guard await self.stack.pid(of: process) == nil, !self.busy.contains(process.description) else {
                    continue
                }
                // A process that a fault has ended in this moment is started again by that fault.
                guard self.busy.take([process.description], atMost: .max) else { continue }
                self.ledger.remark("\(process) ended by itself")
                try? await self.start(process)
                self.busy.release([process.description])
            }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    private func withRouters(_ victims: Set<String>) -> Set<String> {
        guard victims.contains("routers") else { return victims }
        return victims.subtracting(["routers"]).union(self.routers.map(\.description))
    }

    private var routers: [StackProcess] {
        self.stack.processes.filter { if case .service(.router, _) = $0 { true } else { false } }
    }

    // MARK: What happens

    private func happen(_ fault: Fault) async throws {
        switch fault {
        case .kill(let process, let time): try await self.kill([process], time)
        case .killTogether(let processes, let time): try await self.kill(processes, time)
        case .stop(let process):
            if let status = await self.stack.stop(process), status != .exited(0) {
                self.ledger.remark("\(process) was asked to end and did with \(status)")
            }
            try await self.start(process)
        case .freeze(let process, let time):
            await self.stack.signal(process, .pause)
            try? await Task.sleep(for: time)
            await self.stack.signal(process, .resume)
        case .flush: try await self.stack.flushRedis()
        case .cut(let link, let percent): await self.links[link]?.cut(percent: percent)
        case .delay(let link, let by, let time): await self.set(link, FaultyProxy.Conditions(delay: by), for: time)
        case .hold(let link, let ways, let time): await self.set(link, FaultyProxy.Conditions(held: ways), for: time)
        case .close(let link, let time):
            await self.links[link]?.set(FaultyProxy.Conditions(isClosed: true))
            await self.links[link]?.cut(percent: 100)
            await self.set(link, FaultyProxy.Conditions(isClosed: true), for: time)
        case .moveClock(let process, let seconds, let time):
            self.ledger.clockMoved(isOff: true)
            defer { self.ledger.clockMoved(isOff: false) }
            try self.stack.setClock(of: process, offBy: seconds)
            try? await Task.sleep(for: time)
            try self.stack.setClock(of: process, offBy: 0)
        case .startYearsOff(let process, let years, let time):
            self.ledger.clockMoved(isOff: true)
            defer { self.ledger.clockMoved(isOff: false) }
            try self.stack.setClock(of: process, offBy: years * Self.yearSeconds)
            try await self.kill([process], .zero)
            try? await Task.sleep(for: time)
            try self.stack.setClock(of: process, offBy: 0)
        case .fillQueues(let partitions, let time): try await self.fill(partitions, for: time)
        case .killMaster(let partition):
            try await self.withMaster(of: partition) { cluster, master in
                await master.kill()
                try await waitUntil("a replica has taken over", within: Self.takeoverMax) {
                    (try? await cluster.master(of: Self.stream(partition))) != nil
                }
                try await master.start()
            }
        case .freezeMaster(let partition, let time):
            try await self.withMaster(of: partition) { _, master in
                await master.signal(.pause)
                try? await Task.sleep(for: time)
                await master.signal(.resume)
            }
        case .moveStream(let partition): try await self.stack.redisCluster?.move(Self.stream(partition))
        case .splitBus(let partition, let isUnaware, let time):
            try await self.withMaster(of: partition) { cluster, master in
                if isUnaware { try await cluster.setNoticing(of: master, isOn: false) }
                try await self.split(cluster, at: master, of: partition, for: time)
                if isUnaware { try await cluster.setNoticing(of: master, isOn: true) }
            }
        }
    }

    private func split(
        _ cluster: RedisClusterServers, at master: RedisServer, of partition: Int, for time: Duration
    ) async throws {
        let number = cluster.nodes.firstIndex { $0.port == master.port } ?? 0
        for (other, link) in self.busLinks.enumerated() {
            await link.set(
                other == number
                    ? FaultyProxy.Conditions(isClosed: true)
                    : FaultyProxy.Conditions(isClosedTo: [RedisClusterServers.source(of: number)]))
            await link.cutUnwanted()
        }
        // Everything that the master writes from here on is lost.
        try await cluster.setReplication(of: master, isOn: false)
        let kept = await cluster.bytesWritten(at: master) ?? 0
        try await waitUntil("a replica has taken over", within: Self.takeoverMax) {
            await cluster.hasSuccessor(of: master, for: Self.stream(partition))
        }
        let takenOver = ContinuousClock.now
        let before = await cluster.bytesWritten(at: master) ?? 0
        do {
            try await waitUntil("services have left the old master", within: Self.leftMax) {
                await cluster.clients(of: master) == 0
            }
            let all = await cluster.bytesWritten(at: master) ?? 0
            self.say(
                "  services have left the old master after \((.now - takenOver).shown); it has \(all - kept) bytes for itself, \(all - before) of them since then"
            )
        } catch is TimeUp {
            self.ledger.remark("services still speak to a master that was replaced \(Self.leftMax.shown) ago")
        }
        try? await Task.sleep(for: time)
        for link in self.busLinks { await link.set(FaultyProxy.Conditions()) }
        try await cluster.setReplication(of: master, isOn: true)
    }

    /// Services ask one node every 5 s who is master of what (`RedisLimits.topologyEvery`), and the old master at most
    /// every second time. Beside that a machine may be busy.
    private static let leftMax = Duration.seconds(15)

    private func kill(_ processes: [StackProcess], _ time: Duration) async throws {
        await withDiscardingTaskGroup { group in
            for process in processes { group.addTask { await self.stack.kill(process) } }
        }
        try? await Task.sleep(for: time)
        try await withThrowingDiscardingTaskGroup { group in
            for process in processes { group.addTask { try await self.start(process) } }
        }
    }

    private func set(_ link: Fault.Link, _ conditions: FaultyProxy.Conditions, for time: Duration) async {
        await self.links[link]?.set(conditions)
        try? await Task.sleep(for: time)
        await self.links[link]?.set(FaultyProxy.Conditions())
    }

    private func start(_ process: StackProcess) async throws {
        for attempt in 1... {
            do {
                return try await self.stack.start(process)
            } catch LaunchError.ended(let name, .exited(1), _) where attempt < Self.startsMax {
                // It found no Redis or no Postgres, and gave up: somebody else's fault.
                self.say("  \(name) gave up starting; once more")
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Time a replica has to take its master's place.
    private static let takeoverMax = Duration.seconds(60)

    private static func stream(_ partition: Int) -> String { Keyspace.mailbox(Partition.all[partition]).name }

    /// Afterwards the cluster of Redis is whole again.
    private func withMaster(
        of partition: Int, _ body: (RedisClusterServers, RedisServer) async throws -> Void
    ) async throws {
        guard let cluster = self.stack.redisCluster else { return }
        try await body(cluster, try await cluster.master(of: Self.stream(partition)))
        try await cluster.untilWhole()
    }

    /// Jobs that mean nothing, as many as a stream may hold, while nobody takes them out.
    private func fill(_ partitions: [Int], for time: Duration) async throws {
        for router in self.routers { await self.stack.signal(router, .pause) }
        let digits = Array("0123456789abcdef")
        let job = MailboxJob.outcomesConfirmed([]).encoded().map { "\\x\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
            .joined()
        for partition in partitions.compactMap({ Partition($0) }) {
            let script = "for i = 1, \(Self.depth) do redis.call('XADD', KEYS[1], '*', 'd', ARGV[1]) end return 1"
            let command = "EVAL \"\(script)\" 1 \(Keyspace.mailbox(partition).name) \"\(job)\"\r\n"
            // Should another fault have taken Redis away, there is nothing to fill.
            _ = await self.stack.redis.answer(to: command, lines: 1)
        }
        try? await Task.sleep(for: time)
        for router in self.routers { await self.stack.signal(router, .resume) }
    }

    /// A gateway takes no more for a partition in which 20,000 wait (`GatewayLimits.partitionDepthMax`).
    private static let depth = 21_000
}

/// The victims of the faults that are happening.
private final class BusyVictims: Sendable {
    private let taken = Mutex<(victims: Set<String>, faults: Int)>(([], 0))

    /// - Returns: whether there was room.
    func take(_ victims: Set<String>, atMost count: Int) -> Bool {
        self.taken.withLock { taken in
            guard taken.faults < count, taken.victims.isDisjoint(with: victims) else { return false }
            taken.victims.formUnion(victims)
            taken.faults += 1
            return true
        }
    }

    func release(_ victims: Set<String>) {
        self.taken.withLock { taken in
            taken.victims.subtract(victims)
            taken.faults -= 1
        }
    }

    func contains(_ victim: String) -> Bool { self.taken.withLock { $0.victims.contains(victim) } }
}
