package import NIOCore

/// Runs tasks in the turns of an event loop. A task that prefers it issues commands to what lives on that loop (a `RedisBus`, the ops
/// listener) and takes answers without a change of threads. What blocks, or computes for long, does not belong there.
package final class LoopTaskExecutor: TaskExecutor {
    package let eventLoop: any EventLoop

    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
