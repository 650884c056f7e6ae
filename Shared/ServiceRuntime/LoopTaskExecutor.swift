package import NIOCore
import NIOPosix

/// Runs tasks in the turns of an event loop. A task that prefers it issues commands to objects on that loop (a
/// `RedisBus`, the ops listener) and takes answers without a change of threads. Code that blocks, or computes for long,
/// does not belong there.
package final class LoopTaskExecutor: TaskExecutor {
    package let eventLoop: any EventLoop

    /// The executor of the thread for everything that does not bring its own: the ops listener, public HTTP, the bus of
    /// most services. The balancer polls `/ready` every 2 to 5 s. On this one thread a poll costs about 2 wake-ups, on
    /// those of the global pool 16.
    package static let singleton = LoopTaskExecutor(MultiThreadedEventLoopGroup.singleton.any())

    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
