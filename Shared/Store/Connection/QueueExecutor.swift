import Dispatch
import Synchronization

/// Runs one actor on a thread of its own, so that a call that blocks delays nobody else.
///
/// While it borrows threads, a job runs at once on the thread of whoever asks for it: two changes of threads are saved, and that thread
/// blocks meanwhile. One job at a time in either case.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue
    private let isHere = DispatchSpecificKey<Bool>()
    /// Where the tasks that use the actor prefer to run. A job that runs elsewhere, for all that the runtime knows, would be enqueued
    /// anew at each `await` inside of the actor.
    private let callers: (any TaskExecutor)?
    let borrowsThreads = Atomic<Bool>(false)

    init(label: String, callers: (any TaskExecutor)?) {
        self.callers = callers
        self.queue = DispatchQueue(label: label)
        self.queue.setSpecific(key: self.isHere, value: true)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job that asks for another cannot wait for it.
        if self.borrowsThreads.load(ordering: .relaxed), DispatchQueue.getSpecific(key: self.isHere) == nil {
            self.queue.sync { self.run(job) }
        } else {
            self.queue.async { self.run(job) }
        }
    }

    private func run(_ job: UnownedJob) {
        guard let callers = self.callers else { return job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        job.runSynchronously(isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: callers.asUnownedTaskExecutor())
    }
}
