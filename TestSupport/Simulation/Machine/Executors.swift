@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

/// Runs asynchronous functions of no actor, or of an actor without its own executor; `Task.sleep` ends here, too. Swift
/// 6.3 lets a process choose this executor, under a provisional name.
final class AnyTurn: TaskExecutor, SerialExecutor, SchedulingExecutor {
    static let executor = AnyTurn()

    func enqueue(_ job: consuming ExecutorJob) { Machine.current.runSoon(job) }

    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
        // All clocks of the services count in this type.
        let nanoseconds = (delay as! Duration).nanoseconds
        let machine = Machine.current
        machine.schedule(at: machine.now + nanoseconds, .job(UnownedJob(job)), for: machine.host)
    }

    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
        self.enqueue(job, after: clock.now.duration(to: instant), tolerance: tolerance, clock: clock)
    }

    /// Makes this the executor of the process. Call it before the first task.
    static func install() { _createExecutors(factory: Factory.self) }

    private struct Factory: ExecutorFactory {
        static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
        static var defaultExecutor: any TaskExecutor { AnyTurn.executor }
    }
}

/// Runs jobs one after the other, each with a delay: a thread that waits for a server.
final class SlowTurns: SerialExecutor, @unchecked Sendable {
    private var last: Int64 = 0
    /// Nanoseconds.
    private let delays: ClosedRange<Int64>

    init(_ delays: ClosedRange<Int64>) { self.delays = delays }

    func enqueue(_ job: consuming ExecutorJob) {
        let machine = Machine.current
        self.last = max(self.last, machine.now + Int64.random(in: self.delays, using: &machine.random))
        machine.schedule(at: self.last, .ownedJob(UnownedJob(job), self.asUnownedSerialExecutor()), for: machine.host)
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

}

extension Int64 {
    static func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }
    static func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }
}
