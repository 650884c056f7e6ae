import Contract
import Store

/// The transaction of a batch: its statements in their order, and the ticket of each answer.
struct BatchTransaction {
    private typealias Bound = (
        newest: Pipeline.Ticket<[MailboxTable.Newest]>, outcomes: Pipeline.Ticket<[SenderOutcome]>,
        news: Pipeline.Ticket<[GroupNews]>
    )

    private(set) var pipeline = Pipeline()
    private var bound: Bound?
    private var verdicts: Pipeline.Ticket<[AcceptStatement.Result]>?
    private var receipts: [Pipeline.Ticket<[ReceiptStatement.Result]>] = []
    private var removals: (outcomes: Pipeline.Ticket<Void>, news: Pipeline.Ticket<Void>)?
    private var page: Pipeline.Ticket<[MailboxTable.StoredMessages]>?

    /// The order is part of the meaning. For a newly bound connection, mail of this very batch must not count as
    /// waiting: it would be held back, and the client sees no reason to fetch it. A page must not show mail that this
    /// batch acknowledges.
    init(
        _ plan: BatchPlan, attachments: AcceptStatement.Attachments, spaces: [MailboxSpace?], strangersMax: Int? = nil,
        mayHold: (WhisperID) -> Bool
    ) {
        let batch = plan.batch
        if !batch.bounds.isEmpty {
            let identities = batch.bounds.map(\.caller.identity)
            self.bound = (
                self.pipeline.add(MailboxTable.newest(batch.bounds.map(\.caller), mayHold: mayHold)),
                self.pipeline.add(OutcomesTable.pending(of: identities)),
                self.pipeline.add(GroupNewsTable.pending(of: identities))
            )
        }
        if !plan.accepts.isEmpty {
            self.verdicts = self.pipeline.add(
                AcceptStatement.statement(
                    for: plan.accepts, attachments: attachments, spaces: spaces, strangersMax: strangersMax))
        }
        if !plan.unwritten.isEmpty { self.pipeline.add(PeersTable.note(plan.unwritten.map { plan.accepts[$0] })) }
        for round in plan.rounds {
            self.receipts.append(self.pipeline.add(ReceiptStatement.statement(for: round)))
        }
        if !batch.confirmed.isEmpty {
            self.removals = (
                self.pipeline.add(OutcomesTable.remove(batch.confirmed)),
                self.pipeline.add(GroupNewsTable.remove(batch.confirmed))
            )
        }
        if let first = plan.pages.first { self.page = self.pipeline.add(MailboxTable.read(first.requests)) }
    }

    /// Leaves confirmed outcomes and group events in the store. Clients get them once more, and confirm them once more.
    mutating func leaveOutRemovals() {
        guard let removals = self.removals else { return }
        self.pipeline.replace(removals.outcomes, with: OutcomesTable.remove([]))
        self.pipeline.replace(removals.news, with: GroupNewsTable.remove([]))
    }

    func read(_ answers: Pipeline.Answers) throws(StoreError) -> BatchAnswers {
        var read = BatchAnswers()
        if let bound = self.bound {
            read.newest = try answers[bound.newest]
            read.outcomes = try answers[bound.outcomes]
            read.news = try answers[bound.news]
        }
        if let verdicts = self.verdicts { read.verdicts = try answers[verdicts] }
        for receipts in self.receipts { read.receipts.append(try answers[receipts]) }
        if let page = self.page { read.page = try answers[page] }
        return read
    }
}

/// Results of a batch's statements. A result is empty if the batch did not need its statement.
struct BatchAnswers {
    /// For each connection that binds.
    var newest: [MailboxTable.Newest] = []
    /// For all of them.
    var outcomes: [SenderOutcome] = []
    var news: [GroupNews] = []
    /// For each of `BatchPlan.accepts`.
    var verdicts: [AcceptStatement.Result] = []
    /// For each of `BatchPlan.rounds`.
    var receipts: [[ReceiptStatement.Result]] = []
    /// For each request of the first of `BatchPlan.pages`.
    var page: [MailboxTable.StoredMessages] = []

    /// Whether a message is answered as accepted because of a row that an earlier transaction has written, while this one
    /// has written no row behind it. Then its commit has waited for no standby.
    var restOnEarlierCommits: Bool {
        self.verdicts.contains { $0.verdict == .repeated } && !self.verdicts.contains { $0.verdict == .accepted }
    }
}
