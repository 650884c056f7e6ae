import ClusterContract
import Contract
import Testing

@testable import RouterCore
@testable import Store

/// Batches as scripts: what the database answered, and what the router then does. No database, bus or clock.
@Suite struct BatchPlanTests {
    // MARK: The transaction

    @Test func theOrderOfTheStatementsIsPartOfTheirMeaning() {
        var script = Script()
        script.batch.fetches = [fetch(1)]
        script.batch.confirmed = [8]
        script.batch.receipts = [receipt(1, .delivered), receipt(1, .read)]
        script.batch.bounds = [bound(1)]
        script.accept(envelope(1))
        let transaction = script.transaction
        #expect(
            transaction.pipeline.statements.map(\.kind) == [
                // A connection that binds must not find what this batch brings.
                "newest", "outcomes", "news",
                // A pair is noted if its message was accepted.
                "accept", "peers",
                "receipts", "receipts",
                "remove outcomes", "remove news",
                // A page shows what the batch brings, and not what it acknowledges.
                "page",
            ])
        #expect(Script().transaction.pipeline.isEmpty)
    }

    @Test func theLastAttemptRemovesNothingAndDoesEverythingElse() {
        var script = Script()
        script.batch.confirmed = [8]
        script.accept(envelope(1))
        var transaction = script.transaction
        let before = transaction.pipeline.statements
        transaction.leaveOutRemovals()
        let after = transaction.pipeline.statements
        #expect(after.map(\.kind) == before.map(\.kind) && after.map(\.kind).last == "remove news")
        #expect(after.dropLast(2).map(\.parameters) == before.dropLast(2).map(\.parameters))
        #expect(after.suffix(2).map(\.parameters) != before.suffix(2).map(\.parameters))
    }

    @Test func receiptsAboutOneMessageGoIntoRoundsOneAfterTheOther() {
        var script = Script()
        script.batch.receipts = [receipt(1, .delivered), receipt(2, .read), receipt(1, .read)]
        #expect(script.plan.rounds.map { $0.map(\.status) } == [[.delivered, .read], [.read]])
    }

    // MARK: Messages

    @Test func acceptedMailGoesToTheLiveConnection() {
        var script = Script()
        script.connect(1)
        script.accept(envelope(7))
        #expect(
            script.settle(BatchAnswers(verdicts: [.init(verdict: .accepted, number: 70)])) == [
                "answer 7: accepted", "node 1: mail 1: 70",
            ])
        #expect(script.memory.mailboxes.mayHold(recipient))
        #expect(script.memory.sessions[recipient]?.sentThrough == 70)
    }

    @Test func acceptedMailWaitsBehindWhatTheClientHasYetToFetch() {
        var script = Script()
        script.connect(1, newest: 60)
        script.accept(envelope(7))
        #expect(
            script.settle(BatchAnswers(verdicts: [.init(verdict: .accepted, number: 70)])) == ["answer 7: accepted"])
        #expect(script.memory.sessions[recipient]?.mayLeaveMail == true)
    }

    @Test func acceptedMailWakesWhoIsAway() {
        var script = Script()
        script.accept(envelope(7))
        #expect(
            script.settle(BatchAnswers(verdicts: [.init(verdict: .accepted, number: 70)])) == [
                "answer 7: accepted", "wake 1 for a message",
            ])
    }

    @Test func aRepetitionIsAnsweredAndStoresNothing() {
        var script = Script()
        script.memory.know(recipient)
        script.connect(1)
        script.accept(envelope(7))
        #expect(script.settle(BatchAnswers(verdicts: [.init(verdict: .repeated)])) == ["answer 7: accepted"])
        #expect(!script.memory.mailboxes.mayHold(recipient))
    }

    /// The commit of a batch that writes waits for the standby, and covers all earlier writes.
    @Test(arguments: [
        ([AcceptStatement.Verdict.repeated], true), ([.repeated, .stale], true), ([.repeated, .accepted], false),
        ([.accepted], false), ([.untimely], false), ([], false),
    ])
    func onlyABatchOfRepetitionsRestsOnEarlierCommits(verdicts: [AcceptStatement.Verdict], rests: Bool) {
        let answers = BatchAnswers(verdicts: verdicts.map { .init(verdict: $0) })
        #expect(answers.restOnEarlierCommits == rests)
    }

    /// One of the two is given to the database.
    @Test func whoSendsTheSameInOneBatchGetsTheSameAnswer() {
        var script = Script()
        script.accept(envelope(7))
        script.accept(envelope(7, question: 8))
        script.accept(envelope(7, epoch: 2, question: 9))
        #expect(script.plan.accepts.map(\.answer.question) == [7, 9], "another session's is judged by itself")
        let verdicts: [AcceptStatement.Result] = [.init(verdict: .stale), .init(verdict: .accepted, number: 70)]
        #expect(
            script.settle(BatchAnswers(verdicts: verdicts)) == [
                "answer 7: stale", "answer 8: stale", "answer 9: accepted", "wake 1 for a message",
            ])
    }

    @Test func aForgedSignatureIsRefusedAndNeverStored() {
        var script = Script()
        script.accept(envelope(7), isGenuine: false)
        #expect(script.transaction.pipeline.isEmpty)
        #expect(script.settle(BatchAnswers()) == ["answer 7: AUTH_FAILED"])
    }

    @Test(arguments: [
        (AcceptStatement.Verdict.stale, "stale"), (.senderBanned, "USER_BANNED"), (.untimely, "INVALID_TIMESTAMP"),
        (.unknownRecipient, "NOT_FOUND"), (.recipientBanned, "FORBIDDEN"), (.overRate, "RATE_LIMITED"),
        (.unknownGroup, "NOT_FOUND"), (.notMembers, "FORBIDDEN"), (.unknownAttachment, "NOT_FOUND"),
        (.foreignAttachment, "FORBIDDEN"), (.foreignKey, "AUTH_FAILED"), (.mailboxFull, "RATE_LIMITED"),
        (.strangerFull, "RATE_LIMITED"), (.strangersFull, "RATE_LIMITED"), (.everyStrangerFull, "RATE_LIMITED"),
    ])
    func aRefusalIsAnsweredAndNothingElse(verdict: AcceptStatement.Verdict, answer: String) {
        var script = Script()
        script.memory.know(recipient)
        script.connect(1)
        script.accept(envelope(7))
        #expect(script.settle(BatchAnswers(verdicts: [.init(verdict: verdict)])) == ["answer 7: \(answer)"])
        #expect(!script.memory.mailboxes.mayHold(recipient))
        #expect(script.plan.unwritten == [0], "the pair is still to be written")
    }

    @Test func aPairIsWrittenOnceADay() {
        var script = Script()
        script.accept(envelope(7))
        script.accept(envelope(8))
        #expect(script.plan.unwritten == [0], "one of each pair")
        _ = script.settle(
            BatchAnswers(verdicts: [.init(verdict: .accepted, number: 70), .init(verdict: .accepted, number: 71)]))
        #expect(script.plan.unwritten == [])
    }

    /// Only then is nothing asked of the database.
    @Test func whatSurelyFitsIsNotCounted() {
        var script = Script()
        script.memory.know(recipient)
        let spaces = MailboxSpaces(for: [envelope(7)], in: &script.memory, at: 1)
        #expect(spaces.toCount.isEmpty && spaces.ofEnvelopes.isEmpty)
    }

    @Test func aMailboxOfWhichNothingIsKnownIsCounted() {
        var script = Script()
        var spaces = MailboxSpaces(for: [envelope(7), envelope(8)], in: &script.memory, at: 1)
        #expect(spaces.toCount == [recipient] && spaces.asked == [sender])
        let full = MailBounds().mailbox
        let left = MailTally(messages: full.messages - 1, bytes: 0)
        spaces.counted(
            [CountedMail(mailbox: left, strangers: .zero, senders: [:])], in: &script.memory.loads, at: 1)
        #expect(spaces.ofEnvelopes.map { $0?.mailbox.messages } == [1, 1], "one of the two fits")
    }

    // MARK: Receipts

    @Test func aReceiptTellsItsConnectedSenderAndEmptiesTheMailbox() {
        var script = Script()
        script.memory.know(recipient)
        script.connect(1)
        script.accept(envelope(7))
        _ = script.settle(BatchAnswers(verdicts: [.init(verdict: .accepted, number: 70)]))
        #expect(script.memory.sessions[recipient]?.mayLeaveMail == true)
        script.batch = Batch()
        script.connect(2, who: sender)
        script.batch.receipts = [receipt(7, .delivered), receipt(7, .read)]
        let rounds = [[honoured(70, wasPending: true, outcome: 5)], [honoured(70, wasPending: false, outcome: 6)]]
        #expect(
            script.settle(BatchAnswers(receipts: rounds)) == [
                "node 1: outcomes 2: 5 delivered", "node 1: outcomes 2: 6 read",
            ])
        #expect(script.memory.sessions[recipient]?.mayLeaveMail == false)
        #expect(!script.memory.mailboxes.mayHold(recipient))
    }

    @Test func aSenderWhoIsAwayHearsItWhenItBinds() {
        var script = Script()
        script.batch.receipts = [receipt(7, .delivered)]
        #expect(script.settle(BatchAnswers(receipts: [[honoured(70, wasPending: true, outcome: 5)]])) == [])
    }

    @Test func aSenderInAnotherRoutersPartitionIsFoundByItsPresence() {
        var script = Script()
        script.batch.receipts = [receipt(7, .delivered)]
        script.isOurs = { $0 != Partition(of: sender) }
        #expect(
            script.settle(BatchAnswers(receipts: [[honoured(70, wasPending: true, outcome: 5)]]))
                == ["elsewhere \(sender.bits >> 40): 5 delivered"])
    }

    // MARK: Binding

    @Test func aConnectionIsBoundAndToldWhatBecameOfItsMessages() {
        var script = Script()
        script.batch.bounds = [bound(1)]
        let outcome = Outcome(
            number: 5, kind: .read, messageID: message(7), peer: sender, timestamp: Timestamp(milliseconds: 0))
        let answers = BatchAnswers(
            newest: [.init(epoch: Epoch(value: 1), number: nil)], outcomes: [.init(sender: recipient, outcome: outcome)]
        )
        #expect(
            script.settle(answers) == [
                "came 1", "node 1: bound 1, caught up, answering 1", "node 1: outcomes 1: 5 read",
            ])
        #expect(script.memory.sessions[recipient]?.connection == ConnectionID(value: 1))
    }

    @Test func mailOfTheSameBatchFollowsTheConnectionThatBinds() {
        var script = Script()
        script.batch.bounds = [bound(1)]
        script.accept(envelope(7))
        let answers = BatchAnswers(
            newest: [.init(epoch: Epoch(value: 1), number: nil)], verdicts: [.init(verdict: .accepted, number: 70)])
        #expect(
            script.settle(answers) == [
                "came 1", "node 1: bound 1, caught up, answering 1", "answer 7: accepted", "node 1: mail 1: 70",
            ])
    }

    @Test func anOlderLoginIsReplaced() {
        var script = Script()
        script.batch.bounds = [bound(1)]
        #expect(
            script.settle(BatchAnswers(newest: [.init(epoch: Epoch(value: 2), number: nil)])) == [
                "node 1: replaced 1"
            ])
        #expect(script.memory.sessions.isEmpty)
    }

    @Test func aPartitionThatWasGivenUpBindsNobody() {
        var script = Script()
        script.isOurs = { _ in false }
        script.batch.bounds = [bound(1)]
        #expect(script.settle(BatchAnswers(newest: [.init(epoch: Epoch(value: 1), number: nil)])) == [])
        #expect(script.memory.sessions.isEmpty)
    }

    @Test func theNewerConnectionOfAnIdentityReplacesTheOlder() {
        var script = Script()
        script.connect(1)
        script.batch.bounds = [bound(2)]
        let answers = BatchAnswers(newest: [.init(epoch: Epoch(value: 1), number: nil)])
        #expect(
            script.settle(answers) == [
                "node 1: replaced 1", "came 1", "node 1: bound 2, caught up, answering 1",
            ])
    }

    @Test func aConnectionThatWasAnnouncedBeforeLosesToTheNewerOne() {
        var script = Script()
        script.connect(2, boundAt: 2_000)
        script.batch.bounds = [bound(1, boundAt: 1_000, state: .confirmed)]
        let answers = BatchAnswers(newest: [.init(epoch: Epoch(value: 1), number: nil)])
        #expect(script.settle(answers) == ["node 1: replaced 1", "node 1: bound 2, caught up, answering 0"])
        #expect(script.memory.sessions[recipient]?.connection == ConnectionID(value: 2))
    }

    /// Two connections showed the token in one moment, and are announced again before either hears of its end.
    @Test(arguments: [[1, 2, 1, 2], [2, 1, 2, 1], [1, 1, 2, 2], [2, 2, 1, 1]] as [[UInt64]])
    func ofTwoThatAreAnnouncedAgainOneIsReplaced(order: [UInt64]) {
        var script = Script()
        var known: Set<UInt64> = []
        script.batch.bounds = order.map {
            bound($0, boundAt: 7, state: known.insert($0).inserted ? .new : .unconfirmed)
        }
        let answers = BatchAnswers(newest: order.map { _ in .init(epoch: Epoch(value: 1), number: nil) })
        let replaced = Set(script.settle(answers).filter { $0.contains("replaced") })
        let living = script.memory.sessions[recipient]?.connection.value
        #expect(replaced == ["node 1: replaced \(living == 1 ? 2 : 1)"])
    }

    /// The clock of the older one's gateway is ahead, and it is announced again before it hears of its end.
    @Test func aPlaceThatWasTakenIsNotTakenBack() {
        var script = Script()
        script.connect(1, boundAt: 1_000)
        script.batch.bounds = [bound(2, boundAt: 500), bound(1, boundAt: 1_000, state: .confirmed)]
        let answers = BatchAnswers(newest: script.batch.bounds.map { _ in .init(epoch: Epoch(value: 1), number: nil) })
        #expect(Set(script.settle(answers).filter { $0.contains("replaced") }) == ["node 1: replaced 1"])
        #expect(script.memory.sessions[recipient]?.connection == ConnectionID(value: 2))
    }

    // MARK: Leaving

    @Test func whoLeavesWithMailThatNobodyAcknowledgedIsWoken() {
        var script = Script()
        script.connect(1)
        script.accept(envelope(7))
        _ = script.settle(BatchAnswers(verdicts: [.init(verdict: .accepted, number: 70)]))
        script.batch = Batch()
        script.batch.unbounds = [(recipient, NodeID(value: 1), ConnectionID(value: 1))]
        #expect(script.settle(BatchAnswers()) == ["wake 1"])
        #expect(script.memory.sessions.isEmpty)
    }

    @Test func whoLeavesWithNothingIsNotWoken() {
        var script = Script()
        script.connect(1)
        script.batch.unbounds = [(recipient, NodeID(value: 1), ConnectionID(value: 1))]
        #expect(script.settle(BatchAnswers()) == [])
        #expect(script.memory.sessions.isEmpty)
    }

    @Test func theEndOfAnotherConnectionEndsNothing() {
        var script = Script()
        script.connect(2)
        script.batch.unbounds = [(recipient, NodeID(value: 1), ConnectionID(value: 1))]
        #expect(script.settle(BatchAnswers()) == [])
        #expect(script.memory.sessions.count == 1)
    }

    /// Its gateway heard no mail: a push meanwhile was no reason to come.
    @Test func whoWasNeverKnownHereIsWokenAnew() {
        var script = Script()
        script.accept(envelope(7))
        script.batch.unbounds = [(recipient, NodeID(value: 1), ConnectionID(value: 1))]
        #expect(
            script.settle(BatchAnswers(verdicts: [.init(verdict: .accepted, number: 70)])) == [
                "answer 7: accepted", "wake 1 for a message", "came 1",
            ])
    }

    // MARK: Pages

    @Test func aPageIsAnsweredAndMovesItsConnectionOn() {
        var script = Script()
        script.connect(1, newest: 61)
        script.batch.fetches = [fetch(7), fetch(8)]
        let mail = [60, 61].map { (mail: Mail(number: $0, payload: []), age: Int64(0)) }
        let answers = BatchAnswers(page: [.init(messages: mail), .init(isStale: true)])
        #expect(script.settle(answers) == ["answer 7: page 60 61", "answer 8: stale"])
        #expect(script.memory.sessions[recipient]?.isCaughtUp == true)
    }

    @Test func aPageOfAConnectionThatIsGoneMovesNothing() {
        var script = Script()
        script.connect(2, newest: 61)
        script.batch.fetches = [fetch(7)]
        let mail = [60, 61].map { (mail: Mail(number: $0, payload: []), age: Int64(0)) }
        #expect(script.settle(BatchAnswers(page: [.init(messages: mail, hasMore: true)])) == ["answer 7: page 60 61 …"])
        #expect(script.memory.sessions[recipient]?.isCaughtUp == false)
    }

    /// Contract §5. Even if it named the connection of the session.
    @Test func aPeekMovesNothing() {
        var script = Script()
        script.connect(1, newest: 61)
        var peek = fetch(7)
        peek.peekBytes = 10
        script.batch.fetches = [peek]
        #expect(script.plan.pages[0].requests.map(\.peekBytes) == [10])
        let mail = [60, 61].map { (mail: Mail(number: $0, payload: []), age: Int64(0)) }
        #expect(script.settle(BatchAnswers(page: [.init(messages: mail)])) == ["answer 7: page 60 61"])
        #expect(script.memory.sessions[recipient]?.isCaughtUp == false)
        // Nothing fits, and something waits.
        #expect(script.settle(BatchAnswers(page: [.init(hasMore: true)])) == ["answer 7: page …"])
    }

    /// Many come back at once after a gateway has died, and for nearly all of them nothing waits.
    @Test func emptyMailboxesAreReadFirstAndAllAtOnce() {
        var script = Script()
        script.pagesPerRead = 1
        for number in 1...5 { script.memory.know(person(number)) }
        script.memory.mailboxes.stored(for: person(2))
        script.memory.mailboxes.stored(for: person(4))
        script.batch.fetches = (1...5).map { fetch(UInt64($0), who: person($0)) }
        let pages = script.plan.pages
        #expect(pages.map { $0.fetches.map(\.answer.question) } == [[1, 3, 5, 2], [4]])
        #expect(pages.map { $0.requests.map(\.isEmpty) } == [[true, true, true, false], [false]])
        #expect(script.plan.refuse(pages[1]).map(\.line) == ["answer 4: INTERNAL_ERROR"])
        // Mail of this very batch is not in memory yet.
        script.accept(envelope(9))
        #expect(script.plan.pages.map { $0.fetches.map(\.answer.question) } == [[3, 5, 1], [2], [4]])
    }
}

private let recipient = person(1)
private let sender = person(2)

private func message(_ number: UInt64) -> UUIDText { UUIDText(high: 1, low: number) }

private func envelope(_ number: UInt64, epoch: Int64 = 1, question: UInt64? = nil) -> AcceptEnvelope {
    AcceptEnvelope(
        answer: AnswerAddress(node: NodeID(value: 1), question: question ?? number),
        sender: Caller(identity: sender, epoch: Epoch(value: epoch)),
        senderKey: Bytes32([UInt8](repeating: 1, count: 32))!, messageID: message(number), to: recipient,
        timestamp: Timestamp(milliseconds: 0), signature: Bytes64([UInt8](repeating: 1, count: 64))!,
        digest: Bytes32([UInt8](repeating: 1, count: 32))!, payload: [1], receivedAt: Timestamp(milliseconds: 0))
}

private func receipt(_ number: UInt64, _ status: ReceiptStatus) -> ReceiptReport {
    ReceiptReport(
        recipient: Caller(identity: recipient, epoch: Epoch(value: 1)), sender: sender, messageID: message(number),
        status: status, timestamp: Timestamp(milliseconds: 0))
}

private func honoured(_ number: Int64, wasPending: Bool, outcome: Int64) -> ReceiptStatement.Result {
    .init(position: 0, number: number, wasPending: wasPending, outcome: outcome, idCase: 0)
}

private func fetch(_ question: UInt64, who: WhisperID = recipient) -> FetchRequest {
    FetchRequest(
        answer: AnswerAddress(node: NodeID(value: 1), question: question), connection: ConnectionID(value: 1),
        caller: Caller(identity: who, epoch: Epoch(value: 1)), after: 0, limit: 10)
}

private func bound(
    _ connection: UInt64, who: WhisperID = recipient, boundAt: Int64 = 0,
    state: BoundConnection.AnnouncementState = .new
) -> BoundConnection {
    BoundConnection(
        caller: Caller(identity: who, epoch: Epoch(value: 1)), node: NodeID(value: 1),
        connection: ConnectionID(value: connection), boundAt: Timestamp(milliseconds: boundAt), progress: .fresh,
        state: state, number: 1)
}

/// A batch, and the router that it comes to.
private struct Script {
    var batch = Batch()
    var memory = RouterMemory(MailBounds(), PresenceConfiguration())
    var isOurs: (Partition) -> Bool = { _ in true }
    var pagesPerRead = 100

    mutating func accept(_ envelope: AcceptEnvelope, isGenuine: Bool = true) {
        self.batch.accepts.append(envelope)
        self.batch.areGenuine.append(isGenuine)
    }

    /// Long ago, as the router counts.
    mutating func connect(_ connection: UInt64, who: WhisperID = recipient, newest: Int64? = nil, boundAt: Int64 = 0) {
        self.memory.sessions[who] = MailboxSession(
            bound(connection, who: who, boundAt: boundAt), newest: newest, at: -1_000_000)
    }

    var plan: BatchPlan {
        BatchPlan(
            self.batch, GenuineAccepts(self.batch), pagesPerRead: self.pagesPerRead, knowing: self.memory, at: 1)
    }

    var transaction: BatchTransaction {
        BatchTransaction(self.plan, attachments: .none, spaces: [], mayHold: self.memory.mailboxes.mayHold)
    }

    mutating func settle(_ answers: BatchAnswers) -> [String] {
        self.plan.settle(answers, in: &self.memory, isOurs: self.isOurs, at: 2).actions.map(\.line)
    }
}

extension RouterMemory {
    /// Nothing waits for the identity.
    fileprivate mutating func know(_ identity: WhisperID) {
        let partition = Partition(of: identity)
        if self.mailboxes.term(of: partition) == nil { self.mailboxes.adopted(partition) }
        if let term = self.mailboxes.term(of: partition) { self.mailboxes.learned([], in: term) }
    }
}

extension SQL {
    /// Told by its text.
    fileprivate var kind: String {
        let kinds = [
            ("SELECT i.epoch, (SELECT number", "newest"), ("SELECT o.sender", "outcomes"),
            ("SELECT n.member", "news"), ("WITH judged", "accept"), ("INSERT INTO router.peers", "peers"),
            ("WITH honoured", "receipts"), ("DELETE FROM router.outcomes", "remove outcomes"),
            ("DELETE FROM router.group_news", "remove news"), ("SELECT g.position - 1, i.whisper_id", "page"),
        ]
        return kinds.first { self.template.text.hasPrefix($0.0) }?.1 ?? self.template.text
    }
}

extension BatchAction {
    fileprivate var line: String {
        switch self {
        case .answer(let address, let answer): "answer \(address.question): \(answer.word)"
        case .tell(let node, let event): "node \(node.value): \(event.line)"
        case .tellElsewhere(let outcomes):
            "elsewhere " + outcomes.map { "\($0.key.bits >> 40): \($0.value.line)" }.joined(separator: ", ")
        case .wake(let identity, let message): "wake \(identity.bits >> 40)\(message == nil ? "" : " for a message")"
        case .forgetWake(let identity): "came \(identity.bits >> 40)"
        }
    }
}

extension Answer {
    fileprivate var word: String {
        switch self {
        case .accepted: "accepted"
        case .stale: "stale"
        case .refused(let refusal): refusal.code.rawValue
        case .page(let mail, let next):
            "page " + (mail.map { "\($0.number)" } + (next == nil ? [] : ["…"])).joined(separator: " ")
        default: "another"
        }
    }
}

extension NodeEvent {
    fileprivate var line: String {
        switch self {
        case .bound(let connection, let isCaughtUp, let number):
            "bound \(connection.value), \(isCaughtUp ? "caught up" : "behind"), answering \(number)"
        case .replaced(let connection, _): "replaced \(connection.value)"
        case .mail(let connection, let mail, _):
            "mail \(connection.value): " + mail.map { "\($0.number)" }.joined(separator: " ")
        case .outcomes(let connection, let outcomes): "outcomes \(connection.value): \(outcomes.line)"
        default: "another"
        }
    }
}

extension [Outcome] {
    fileprivate var line: String { self.map { "\($0.number) \($0.kind)" }.joined(separator: " ") }
}
