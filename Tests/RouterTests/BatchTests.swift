import Contract
import Testing

@testable import RouterCore

@Suite struct BatchTests {
    /// What was read from a partition that has been given up is handled by its next owner, and by nobody else.
    @Test func whatConcernsOtherPartitionsIsForgotten() throws {
        let ours = Partition(of: identity(1))
        let theirs = try #require(Partition.all.first { $0 != ours })
        let other = try #require(WhisperID(bits: UInt64(theirs.identities.lowerBound)))
        var batch = Batch()
        for who in [identity(1), other] {
            let caller = Caller(identity: who, epoch: Epoch(value: 1))
            let answer = AnswerAddress(node: NodeID(value: 1), question: 1)
            let message = UUIDText(high: 1, low: 2)
            batch.add(
                .accept(
                    AcceptEnvelope(
                        answer: answer, sender: caller, senderKey: Bytes32([UInt8](repeating: 1, count: 32))!,
                        messageID: message, to: who, timestamp: .now,
                        signature: Bytes64([UInt8](repeating: 1, count: 64))!,
                        digest: Bytes32([UInt8](repeating: 1, count: 32))!, payload: [], receivedAt: .now)))
            batch.add(
                .receipt(
                    ReceiptReport(
                        recipient: caller, sender: identity(1), messageID: message, status: .read, timestamp: .now)))
            batch.add(
                .fetch(
                    FetchRequest(answer: answer, connection: ConnectionID(value: 1), caller: caller, after: 0, limit: 1)
                ))
            batch.add(
                .bound([
                    BoundConnection(
                        caller: caller, node: NodeID(value: 1), connection: ConnectionID(value: 1), boundAt: .now,
                        progress: .fresh,
                        state: .new, number: 1)
                ]))
            batch.add(.unbound(identity: who, node: NodeID(value: 1), connection: ConnectionID(value: 1)))
            batch.add(.presence([PresenceNews(about: identity(1), state: .online, to: [who])]))
            batch.add(.presenceAsked([PresenceQuestion(asker: identity(1), about: [who])]))
            batch.add(
                .presenceHandedOver([
                    PendingTransition(who, isPresent: true, leftAt: 0, isToldOnline: true, notBefore: 0)
                ]))
            batch.add(.typing(TypingNews(from: identity(1), to: who, isTyping: true)))
        }
        batch.verdicts = [true, false]
        batch.positions = [(ours, .start), (theirs, .start)]
        batch.keep { $0 == ours }
        #expect(batch.positions.map(\.partition) == [ours])
        #expect(batch.accepts.map(\.to) == [identity(1)])
        #expect(batch.verdicts == [true])
        #expect(batch.receipts.count == 1 && batch.fetches.count == 1 && batch.bounds.count == 1)
        #expect(batch.unbounds.map(\.identity) == [identity(1)])
        #expect(batch.presence.map(\.to) == [[identity(1)]] && batch.presenceQuestions.map(\.about) == [[identity(1)]])
        #expect(batch.transitions.map(\.identity) == [identity(1)] && batch.typing.map(\.to) == [identity(1)])
    }
}
