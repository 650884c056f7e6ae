import Bus
import ClusterContract
import Contract
import Testing

@testable import RouterCore

@Suite struct BatchTests {
    /// Jobs that were read from a partition that has been given up are handled by its next owner alone.
    @Test func whatConcernsOtherPartitionsIsForgotten() throws {
        let ours = Partition(of: identity(1))
        let theirs = try #require(Partition.all.first { $0 != ours })
        let other = try #require(WhisperID(bits: UInt64(theirs.identities.lowerBound)))
        var batch = Batch()
        for who in [identity(1), other] {
            for kind in MailboxJob.Kind.allCases { batch.add(Self.job(kind, of: who)) }
        }
        batch.areGenuine = [true, false]
        batch.positions = [(ours, .start), (theirs, .start)]
        batch.keep { $0 == ours }
        #expect(batch.positions.map(\.partition) == [ours])
        #expect(batch.accepts.map(\.to) == [identity(1)])
        #expect(batch.areGenuine == [true])
        #expect(batch.receipts.count == 1 && batch.fetches.count == 1 && batch.bounds.count == 1)
        #expect(batch.unbounds.map(\.identity) == [identity(1)])
        #expect(batch.presence.map(\.to) == [[identity(1)]] && batch.presenceQuestions.map(\.about) == [[identity(1)]])
        #expect(batch.transitions.map(\.identity) == [identity(1)] && batch.typing.map(\.to) == [identity(1)])
        // Numbers of outcomes concern no partition.
        #expect(batch.confirmed == [7, 7])
        #expect(batch.jobs == MailboxJob.Kind.allCases.count + 1)
    }

    /// A forgotten job would be lost silently: it has been read, and leaves its stream.
    @Test(arguments: MailboxJob.Kind.allCases) func aJobOfEachKindStaysWhenReceiptsAreDeferred(kind: MailboxJob.Kind) {
        var batch = Batch()
        batch.add(Self.job(kind, of: identity(1)))
        batch.positions = [(Partition(of: identity(1)), EntryID(milliseconds: 1, sequence: 1))]
        if !batch.accepts.isEmpty { batch.areGenuine = [true] }
        #expect(batch.jobs == 1)
        var joined = Batch()
        joined.add(Self.job(.receipt, of: identity(1)))
        joined.add(batch)
        #expect(joined.jobs == 2 && joined.areGenuine == batch.areGenuine)
        let taken = batch.takeDeferrable()
        #expect(taken.jobs + batch.jobs == 1)
        #expect(batch.isDeferred == (taken.jobs == 1))
    }

    private static func job(_ kind: MailboxJob.Kind, of who: WhisperID) -> MailboxJob {
        let caller = Caller(identity: who, epoch: Epoch(value: 1))
        let answer = AnswerAddress(node: NodeID(value: 1), question: 1)
        let message = UUIDText(high: 1, low: 2)
        switch kind {
        case .accept:
            return .accept(
                AcceptEnvelope(
                    answer: answer, sender: caller, senderKey: Bytes32([UInt8](repeating: 1, count: 32))!,
                    messageID: message, to: who, timestamp: .now,
                    signature: Bytes64([UInt8](repeating: 1, count: 64))!,
                    digest: Bytes32([UInt8](repeating: 1, count: 32))!, payload: [], receivedAt: .now))
        case .receipt:
            return .receipt(
                ReceiptReport(
                    recipient: caller, sender: identity(1), messageID: message, status: .read, timestamp: .now))
        case .fetch:
            return .fetch(
                FetchRequest(answer: answer, connection: ConnectionID(value: 1), caller: caller, after: 0, limit: 1))
        case .bound:
            return .bound([
                BoundConnection(
                    caller: caller, node: NodeID(value: 1), connection: ConnectionID(value: 1), boundAt: .now,
                    progress: .fresh, state: .new, number: 1)
            ])
        case .unbound: return .unbound(identity: who, node: NodeID(value: 1), connection: ConnectionID(value: 1))
        case .outcomesConfirmed: return .outcomesConfirmed([7])
        case .presence: return .presence([PresenceNews(about: identity(1), state: .online, to: [who])])
        case .presenceAsked: return .presenceAsked([PresenceQuestion(asker: identity(1), about: [who])])
        case .presenceHandedOver:
            return .presenceHandedOver([
                PendingTransition(who, isPresent: true, leftAt: 0, isToldOnline: true, notBefore: 0)
            ])
        case .typing: return .typing(TypingNews(from: identity(1), to: who, isTyping: true))
        }
    }
}
