import Dispatch
import NIOCore

/// A gateway's event loop. Its turns are the machine's.
final class SimulatedLoop: EventLoop, NIOSerialEventLoopExecutor, @unchecked Sendable {
    private var last: Int64 = 0
    private var isRunning = false

    var inEventLoop: Bool { self.isRunning }
    var now: NIODeadline { .uptimeNanoseconds(UInt64(Machine.current.now)) }

    /// Runs `body` as the loop does.
    func perform(_ body: () -> Void) {
        let before = self.isRunning
        self.isRunning = true
        body()
        self.isRunning = before
    }

    func execute(_ task: @escaping @Sendable () -> Void) {
        self.schedule { self.perform(task) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.schedule { self.perform { job.runSynchronously(on: self.asUnownedSerialExecutor()) } }
    }

    private func schedule(_ body: @escaping () -> Void) {
        let machine = Machine.current
        self.last = max(self.last, machine.now)
        machine.schedule(at: self.last, .call(body), for: machine.host)
    }

    /// The gateway waits in tasks, never here.
    func submit<T>(_ task: @escaping @Sendable () throws -> T) -> EventLoopFuture<T> {
        fatalError("nobody asks the loop")
    }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        fatalError("nobody schedules on the loop")
    }

    func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        self.scheduleTask(deadline: self.now + delay, task)
    }

    func preconditionInEventLoop(file: StaticString, line: UInt) {
        precondition(self.isRunning, file: file, line: line)
    }
    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {}
}
