import ClusterContract
import Contract
import Store

/// The statements of one batch, and the effects of their results. Pure: the router runs the transaction and does what
/// `settle` returns.
struct BatchPlan {
    /// Mailboxes that are read together.
    struct Page {
        var fetches: [FetchRequest]
        var requests: [MailboxTable.ReadRequest]
    }

    let batch: Batch
    private let genuine: GenuineAccepts
    /// Positions in `accepts` of messages whose pairs have not been written down today, one of each pair.
    let unwritten: [Int]
    /// Receipts about the same message go into rounds one after the other: delivered before read.
    let rounds: [[ReceiptReport]]
    /// The first is read in the transaction, the others after it.
    let pages: [Page]
    /// When the batch was begun, as its Notices.
    private let startedAt: Int64

    var accepts: [AcceptEnvelope] { self.genuine.unique }

    /// - Parameters:
    ///   - genuine: those of this batch.
    ///   - pagesPerRead: how many mailboxes that may hold mail are read together.
    init(
        _ batch: Batch, _ genuine: GenuineAccepts, pagesPerRead: Int, knowing memory: RouterMemory,
        at startedAt: Int64
    ) {
        self.batch = batch
        self.genuine = genuine
        self.startedAt = startedAt
        self.unwritten = Self.unwritten(genuine.unique, memory.presence.written, at: startedAt)
        self.rounds = Self.rounds(of: batch.receipts)
        self.pages = Self.pages(batch.fetches, pagesPerRead, accepts: genuine.unique, memory.mailboxes)
    }

    /// Group mail makes nobody peers.
    private static func unwritten(_ envelopes: [AcceptEnvelope], _ written: WrittenPairs, at now: Int64) -> [Int] {
        var seen: Set<PeerPair> = []
        return envelopes.indices.filter {
            guard envelopes[$0].group == nil else { return false }
            let pair = envelopes[$0].pair
            return !written.contains(pair, at: now) && seen.insert(pair).inserted
        }
    }

    private static func rounds(of receipts: [ReceiptReport]) -> [[ReceiptReport]] {
        guard !receipts.isEmpty else { return [] }
        var rounds: [[ReceiptReport]] = []
        var seen: [MessageKey: Int] = [:]
        for report in receipts {
            let key = MessageKey(
                sender: report.sender, messageID: report.messageID, recipient: report.recipient.identity)
            let round = seen[key, default: 0]
            seen[key] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(report)
        }
        return rounds
    }

    /// Mailboxes known to be empty come first, and all at once: they cost nothing.
    private static func pages(
        _ fetches: [FetchRequest], _ pagesPerRead: Int, accepts: [AcceptEnvelope], _ mailboxes: MailboxMemory
    ) -> [Page] {
        guard !fetches.isEmpty else { return [] }
        // Messages of this very batch must be in its pages, and `mailboxes` does not remember them yet.
        let addressed = Set(accepts.map(\.to))
        func mayHold(_ identity: WhisperID) -> Bool { mailboxes.mayHold(identity) || addressed.contains(identity) }
        let empty = fetches.filter { !mayHold($0.caller.identity) }
        let sorted = empty + fetches.filter { mayHold($0.caller.identity) }
        return sorted.indices.parts(of: pagesPerRead, firstMore: empty.count).map { part in
            Page(
                fetches: Array(sorted[part]),
                requests: part.map {
                    MailboxTable.ReadRequest(
                        caller: sorted[$0].caller, after: sorted[$0].after, through: .max, limit: sorted[$0].limit,
                        peekBytes: sorted[$0].peekBytes, isEmpty: $0 < empty.count)
                })
        }
    }

    // MARK: After the commit

    /// Decides everything that the committed transaction means, but for pages behind the first.
    /// - Parameters:
    ///   - memory: as it was when the plan was made, or since.
    ///   - isOurs: whether a partition is still this router's.
    func settle(
        _ answers: BatchAnswers, in memory: inout RouterMemory, isOurs: (Partition) -> Bool, at now: Int64
    ) -> Settlement {
        var settled = Settlement()
        settled.actions.reserveCapacity(2 * self.accepts.count)
        settled.events.reserveCapacity(2 * self.accepts.count)
        for address in self.genuine.forged { settled.actions.append(.answer(address, .refused(Self.forged))) }
        self.bind(answers, &memory, isOurs, at: now, &settled)
        self.accept(answers.verdicts, &memory, at: now, &settled)
        var told: [SenderOutcome] = []
        for (round, honoured) in zip(self.rounds, answers.receipts) {
            told += Self.receive(round, honoured, &memory, &settled)
        }
        settled.actions += memory.tell(told, isOurs: isOurs)
        if let first = self.pages.first { self.settle(first, answers.page, &memory, at: now, &settled) }
        self.unbind(&memory, at: now, &settled)
        return settled
    }

    private func bind(
        _ answers: BatchAnswers, _ memory: inout RouterMemory, _ isOurs: (Partition) -> Bool, at now: Int64,
        _ settled: inout Settlement
    ) {
        let waiting = Dictionary(grouping: answers.outcomes, by: \.sender)
        for (bound, found) in zip(self.batch.bounds, answers.newest) {
            let identity = bound.caller.identity
            guard isOurs(Partition(of: identity)) else { continue }
            if found.number == nil { memory.mailboxes.foundEmpty(identity) }
            guard found.epoch == bound.caller.epoch else {
                settled.actions.append(.tell(bound.node, .replaced(bound.connection, bound.caller.epoch)))
                continue
            }
            let known = memory.sessions[identity]
            if let known, known.connection != bound.connection || known.node != bound.node {
                guard
                    bound.wins(
                        over: known.caller, boundAt: known.boundAt, node: known.node, connection: known.connection,
                        isNewToo: known.isNew(at: now))
                else {
                    settled.actions.append(.tell(bound.node, .replaced(bound.connection, bound.caller.epoch)))
                    // It has said in Redis that the identity is where it is; the other says so again. No announcement is answered.
                    settled.actions.append(
                        .tell(known.node, .bound(known.connection, isCaughtUp: known.isCaughtUp, answering: 0)))
                    continue
                }
                settled.actions.append(.tell(known.node, .replaced(known.connection, known.caller.epoch)))
            }
            let session = MailboxSession(bound, newest: found.number, after: known, at: self.startedAt)
            memory.presence.came(bound, known: known, at: now)
            memory.sessions[identity] = session
            settled.actions.append(.forgetWake(identity))
            settled.events.append(.bound(bound))
            settled.actions.append(
                .tell(
                    bound.node, .bound(bound.connection, isCaughtUp: session.isCaughtUp, answering: bound.number)))
            if let list = waiting[identity] {
                settled.actions.append(.tell(bound.node, .outcomes(bound.connection, list.map(\.outcome))))
            }
        }
    }

    private func accept(
        _ results: [AcceptStatement.Result], _ memory: inout RouterMemory, at now: Int64,
        _ settled: inout Settlement
    ) {
        for (position, result) in results.enumerated() {
            let envelope = self.accepts[position]
            let answer = Self.answer(to: result.verdict, of: envelope)
            settled.actions.append(.answer(envelope.answer, answer))
            for address in self.genuine.repeats[position] ?? [] { settled.actions.append(.answer(address, answer)) }
            settled.events.append(.judged(position: position, result.verdict))
            guard result.verdict == .accepted, let number = result.number else { continue }
            memory.mailboxes.stored(for: envelope.to)
            memory.loads.stored(for: envelope.to, from: envelope.sender.identity, bytes: envelope.payload.count)
            // `nil` is nobody's session: the recipient is away.
            switch memory.sessions[envelope.to]?.accepted(number, at: now) {
            case .send:
                let session = memory.sessions[envelope.to]!
                let mail = Mail(number: number, payload: envelope.payload)
                settled.actions.append(.tell(session.node, .mail(session.connection, [mail], again: false)))
                settled.events.append(.sent(position: position, session.node))
            case .hold: settled.events.append(.heldBack(position: position))
            case nil: settled.actions.append(.wake(envelope.to, for: envelope.messageID))
            }
        }
        for position in self.unwritten where results[position].verdict == .accepted {
            memory.presence.written.insert(self.accepts[position].pair, at: self.startedAt)
        }
    }

    private static func receive(
        _ reports: [ReceiptReport], _ results: [ReceiptStatement.Result], _ memory: inout RouterMemory,
        _ settled: inout Settlement
    ) -> [SenderOutcome] {
        settled.events.append(.receiptsIgnored(reports.count - results.count))
        return results.map { result in
            let report = reports[result.position]
            settled.events.append(.receiptHonoured(report))
            if result.wasPending {
                memory.sessions[report.recipient.identity]?.acknowledged(result.number)
                memory.mailboxes.removed(from: report.recipient.identity)
            }
            return SenderOutcome(
                sender: report.sender,
                outcome: Outcome(
                    number: result.outcome, kind: report.status == .read ? .read : .delivered,
                    messageID: UUIDText(
                        high: report.messageID.high, low: report.messageID.low, upperCase: result.idCase),
                    peer: report.recipient.identity, group: result.group, timestamp: report.timestamp))
        }
    }

    /// Settles the result of one of `pages`.
    func settle(
        _ page: Page, _ results: [MailboxTable.StoredMessages], in memory: inout RouterMemory, at now: Int64
    ) -> Settlement {
        var settled = Settlement()
        self.settle(page, results, &memory, at: now, &settled)
        return settled
    }

    private func settle(
        _ page: Page, _ results: [MailboxTable.StoredMessages], _ memory: inout RouterMemory, at now: Int64,
        _ settled: inout Settlement
    ) {
        for (fetch, found) in zip(page.fetches, results) {
            guard !found.isStale else {
                settled.actions.append(.answer(fetch.answer, .stale))
                continue
            }
            let last = found.messages.last?.mail.number
            // A peek may find nothing that fits, and more.
            let next = found.hasMore ? Cursor(after: last ?? fetch.after) : nil
            settled.actions.append(.answer(fetch.answer, .page(found.messages.map(\.mail), next: next)))
            settled.events.append(.paged(fetch, messages: found.messages.count))
            if !fetch.isPeek, let session = memory.sessions[fetch.caller.identity],
                session.connection == fetch.connection, session.node == fetch.answer.node
            {
                memory.sessions[fetch.caller.identity]!.paged(last: last, isLast: !found.hasMore, at: now)
            }
        }
    }

    /// Too much mail has been read for this batch: who asked is to ask again.
    func refuse(_ page: Page) -> [BatchAction] {
        page.fetches.map { .answer($0.answer, .refused(Self.tooManyPages)) }
    }

    private func unbind(_ memory: inout RouterMemory, at now: Int64, _ settled: inout Settlement) {
        for gone in self.batch.unbounds {
            guard let session = memory.sessions[gone.identity] else {
                memory.presence.leftUnseen(gone.identity, at: now)
                // It was there until now, behind a gateway that heard nothing: a push meanwhile was no reason to come.
                settled.actions.append(.forgetWake(gone.identity))
                continue
            }
            guard session.node == gone.node, session.connection == gone.connection else { continue }
            if memory.ended(session, at: now) { settled.actions.append(.wake(gone.identity, for: nil)) }
        }
    }

    // MARK: Answers

    private static let forged = Refusal(.authFailed, "invalid signature")
    private static let tooManyPages = Refusal(.internalError, "too many mailboxes are read at once; safe to retry")

    private static func answer(to verdict: AcceptStatement.Verdict, of envelope: AcceptEnvelope) -> Answer {
        switch verdict {
        case .accepted, .repeated: .accepted
        case .stale: .stale
        case .senderBanned: .refused(Refusal(.userBanned, "the identity is banned"))
        case .untimely: .refused(Refusal(.invalidTimestamp, "timestamp is more than 10 minutes off the server's time"))
        case .overRate:
            .refused(
                Refusal(.rateLimited, "too many messages", retryAfterMilliseconds: envelope.overRateFor))
        case .unknownRecipient: .refused(Refusal(.notFound, "no such recipient"))
        case .unknownGroup: .refused(Refusal(.notFound, "no such group"))
        case .notMembers: .refused(Refusal(.forbidden, "sender and recipient must be members of the group"))
        case .recipientBanned: .refused(Refusal(.forbidden, "the recipient is banned"))
        case .unknownAttachment: .refused(Refusal(.notFound, "no such attachment"))
        case .foreignKey: .refused(Refusal(.authFailed, "the signature was not made with the sender's key"))
        case .mailboxFull: .refused(Self.full("the recipient's mailbox is full"))
        case .strangerFull: .refused(Self.full("too many messages from this sender wait for the recipient"))
        case .strangersFull:
            .refused(Self.full("too many messages wait for the recipient from senders that it has not answered"))
        case .everyStrangerFull:
            .refused(Self.full("too many messages wait from senders without peers; try again later"))
        case .foreignAttachment: .refused(Refusal(.forbidden, "the attachment belongs to another identity"))
        }
    }

    private static func full(_ text: String) -> Refusal {
        Refusal(.rateLimited, text, retryAfterMilliseconds: Limits.mailboxRetryAfter.milliseconds)
    }
}

extension AcceptEnvelope {
    fileprivate var pair: PeerPair { PeerPair(from: self.sender.identity, to: self.to) }
}

extension Range<Int> {
    /// The same range in parts that are no longer than this, but the first by so many more.
    func parts(of length: Int, firstMore: Int = 0) -> [Range<Int>] {
        guard !self.isEmpty else { return [] }
        let second = Swift.min(self.lowerBound + firstMore + length, self.upperBound)
        return [self.lowerBound..<second]
            + stride(from: second, to: self.upperBound, by: length).map { $0..<Swift.min($0 + length, self.upperBound) }
    }
}
