package import NIOCore
import NIOPosix

/// Runs tasks in the turns of an event loop. A task that prefers it issues commands to what lives on that loop (a `RedisBus`, the ops
/// listener) and takes answers without a change of threads. What blocks, or computes for long, does not belong there.
package final class LoopTaskExecutor: TaskExecutor {
    package let eventLoop: any EventLoop

    /// Of the thread for whatever does not bring its own: the ops listener, public HTTP, the bus of most services. The balancer looks at
    /// `/ready` every 2 to 5 s. On this one thread a look costs about 2 wake-ups, on those of the global pool 16.
    package static let singleton = LoopTaskExecutor(MultiThreadedEventLoopGroup.singleton.any())

    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
