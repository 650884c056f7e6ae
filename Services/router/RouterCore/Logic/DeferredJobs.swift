import ClusterContract
import Contract

/// Jobs for which nobody waits (receipts, confirmations). They wait for more of their kind, so that many share one transaction.
///
/// A statement costs Postgres about the same for one row as for fifty. So these Jobs leave the batch that they were read with, and their
/// streams keep them until they are committed. Pure: time is an argument.
struct DeferredJobs {
    private var deferred = Batch()
    /// When the first of them came.
    private var since: ContinuousClock.Instant?

    /// How long they may still wait. `nil` if there are none.
    func timeLeft(at now: ContinuousClock.Instant) -> Duration? {
        self.since.map { now.duration(to: $0 + RouterLimits.deferredJobsHeldFor) }
    }

    /// Takes from a batch what nobody waits for, or gives back what has waited long enough.
    /// - Parameters:
    ///   - batch: what was read. May be empty: time has passed.
    ///   - isWorthWaiting: whether more of their kind comes soon.
    /// - Returns: what is to be handled now. Its Jobs stand in the order in which they were read.
    mutating func next(_ batch: Batch, isWorthWaiting: Bool, at now: ContinuousClock.Instant) -> Batch {
        // An empty batch has a commit of its own to pay for, another one is committed anyway.
        let waited = self.since?.duration(to: now) ?? .zero
        let isDue = waited >= RouterLimits.deferredJobsHeldFor / (batch.needsCommit ? 2 : 1)
        guard isWorthWaiting, !isDue, !batch.isSingle, !batch.dependsOnReceipts,
            self.deferred.jobs + batch.deferrable < RouterLimits.deferredJobsMax
        else { return self.release(before: batch) }
        var batch = batch
        guard self.since != nil || batch.deferrable > 0 else { return batch }
        if self.since == nil { self.since = now }
        self.deferred.add(batch.takeDeferrable())
        return batch
    }

    /// All that waits, and then this batch.
    mutating func release(before batch: Batch) -> Batch {
        guard self.since != nil else { return batch }
        var all = self.deferred
        (self.deferred, self.since) = (Batch(), nil)
        all.add(batch)
        return all
    }

    /// See `Batch.leave`.
    mutating func leave(_ isReadAgain: (Partition) -> Bool) { self.deferred.leave(isReadAgain) }

    /// Forgets what concerns other partitions.
    mutating func keep(_ isOurs: (Partition) -> Bool) {
        self.deferred.keep(isOurs)
        if self.deferred.isEmpty { (self.deferred, self.since) = (Batch(), nil) }
    }
}
