import Bus
import ClusterContract
import Contract
import Store
import Telemetry

/// One batch: what is asked of the database, in one round trip, and what the gateways hear of the answer. `BatchPlan` decides.
extension Router {
    func handle(_ batch: Batch) async throws {
        guard !batch.isEmpty else { return }
        let attachments = try await self.attachments(of: batch.accepts)
        let startedAt = self.now
        var notices = self.makeNoticeBatch()
        let genuine = GenuineAccepts(batch)
        let spaces = try await self.freeSpace(for: genuine.unique)
        let plan = BatchPlan(
            batch, genuine, pagesPerRead: self.configuration.pagesPerReadMax, knowing: self.memory, at: startedAt)
        let transaction = BatchTransaction(
            plan, attachments: attachments, spaces: spaces, strangersMax: self.strangerMail.bound,
            mayHold: self.memory.mailboxes.mayHold)
        let answers = try await self.commit(transaction, jobs: batch.jobs)
        if answers.restOnEarlierCommits { _ = try await self.store.query(ReplicationBarrier.statement) }
        self.follow(plan, answers, &notices)
        try await self.readLaterPages(of: plan, bytes: answers.page.bytes, &notices)
        self.heardPresence(batch, &notices)
        notices.send()
        self.trim(batch)
        if !answers.news.isEmpty {
            try await self.tell(answers.news, &notices) { statement throws(StoreError) in
                try await self.store.query(statement)
            }
            notices.send()
        }
        try await self.catchUp(batch.bounds.map(\.caller.identity))
    }

    /// Whether attachments can be linked is asked until they can: their service may be set up later than this one.
    private func attachments(of accepts: [AcceptEnvelope]) async throws(StoreError) -> AcceptStatement.Attachments {
        guard accepts.contains(where: { $0.attachmentKey != nil }) else { return .none }
        if !self.canLinkAttachments {
            self.canLinkAttachments = try await self.store.query(AcceptStatement.canLink)
        }
        return self.canLinkAttachments ? .linked : .unknown
    }

    // MARK: The transaction

    private func commit(_ transaction: BatchTransaction, jobs: Int) async throws(StoreError) -> BatchAnswers {
        guard !transaction.pipeline.isEmpty else { return BatchAnswers() }
        let clock = ContinuousClock.now
        let answers = try await self.commit(transaction)
        self.metrics.commitSeconds.record(duration: ContinuousClock.now - clock)
        self.metrics.batchJobs.record(jobs)
        return answers
    }

    /// Commits all or nothing; again if another transaction was in the way, as one that moves rows to a kept segment may be.
    /// The last attempt leaves the removals out.
    private func commit(_ transaction: BatchTransaction) async throws(StoreError) -> BatchAnswers {
        var transaction = transaction
        for attempt in 1..<RouterLimits.commitAttemptsMax {
            do throws(StoreError) {
                return try transaction.read(try await self.store.pipeline(transaction.pipeline))
            } catch .conflict {
                self.logger.notice(
                    "batch met another transaction", [.count: .number(transaction.pipeline.statements.count)])
                if attempt == RouterLimits.commitAttemptsMax - 1 { transaction.leaveOutRemovals() }
            }
        }
        return try transaction.read(try await self.store.pipeline(transaction.pipeline))
    }

    /// Reads what did not fit into the transaction, part by part.
    /// - Parameter bytes: of mail that was read in the transaction.
    private func readLaterPages(of plan: BatchPlan, bytes: Int, _ notices: inout NoticeBatch) async throws {
        var bytes = bytes
        for page in plan.pages.dropFirst() {
            guard bytes < RouterLimits.pageBytesMax else {
                for fetch in page.fetches {
                    self.logger.warning(
                        "question not answered",
                        [.trace: "\(fetch.answer.trace)", .reason: "too many mailboxes are read at once"])
                }
                for action in plan.refuse(page) { self.perform(action, &notices) }
                continue
            }
            notices.send()
            await self.untilSent()
            let found = try await self.store.query(MailboxTable.read(page.requests))
            bytes += found.bytes
            let now = self.now
            self.perform(plan.settle(page, found, in: &self.memory, at: now), of: plan, at: now, &notices)
        }
    }

    // MARK: What follows

    /// Nothing suspends between what is read of the sessions and what is written to them.
    private func follow(_ plan: BatchPlan, _ answers: BatchAnswers, _ notices: inout NoticeBatch) {
        let now = self.now
        let settled = plan.settle(answers, in: &self.memory, isOurs: { self.owned[$0] != nil }, at: now)
        self.perform(settled, of: plan, at: now, &notices)
    }

    private func perform(_ settled: Settlement, of plan: BatchPlan, at now: Int64, _ notices: inout NoticeBatch) {
        for event in settled.events { self.record(event, of: plan, at: now) }
        for action in settled.actions { self.perform(action, &notices) }
    }

    private func perform(_ action: BatchAction, _ notices: inout NoticeBatch) {
        switch action {
        case .answer(let address, let answer): notices.answer(address, answer)
        case .tell(let node, let event): notices.add(event, for: node)
        case .tellElsewhere(let outcomes): self.tell(elsewhere: outcomes)
        case .wake(let identity, let message): self.wake(identity, for: message)
        case .forgetWake(let identity): self.wakes.came(identity)
        }
    }

    /// Tells senders what became of their messages.
    func tell(_ outcomes: [SenderOutcome], _ notices: inout NoticeBatch) {
        for action in self.memory.tell(outcomes, isOurs: { self.owned[$0] != nil }) {
            self.perform(action, &notices)
        }
    }

    /// Senders in other routers' partitions are found by their presence.
    private func tell(elsewhere outcomes: [WhisperID: [Outcome]]) {
        let order = Array(outcomes.keys)
        let empty = self.makeNoticeBatch()
        self.bus.getWithoutWaiting(order.map { Keyspace.presence($0) }) { found in
            guard case .success(let presences) = found else { return }
            var notices = empty
            for (sender, bytes) in zip(order, presences) {
                guard let presence = bytes.flatMap({ try? Presence(decoding: $0) }) else { continue }
                notices.add(.outcomes(presence.connection, outcomes[sender]!), for: presence.node)
            }
            notices.send()
        }
    }

    // MARK: What operators learn

    private func record(_ event: BatchEvent, of plan: BatchPlan, at now: Int64) {
        switch event {
        case .judged(let position, let verdict): self.judged(plan.accepts[position], verdict, at: now)
        case .sent(let position, let node):
            self.logger.debug(
                "message sent", [.messageId: "\(plan.accepts[position].messageID)", .node: "\(node)"])
        case .heldBack(let position):
            self.logger.debug("message held back", [.messageId: "\(plan.accepts[position].messageID)"])
        case .receiptHonoured(let report):
            self.logger.debug(
                "receipt honoured",
                [
                    .messageId: "\(report.messageID)", .whisperId: "\(report.recipient.identity)",
                    .reason: "\(report.status)",
                ])
        case .receiptsIgnored(let count): self.metrics.receiptsIgnored.increment(by: count)
        case .bound(let bound):
            self.logger.debug(
                "connection bound",
                [
                    .whisperId: "\(bound.caller.identity)", .connId: .number(bound.connection.value),
                    .node: "\(bound.node)", .reason: "\(bound.state) \(bound.boundAt.milliseconds)",
                ])
        case .paged(let fetch, let messages):
            self.logger.debug(
                "question handled",
                [
                    .trace: "\(fetch.answer.trace)",
                    .frame: "\(fetch.isPeek ? Rates.mailPeeks.action : FetchPending.definition.type)",
                    .whisperId: "\(fetch.caller.identity)", .connId: .number(fetch.connection.value),
                    .count: .number(messages),
                ])
        }
    }

    private func judged(_ envelope: AcceptEnvelope, _ verdict: AcceptStatement.Verdict, at now: Int64) {
        self.logger.debug(
            "message judged",
            [
                .messageId: "\(envelope.messageID)", .whisperId: "\(envelope.to)", .reason: "\(verdict)",
                .trace: "\(envelope.answer.trace)", .latencyMs: .number(now - envelope.receivedAt.milliseconds),
            ])
        switch verdict {
        case .accepted, .repeated:
            (verdict == .accepted ? self.metrics.accepted : self.metrics.repeated).increment()
            self.metrics.routingLatency.recordMilliseconds(max(0, now - envelope.receivedAt.milliseconds))
        case .foreignKey:
            self.logger.error(
                "key in a job is not its sender's",
                [.whisperId: "\(envelope.sender.identity)", .node: "\(envelope.answer.node)"])
            self.metrics.refused[.key].increment()
        case .mailboxFull: self.metrics.refused[.mailbox].increment()
        case .strangerFull: self.metrics.refused[.stranger].increment()
        case .everyStrangerFull: self.metrics.refused[.everyStranger].increment()
        case .strangersFull: self.metrics.refused[.strangers].increment()
        default: break
        }
    }
}

extension [MailboxTable.StoredMessages] {
    /// Payload bytes of all the mail.
    fileprivate var bytes: Int { self.reduce(0) { $0 + $1.messages.reduce(0) { $0 + $1.mail.payload.count } } }
}
