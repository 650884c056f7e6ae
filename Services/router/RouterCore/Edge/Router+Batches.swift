import Bus
import Contract
import Store
import Telemetry

/// One batch: what is asked of the database, in one round trip, and what the gateways hear of the answer.
extension Router {
    func handle(_ batch: Batch) async throws {
        guard !batch.isEmpty else { return }
        let attachments = try await self.attachments(of: batch.accepts)
        let startedAt = self.now
        var notices = self.makeNoticeBatch()
        let accepts = self.sorted(batch, &notices)
        let rooms = try await self.rooms(for: accepts.unique)
        let rounds = Self.rounds(of: batch.receipts)
        // What this very batch brings must be in its pages, and is not remembered yet.
        let addressed = batch.fetches.isEmpty ? [] : Set(accepts.unique.map(\.to))
        let asked = batch.fetches.map { fetch in
            let identity = fetch.caller.identity
            let isEmpty = !self.mailboxes.mayHold(identity) && !addressed.contains(identity)
            return (fetch, MailboxTable.ReadRequest(
                caller: fetch.caller, after: fetch.after, through: .max, limit: fetch.limit, isEmpty: isEmpty))
        }
        // Those that cost nothing first, and all at once.
        let (empty, full) = (asked.filter(\.1.isEmpty), asked.filter { !$0.1.isEmpty })
        let (fetches, reads) = ((empty + full).map(\.0), (empty + full).map(\.1))

        // The order is part of the meaning. What a connection that binds finds waiting must not include what this very
        // batch brings, or it would be held back for a client that sees no reason to fetch; a page must not show what
        // this batch acknowledges.
        var statements: [SQL] = []
        var news: [GroupNews] = []
        let now = Timestamp(milliseconds: startedAt)
        if !batch.bounds.isEmpty {
            statements.append(MailboxTable.newest(batch.bounds.map(\.caller), mayHold: self.mailboxes.mayHold))
            statements.append(OutcomesTable.pending(of: batch.bounds.map(\.caller.identity)))
            statements.append(GroupNewsTable.pending(of: batch.bounds.map(\.caller.identity)))
        }
        if !accepts.unique.isEmpty {
            statements.append(AcceptStatement.sql(accepts.unique, attachments: attachments, rooms: rooms))
        }
        let unwritten = self.unwritten(accepts.unique, at: now)
        if !unwritten.isEmpty { statements.append(PeersTable.note(unwritten.map { accepts.unique[$0] })) }
        for round in rounds { statements.append(ReceiptStatement.sql(round)) }
        let removals = statements.count..<statements.count + (batch.confirmed.isEmpty ? 0 : 2)
        if !removals.isEmpty { statements += Self.removals(of: batch.confirmed) }
        let pages = reads.indices.parts(of: self.configuration.pagesPerReadMax, firstMore: empty.count)
        if let first = pages.first { statements.append(MailboxTable.read(Array(reads[first]))) }

        if !statements.isEmpty {
            var bytes = 0
            let clock = ContinuousClock.now
            var results = try await self.commit(statements, removals: removals)[...]
            self.metrics.commitSeconds.record(duration: ContinuousClock.now - clock)
            self.metrics.batchJobs.record(batch.jobs)
            if !batch.bounds.isEmpty {
                let newest = try MailboxTable.newest(results.removeFirst())
                let outcomes = try OutcomesTable.outcomes(results.removeFirst())
                news = try GroupNewsTable.news(results.removeFirst())
                self.bound(batch.bounds, newest: newest, outcomes: outcomes, at: startedAt, &notices)
            }
            if !accepts.unique.isEmpty {
                let verdicts = try AcceptStatement.results(results.removeFirst())
                self.accepted(accepts, verdicts, &notices)
                for position in unwritten where verdicts[position].verdict == .accepted {
                    self.wrote(accepts.unique[position], at: now)
                }
            }
            if !unwritten.isEmpty { results.removeFirst() }
            var told: [(sender: WhisperID, outcome: Outcome)] = []
            for round in rounds {
                told += self.received(round, try ReceiptStatement.results(results.removeFirst()))
            }
            self.tell(told, &notices)
            results.removeFirst(removals.count)
            if let first = pages.first {
                let found = try MailboxTable.storedMessages(results.removeFirst(), for: Array(reads[first]))
                bytes += self.fetched(fetches[first], found, &notices)
            }
            for part in pages.dropFirst() {
                guard bytes < RouterLimits.pageBytesMax else {
                    for fetch in fetches[part] { notices.answer(fetch.answer, .refused(Self.tooManyPages)) }
                    continue
                }
                notices.send()
                await self.untilSent()
                let requests = Array(reads[part])
                let found = try MailboxTable.storedMessages(
                    try await self.store.query(MailboxTable.read(requests)), for: requests)
                bytes += self.fetched(fetches[part], found, &notices)
            }
        }
        for gone in batch.unbounds {
            guard let session = self.sessions[gone.identity], session.node == gone.node,
                session.connection == gone.connection
            else {
                if self.sessions[gone.identity] == nil {
                    self.presence.leftUnseen(gone.identity, at: self.now)
                    // It was there until now, behind a gateway that heard nothing: a push meanwhile was no reason to come.
                    self.wakes.came(gone.identity)
                }
                continue
            }
            self.ended(session)
        }
        self.heardPresence(batch, &notices)
        notices.send()
        self.trim(batch)
        if !news.isEmpty {
            try await self.tell(news, &notices) { sql throws(StoreError) in try await self.store.query(sql) }
            notices.send()
        }
        try await self.catchUp(batch.bounds.map(\.caller.identity))
    }

    /// What has reached its client.
    private static func removals(of numbers: [Int64]) -> [SQL] { [OutcomesTable.remove(numbers), GroupNewsTable.remove(numbers)] }

    /// Commits all or nothing; again if another transaction was in the way, as one that moves rows to a kept segment may be.
    /// - Parameter removals: statements that the last attempt leaves out: what is not removed is told again, and confirmed again.
    private func commit(_ statements: [SQL], removals: Range<Int>) async throws(StoreError) -> [Rows] {
        var statements = statements
        for attempt in 1..<RouterLimits.commitAttemptsMax {
            do throws(StoreError) {
                return try await self.commitOnce(statements)
            } catch .conflict {
                self.logger.notice("batch met another transaction", [.count: .number(statements.count)])
                guard attempt == RouterLimits.commitAttemptsMax - 1, !removals.isEmpty else { continue }
                statements.replaceSubrange(removals, with: Self.removals(of: []))
            }
        }
        return try await self.commitOnce(statements)
    }

    private func commitOnce(_ statements: [SQL]) async throws(StoreError) -> [Rows] {
        // A single statement is a transaction by itself and saves the words around it.
        if statements.count == 1 { return [try await self.store.query(statements[0])] }
        return try await self.store.pipeline(statements)
    }

    // MARK: Accepting

    /// Whether attachments can be linked is asked until they can: their service may be set up later than this one.
    private func attachments(of accepts: [AcceptEnvelope]) async throws(StoreError) -> AcceptStatement.Attachments {
        guard accepts.contains(where: { $0.attachmentKey != nil }) else { return .none }
        if !self.canLinkAttachments {
            self.canLinkAttachments = try await self.store.query(AcceptStatement.canLink)[0].decode(0)
        }
        return self.canLinkAttachments ? .linked : .unknown
    }

    struct Accepts {
        /// Well signed, each key of each session once, in order.
        var unique: [AcceptEnvelope] = []
        /// For each of `unique`, who else sent the same in this batch and gets the same answer.
        var repeats: [Int: [AnswerAddress]] = [:]
    }

    /// A message as one session sent it. Of an older session it is stale, and that is no answer for a newer one that sends it
    /// again.
    private struct SentMessage: Hashable {
        var key: MessageKey
        var epoch: Epoch
    }

    private func sorted(_ batch: Batch, _ notices: inout NoticeBatch) -> Accepts {
        var accepts = Accepts()
        var positions: [SentMessage: Int] = [:]
        positions.reserveCapacity(batch.accepts.count)
        for (envelope, isGenuine) in zip(batch.accepts, batch.verdicts) {
            guard isGenuine else {
                notices.answer(
                    envelope.answer, .refused(Refusal(.authFailed, "the signature does not fit message and key")))
                continue
            }
            let key = SentMessage(
                key: MessageKey(sender: envelope.sender.identity, messageID: envelope.messageID, recipient: envelope.to),
                epoch: envelope.sender.epoch)
            if let position = positions[key] {
                accepts.repeats[position, default: []].append(envelope.answer)
            } else {
                positions[key] = accepts.unique.count
                accepts.unique.append(envelope)
            }
        }
        return accepts
    }

    private func accepted(_ accepts: Accepts, _ results: [AcceptStatement.Result], _ notices: inout NoticeBatch) {
        let now = self.now
        for (position, result) in results.enumerated() {
            let envelope = accepts.unique[position]
            let answer = Self.answer(to: result.verdict, of: envelope)
            notices.answer(envelope.answer, answer)
            for address in accepts.repeats[position] ?? [] { notices.answer(address, answer) }
            self.logger.debug(
                "message judged",
                [
                    .messageId: "\(envelope.messageID)", .whisperId: "\(envelope.to)", .reason: "\(result.verdict)",
                    .trace: "\(envelope.answer.trace)", .latencyMs: .number(now - envelope.receivedAt.milliseconds),
                ])
            switch result.verdict {
            case .accepted: self.metrics.accepted.increment()
            case .repeated: self.metrics.repeated.increment()
            case let verdict:
                self.refused(verdict, envelope)
                continue
            }
            self.metrics.routingLatency.recordMilliseconds(max(0, now - envelope.receivedAt.milliseconds))
            guard let number = result.number else { continue }
            self.mailboxes.stored(for: envelope.to)
            self.loads.stored(for: envelope.to, from: envelope.sender.identity, bytes: envelope.payload.count)
            // `nil` is nobody's session: the recipient is away.
            switch self.sessions[envelope.to]?.accepted(number, at: now) {
            case .send:
                let session = self.sessions[envelope.to]!
                notices.add(
                    .mail(session.connection, [Mail(number: number, payload: envelope.payload)], again: false),
                    for: session.node)
                self.logger.debug("message sent", [.messageId: "\(envelope.messageID)", .node: "\(session.node)"])
            case .hold: self.logger.debug("message held back", [.messageId: "\(envelope.messageID)"])
            case nil: self.wake(envelope.to, for: envelope.messageID)
            }
        }
    }

    /// What operators learn of it.
    private func refused(_ verdict: AcceptStatement.Verdict, _ envelope: AcceptEnvelope) {
        switch verdict {
        case .foreignKey:
            self.logger.error(
                "key in a job is not its sender's", [.whisperId: "\(envelope.sender.identity)", .node: "\(envelope.answer.node)"])
            self.metrics.refused[.key].increment()
        case .mailboxFull: self.metrics.refused[.mailbox].increment()
        case .strangerFull: self.metrics.refused[.stranger].increment()
        case .strangersFull: self.metrics.refused[.strangers].increment()
        default: break
        }
    }

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
            .refused(Self.full("too many messages from senders that the recipient has not answered wait for it"))
        case .foreignAttachment: .refused(Refusal(.forbidden, "the attachment is another's"))
        }
    }

    private static func full(_ text: String) -> Refusal {
        Refusal(.rateLimited, text, retryAfterMilliseconds: Limits.mailboxRetryAfter.milliseconds)
    }

    // MARK: Receipts

    /// Receipts about the same message go into rounds one after the other: delivered before read.
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

    private func received(
        _ reports: [ReceiptReport], _ results: [ReceiptStatement.Result]
    ) -> [(sender: WhisperID, outcome: Outcome)] {
        self.metrics.receiptsIgnored.increment(by: reports.count - results.count)
        return results.map { result in
            let report = reports[result.position]
            self.logger.debug(
                "receipt honoured",
                [
                    .messageId: "\(report.messageID)", .whisperId: "\(report.recipient.identity)",
                    .reason: "\(report.status)",
                ])
            if result.wasPending {
                self.sessions[report.recipient.identity]?.acknowledged(result.number)
                self.mailboxes.removed(from: report.recipient.identity)
            }
            return (
                report.sender,
                Outcome(
                    number: result.outcome, kind: report.status == .read ? .read : .delivered,
                    messageID: UUIDText(
                        high: report.messageID.high, low: report.messageID.low, upperCase: result.idCase),
                    peer: report.recipient.identity, group: result.group, timestamp: report.timestamp)
            )
        }
    }

    /// Tells senders what became of their messages, if they are connected. If not, it waits until they are.
    func tell(_ outcomes: [(sender: WhisperID, outcome: Outcome)], _ notices: inout NoticeBatch) {
        var strangers: [WhisperID: [Outcome]] = [:]
        for (sender, outcome) in outcomes {
            if let session = self.sessions[sender] {
                notices.add(.outcomes(session.connection, [outcome]), for: session.node)
            } else if self.owned[Partition(of: sender)] == nil {
                strangers[sender, default: []].append(outcome)
            }
        }
        if !strangers.isEmpty { self.tell(strangers: strangers) }
    }

    /// Senders in other routers' partitions are found by their presence.
    private func tell(strangers: [WhisperID: [Outcome]]) {
        let order = Array(strangers.keys)
        let empty = self.makeNoticeBatch()
        self.bus.getWithoutWaiting(order.map { Keyspace.presence($0) }) { found in
            guard case .success(let presences) = found else { return }
            var notices = empty
            for (sender, bytes) in zip(order, presences) {
                guard let presence = bytes.flatMap({ try? Presence(decoding: $0) }) else { continue }
                notices.add(.outcomes(presence.connection, strangers[sender]!), for: presence.node)
            }
            notices.send()
        }
    }

    // MARK: Binding

    /// - Parameter startedAt: when the batch was begun, as its Notices.
    private func bound(
        _ bounds: [BoundConnection], newest: [(epoch: Epoch?, newest: Int64?)],
        outcomes: [(sender: WhisperID, outcome: Outcome)], at startedAt: Int64, _ notices: inout NoticeBatch
    ) {
        let waiting = Dictionary(grouping: outcomes, by: \.sender)
        for (bound, found) in zip(bounds, newest) {
            let identity = bound.caller.identity
            guard self.owned[Partition(of: identity)] != nil else { continue }
            if found.newest == nil { self.mailboxes.foundEmpty(identity) }
            guard found.epoch == bound.caller.epoch else {
                notices.add(.replaced(bound.connection, bound.caller.epoch), for: bound.node)
                continue
            }
            if let known = self.sessions[identity],
                known.connection != bound.connection || known.node != bound.node
            {
                guard bound.wins(over: known.caller, boundAt: known.boundAt, isNewToo: known.isNew(at: self.now)) else {
                    notices.add(.replaced(bound.connection, bound.caller.epoch), for: bound.node)
                    // It has said in Redis that the identity is where it is; the other says so again. No announcement is answered.
                    notices.add(.bound(known.connection, isCaughtUp: known.isCaughtUp, answering: 0), for: known.node)
                    continue
                }
                notices.add(.replaced(known.connection, known.caller.epoch), for: known.node)
            }
            let session = MailboxSession(bound, newest: found.newest, after: self.sessions[identity], at: startedAt)
            self.presence.came(bound, known: self.sessions[identity], at: self.now)
            self.sessions[identity] = session
            self.wakes.came(identity)
            self.logger.debug(
                "connection bound",
                [
                    .whisperId: "\(identity)", .connId: .number(bound.connection.value), .node: "\(bound.node)",
                    .reason: "\(bound.state) \(bound.boundAt.milliseconds)",
                ])
            notices.add(.bound(bound.connection, isCaughtUp: session.isCaughtUp, answering: bound.number), for: bound.node)
            if let list = waiting[identity] {
                notices.add(.outcomes(bound.connection, list.map(\.outcome)), for: bound.node)
            }
        }
    }

    // MARK: Reading

    private static let tooManyPages = Refusal(.internalError, "too many mailboxes are read at once; safe to retry")

    /// - Returns: bytes of mail.
    private func fetched(
        _ fetches: ArraySlice<FetchRequest>, _ results: [MailboxTable.StoredMessages], _ notices: inout NoticeBatch
    ) -> Int {
        var bytes = 0
        for (fetch, found) in zip(fetches, results) {
            guard !found.isStale else {
                notices.answer(fetch.answer, .stale)
                continue
            }
            let last = found.messages.last?.mail.number
            let next = found.hasMore ? last.map { Cursor(after: $0) } : nil
            let mail = found.messages.map(\.mail)
            bytes += mail.bytes
            notices.answer(fetch.answer, .page(mail, next: next))
            self.logger.debug(
                "question handled",
                [
                    .trace: "\(fetch.answer.trace)", .frame: "\(FetchPending.definition.type)",
                    .whisperId: "\(fetch.caller.identity)", .connId: .number(fetch.connection.value),
                    .count: .number(found.messages.count),
                ])
            if let session = self.sessions[fetch.caller.identity], session.connection == fetch.connection,
                session.node == fetch.answer.node
            {
                self.sessions[fetch.caller.identity]!.paged(last: last, isLast: !found.hasMore, at: self.now)
            }
        }
        return bytes
    }

    /// Reads and sends the mail of connections that are behind. Timers bring up those that this call does not reach.
    func catchUp(_ identities: [WhisperID]) async throws {
        let behind = identities.compactMap { identity in
            self.sessions[identity].flatMap { session in
                if case .catchingUp(let through) = session.delivery {
                    (identity, self.readRequest(for: session, after: through, through: .max))
                } else {
                    nil
                }
            }
        }
        try await self.read(behind) { session, through, found, notices in
            // Something sent earlier may have been lost during the read. Then newer mail is held back.
            guard case .catchingUp(through) = session.delivery else { return 0 }
            let mail = found.messages.map(\.mail)
            session.caughtUp(mail.map(\.number), isAll: !found.hasMore, at: self.now)
            if !mail.isEmpty { notices.add(.mail(session.connection, mail, again: false), for: session.node) }
            return mail.bytes
        }
    }

    private func readRequest(for session: MailboxSession, after: Int64, through: Int64) -> MailboxTable.ReadRequest {
        .init(caller: session.caller, after: after, through: through, limit: RouterLimits.messagesPerReadMax)
    }

    /// Reads mailboxes of connections part by part, up to `catchUpBytesMax`. The order is random, so that nobody always
    /// comes first.
    /// - Parameter each: takes a session, after which number its mailbox was read, and what was found.
    /// - Returns (each): the bytes that it sent.
    private func read(
        _ work: [(identity: WhisperID, request: MailboxTable.ReadRequest)],
        _ each: (inout MailboxSession, Int64, MailboxTable.StoredMessages, inout NoticeBatch) -> Int
    ) async throws {
        let work = work.shuffled()
        var bytes = 0
        for part in work.indices.parts(of: self.configuration.pagesPerReadMax) where bytes < RouterLimits.catchUpBytesMax {
            if part.lowerBound > 0 { await self.untilSent() }
            var notices = self.makeNoticeBatch()
            let requests = work[part].map(\.request)
            let results = try MailboxTable.storedMessages(
                try await self.store.query(MailboxTable.read(requests)), for: requests)
            for ((identity, request), found) in zip(work[part], results) {
                guard var session = self.sessions[identity] else { continue }
                guard !found.isStale else {
                    self.end(session, &notices)
                    continue
                }
                bytes += each(&session, request.after, found, &notices)
                self.sessions[identity] = session
            }
            notices.send()
        }
    }

    /// The Notice of a newer login was lost: its connection is told once more, as long as it is there.
    private func end(_ session: MailboxSession, _ notices: inout NoticeBatch) {
        notices.add(.replaced(session.connection, session.caller.epoch), for: session.node)
    }

    /// Mail that was held back too long, or not acknowledged.
    func fireTimers(at now: Int64) async throws {
        var behind: [WhisperID] = []
        var late: [(identity: WhisperID, request: MailboxTable.ReadRequest)] = []
        for identity in self.sessions.keys {
            switch self.sessions[identity]!.timerFired(at: now, resendAfter: self.configuration.resendAfter.milliseconds) {
            case .none: break
            case .catchUp: behind.append(identity)
            case .resend(let after, let through):
                late.append((identity, self.readRequest(for: self.sessions[identity]!, after: after, through: through)))
            }
        }
        self.wakes.forget(olderThan: now)
        try await self.catchUp(behind)
        try await self.read(late) { session, _, found, notices in
            // A busy client always has mail under way: only what it has had for long is late. What was accepted later than
            // now was accepted before the database's clock was set back.
            let young = 0..<self.configuration.resendAfter.milliseconds
            let mail = found.messages.filter { !young.contains($0.age) }.map(\.mail)
            session.resent(
                count: mail.count, from: found.messages.first?.mail.number,
                youngSince: found.messages.first { young.contains($0.age) }.map { now - $0.age },
                isAll: !found.hasMore, at: now)
            guard !mail.isEmpty else { return 0 }
            self.metrics.redeliveries.increment(by: mail.count)
            notices.add(.mail(session.connection, mail, again: true), for: session.node)
            return mail.bytes
        }
    }
}

extension [Mail] {
    fileprivate var bytes: Int { self.reduce(0) { $0 + $1.payload.count } }
}

extension Range<Int> {
    /// The same range in parts that are no longer than this, but the first by so many more.
    fileprivate func parts(of length: Int, firstMore: Int = 0) -> [Range<Int>] {
        guard !self.isEmpty else { return [] }
        let second = Swift.min(self.lowerBound + firstMore + length, self.upperBound)
        return [self.lowerBound..<second]
            + stride(from: second, to: self.upperBound, by: length).map { $0..<Swift.min($0 + length, self.upperBound) }
    }
}
