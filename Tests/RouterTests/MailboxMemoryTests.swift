import ClusterContract
import Contract
import Testing
import TestKit

@testable import RouterCore

@Suite struct MailboxMemoryTests {
    private let partition = Partition(of: identity(1))

    private func learned(_ recipients: [WhisperID] = [], recipientsMax: Int = 100) -> MailboxMemory {
        var memory = MailboxMemory(recipientsMax: recipientsMax)
        memory.adopted(self.partition)
        memory.learned(recipients, in: memory.term(of: self.partition)!)
        return memory
    }

    @Test func nothingIsKnownBeforeWhatWaitedHasBeenRead() {
        var memory = MailboxMemory(recipientsMax: 100)
        #expect(memory.mayHold(identity(1)))
        memory.adopted(self.partition)
        #expect(memory.mayHold(identity(1)))
        memory.learned([identity(2)], in: memory.term(of: self.partition)!)
        #expect(!memory.mayHold(identity(1)))
        #expect(memory.mayHold(identity(2)))
    }

    @Test func aMailboxIsEmptyWhenTheReceiptForItsLastLetterHasCome() {
        var memory = self.learned()
        memory.stored(for: identity(1))
        memory.stored(for: identity(1))
        memory.removed(from: identity(1))
        #expect(memory.mayHold(identity(1)))
        memory.removed(from: identity(1))
        #expect(!memory.mayHold(identity(1)))
    }

    /// Nobody has counted what had been stored before: only a look at the whole mailbox says that all of it is gone.
    @Test func whatWaitedAtTheBeginningIsNotCountedDown() {
        var memory = self.learned([identity(1)])
        memory.removed(from: identity(1))
        #expect(memory.mayHold(identity(1)))
        memory.foundEmpty(identity(1))
        #expect(!memory.mayHold(identity(1)))
    }

    /// The receipt may be about a message from before the partition was taken, and the counted one still waits.
    @Test func receiptsBeforeAllIsKnownCountNothingDown() {
        var memory = MailboxMemory(recipientsMax: 100)
        memory.adopted(self.partition)
        let term = memory.term(of: self.partition)!
        memory.stored(for: identity(1))
        memory.removed(from: identity(1))
        memory.learned([], in: term)
        #expect(memory.mayHold(identity(1)))
    }

    @Test func whatWasReadForAnEarlierTermSaysNothing() {
        var memory = MailboxMemory(recipientsMax: 100)
        memory.adopted(self.partition)
        let earlier = memory.term(of: self.partition)!
        memory.keep { _ in false }
        memory.adopted(self.partition)
        memory.learned([], in: earlier)
        #expect(memory.mayHold(identity(1)))
    }

    @Test func aPartitionWithTooManyRecipientsIsNotRemembered() {
        var memory = self.learned([identity(1)], recipientsMax: 2)
        memory.stored(for: identity(2))
        #expect(!memory.mayHold(identity(4)))
        memory.stored(for: identity(3))
        #expect(memory.mayHold(identity(4)))
        #expect(memory.term(of: self.partition) == nil)
    }

    /// Stores, receipts, looks, and partitions that come and go, in any order, beside mailboxes that really hold
    /// messages.
    @Test(arguments: Prove.seeds(0..<300)) func aMailboxWithMailIsNeverCalledEmpty(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var memory = MailboxMemory(recipientsMax: 5)
        var waiting: [WhisperID: Int] = [:]
        var reading: (term: MailboxMemory.Term, found: [WhisperID])?
        memory.adopted(self.partition)
        for _ in 0..<400 {
            let recipient = identity(.random(in: 1...6, using: &random))
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<7:
                waiting[recipient, default: 0] += 1
                memory.stored(for: recipient)
            case 7..<14 where waiting[recipient, default: 0] > 0:
                waiting[recipient]! -= 1
                memory.removed(from: recipient)
            case 14 where waiting[recipient, default: 0] == 0: memory.foundEmpty(recipient)
            case 15:
                // The sweep of old mail does not tell this memory.
                waiting[recipient] = 0
            case 16:
                memory.keep { _ in false }
                // Somebody else has stored meanwhile.
                waiting[recipient, default: 0] += 1
                memory.adopted(self.partition)
            case 17...18:
                if let read = reading {
                    memory.learned(read.found, in: read.term)
                    reading = nil
                } else if let term = memory.term(of: self.partition) {
                    reading = (term, waiting.filter { $0.value > 0 }.map(\.key))
                }
            default: break
            }
            for (recipient, count) in waiting where count > 0 { #expect(memory.mayHold(recipient)) }
        }
    }
}
