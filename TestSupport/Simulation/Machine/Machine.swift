import CSimulation
import TestKit

/// The one thread on which a whole cluster runs, and its time. Pending events are in one queue; the time jumps from one
/// event to the next. The same seed gives the same course, step by step.
final class Machine: @unchecked Sendable {
    /// The running machine. A process plays one world after the other.
    nonisolated(unsafe) static var current = Machine(seed: 0)

    enum Work {
        case call(() -> Void)
        /// A piece of an asynchronous function that any thread may run.
        case job(UnownedJob)
        /// A job of an executor.
        case ownedJob(UnownedJob, UnownedSerialExecutor)
    }

    private var events = EventQueue()
    private var lastOrder: UInt64 = 0
    var random: SeededGenerator
    /// The host of the present event.
    private(set) var host: Host?
    /// Events so far.
    private(set) var count = 0

    /// Neighbouring seeds must have nothing in common.
    init(seed: UInt64) { self.random = SeededGenerator(seed: seed &* 0x2545_F491_4F6C_DD1D &+ 1) }

    /// Takes over clock, randomness and executors of this process.
    func begin(at now: Int64) {
        Machine.current = self
        simulation_set_now(now)
        simulation_seed(self.random.next())
    }

    /// Nanoseconds since 1970.
    var now: Int64 { simulation_now() }

    // MARK: What is to happen

    func schedule(at: Int64, _ work: Work, for host: Host?) {
        self.lastOrder += 1
        let at = max(at, self.now)
        self.events.add(
            EventQueue.Event(host: host, work: work), at: EventQueue.Place(at: at, due: at, order: self.lastOrder))
    }

    /// - Parameter delay: nanoseconds.
    func after(_ delay: Int64, for host: Host? = nil, _ body: @escaping () -> Void) {
        self.schedule(at: self.now + delay, .call(body), for: host)
    }

    /// Runs one part of an asynchronous function soon. The seed decides the order of parts that are ready at the same
    /// time.
    func runSoon(_ job: consuming ExecutorJob) {
        let jitter = Int64.random(in: 0...Self.turnMax, using: &self.random)
        self.schedule(at: self.now + jitter, .job(UnownedJob(job)), for: self.host)
    }

    /// Longest wait of a part that could run at once.
    static let turnMax: Int64 = 40_000

    /// Runs `body` on behalf of `host`.
    func acting<T>(for host: Host?, _ body: () -> T) -> T {
        let before = self.host
        self.host = host
        defer { self.host = before }
        return body()
    }

    // MARK: Running

    /// Runs until `end`, or until `isOver` returns true.
    /// - Returns: false if no event is left.
    @discardableResult
    func run(until end: Int64, isOver: () -> Bool = { false }) -> Bool {
        while let next = self.events.next {
            guard next.at <= end else {
                simulation_set_now(end)
                return true
            }
            let now = max(self.now, next.at)
            simulation_set_now(now)
            if let host = self.events.nextHost, host.frozenUntil > now {
                self.events.putOffNext(until: host.frozenUntil)
                continue
            }
            let event = self.events.takeNext()
            self.count += 1
            self.host = event.host
            switch event.work {
            case .call(let body): body()
            case .job(let job): job.runSynchronously(on: AnyTurn.executor.asUnownedSerialExecutor())
            case .ownedJob(let job, let executor): job.runSynchronously(on: executor)
            }
            self.host = nil
            if isOver() { return true }
        }
        return false
    }
}

/// One process of the cluster. Its tasks die with it.
final class Host: @unchecked Sendable {
    let name: String
    /// The process has ended. At first, only its connected peers notice.
    private(set) var isDead = false
    /// The process runs nothing before this time of the machine's clock.
    var frozenUntil: Int64 = 0
    private var tasks: [Task<Void, Never>] = []
    private var farewells: [() -> Void] = []

    init(_ name: String) { self.name = name }

    func run(_ body: @escaping @Sendable () async -> Void) {
        Machine.current.acting(for: self) { self.tasks.append(Task.detached(operation: body)) }
    }

    /// Called when the process dies.
    func atDeath(_ farewell: @escaping () -> Void) { self.farewells.append(farewell) }

    /// Ends the process at once: nothing that its tasks still do has an effect on others.
    func die() {
        guard !self.isDead else { return }
        self.isDead = true
        self.frozenUntil = 0
        Machine.current.acting(for: self) {
            for farewell in self.farewells { farewell() }
            for task in self.tasks { task.cancel() }
        }
        self.farewells = []
        self.tasks = []
    }
}

extension SeededGenerator {
    /// True once in `count` times.
    mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}
