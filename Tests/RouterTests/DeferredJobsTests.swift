import Bus
import ClusterContract
import Contract
import Testing

@testable import RouterCore

@Suite struct DeferredJobsTests {
    private let start = ContinuousClock.now
    private let identity = WhisperID("WSP-JBPU-D452-TLT4")!

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { self.start + .milliseconds(milliseconds) }

    private func batch(_ sequence: UInt64, receipts: Int = 0, confirmed: [Int64] = [], typing: Int = 0) -> Batch {
        var batch = Batch()
        batch.positions = [(Partition(of: self.identity), EntryID(milliseconds: sequence, sequence: 0))]
        for _ in 0..<receipts {
            batch.add(
                .receipt(
                    ReceiptReport(
                        recipient: Caller(identity: self.identity, epoch: Epoch(value: 1)), sender: self.identity,
                        messageID: UUIDText(high: 1, low: 2), status: .delivered, timestamp: Timestamp(milliseconds: 1))
                ))
        }
        if !confirmed.isEmpty { batch.add(.outcomesConfirmed(confirmed)) }
        for _ in 0..<typing { batch.add(.typing(TypingNews(from: self.identity, to: self.identity, isTyping: true))) }
        return batch
    }

    private func fetch(_ sequence: UInt64) -> Batch {
        var batch = self.batch(sequence)
        batch.add(
            .fetch(
                FetchRequest(
                    answer: AnswerAddress(node: NodeID(value: 1), question: 1), connection: ConnectionID(value: 1),
                    caller: Caller(identity: self.identity, epoch: Epoch(value: 1)), after: 0, limit: 1)))
        return batch
    }

    @Test func receiptsAndConfirmationsWaitAndTheRestDoesNot() {
        var jobs = DeferredJobs()
        let now = jobs.next(self.batch(1, receipts: 2, confirmed: [7], typing: 1), isWorthWaiting: true, at: self.start)
        #expect(now.receipts.isEmpty && now.confirmed.isEmpty && now.typing.count == 1)
        // Their stream must keep them until they are committed.
        #expect(now.isTrimmedLater && !now.isDeferred)
        #expect(jobs.timeLeft(at: self.at(20)) == RouterLimits.deferredJobsHeldFor - .milliseconds(20))
        let later = jobs.next(self.batch(2, receipts: 1), isWorthWaiting: true, at: self.at(20))
        #expect(later.isDeferred)
        let all = jobs.next(Batch(), isWorthWaiting: true, at: self.at(50))
        #expect(all.receipts.count == 3 && all.confirmed == [7] && !all.isTrimmedLater)
        #expect(all.lastPositions == [Partition(of: self.identity): EntryID(milliseconds: 2, sequence: 0)])
        #expect(jobs.timeLeft(at: self.at(50)) == nil)
    }

    @Test func aloneTheyDoNotWait() {
        var jobs = DeferredJobs()
        let batch = jobs.next(self.batch(1, receipts: 1), isWorthWaiting: false, at: self.start)
        #expect(batch.receipts.count == 1 && !batch.isTrimmedLater && jobs.timeLeft(at: self.start) == nil)
    }

    /// A page must not show what was acknowledged before it was asked for.
    @Test func theyGoBeforeAPage() {
        var jobs = DeferredJobs()
        _ = jobs.next(self.batch(1, receipts: 1), isWorthWaiting: true, at: self.start)
        let batch = jobs.next(self.fetch(2), isWorthWaiting: true, at: self.at(1))
        #expect(batch.receipts.count == 1 && batch.fetches.count == 1 && !batch.isTrimmedLater)
    }

    /// A batch that commits anyway takes deferred Jobs along from half of their time on.
    @Test func theyShareTheNextCommit() throws {
        func next(_ milliseconds: Int) throws -> Batch {
            var jobs = DeferredJobs()
            _ = jobs.next(self.batch(1, receipts: 1), isWorthWaiting: true, at: self.start)
            var batch = self.batch(2)
            batch.add(
                .accept(
                    AcceptEnvelope(
                        answer: AnswerAddress(node: NodeID(value: 1), question: 1),
                        sender: Caller(identity: self.identity, epoch: Epoch(value: 1)),
                        senderKey: try #require(Bytes32([UInt8](repeating: 1, count: 32))),
                        messageID: UUIDText(high: 1, low: 2),
                        to: self.identity, timestamp: .now,
                        signature: try #require(Bytes64([UInt8](repeating: 1, count: 64))),
                        digest: try #require(Bytes32([UInt8](repeating: 1, count: 32))), payload: [], receivedAt: .now))
            )
            return jobs.next(batch, isWorthWaiting: true, at: self.at(milliseconds))
        }
        #expect(try next(24).receipts.isEmpty)
        #expect(try next(25).receipts.count == 1)
    }

    @Test func theirNumberHasABound() {
        var jobs = DeferredJobs()
        var handled = 0
        for number in 1...RouterLimits.deferredJobsMax {
            handled +=
                jobs.next(self.batch(UInt64(number), receipts: 1), isWorthWaiting: true, at: self.start).receipts.count
        }
        #expect(handled == RouterLimits.deferredJobsMax)
    }

    @Test func whatConcernsOtherPartitionsIsForgotten() {
        var jobs = DeferredJobs()
        _ = jobs.next(self.batch(1, receipts: 1), isWorthWaiting: true, at: self.start)
        jobs.keep { _ in false }
        #expect(jobs.timeLeft(at: self.start) == nil)
        #expect(jobs.release(before: Batch()).isEmpty)
    }
}
