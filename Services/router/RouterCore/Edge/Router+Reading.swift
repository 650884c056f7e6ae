import Bus
import ClusterContract
import Contract
import Store
import Telemetry

/// Mail that connections are sent from their mailboxes, beside what batches bring them.
extension Router {
    /// Reads and sends the mail of connections that are behind. Timers bring up those that this call does not reach.
    func catchUp(_ identities: [WhisperID]) async throws {
        let behind = identities.compactMap { identity in
            self.memory.sessions[identity].flatMap { session in
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
        for part in work.indices.parts(of: self.configuration.pagesPerReadMax)
        where bytes < RouterLimits.catchUpBytesMax {
            if part.lowerBound > 0 { await self.untilSent() }
            var notices = self.makeNoticeBatch()
            let requests = work[part].map(\.request)
            let results = try await self.store.query(MailboxTable.read(requests))
            for ((identity, request), found) in zip(work[part], results) {
                guard var session = self.memory.sessions[identity] else { continue }
                guard !found.isStale else {
                    self.end(session, &notices)
                    continue
                }
                bytes += each(&session, request.after, found, &notices)
                self.memory.sessions[identity] = session
            }
            notices.send()
        }
    }

    /// The Notice of a newer login was lost: its connection is told once more, as long as it is there.
    private func end(_ session: MailboxSession, _ notices: inout NoticeBatch) {
        notices.add(.replaced(session.connection, session.caller.epoch), for: session.node)
    }

    /// Mail that was held back too long, or not acknowledged.
    func fireTimers(of slices: [Int], at now: Int64) async throws {
        var behind: [WhisperID] = []
        var late: [(identity: WhisperID, request: MailboxTable.ReadRequest)] = []
        for identity in slices.flatMap({ self.memory.sessions.identities(inSlice: $0) }) {
            switch self.memory.sessions[identity]!.timerFired(
                at: now, resendAfter: self.configuration.resendAfter.milliseconds)
            {
            case .none: break
            case .catchUp: behind.append(identity)
            case .resend(let after, let through):
                late.append(
                    (identity, self.readRequest(for: self.memory.sessions[identity]!, after: after, through: through)))
            }
        }
        if slices.contains(0) { self.wakes.forget(olderThan: now) }
        try await self.catchUp(behind)
        try await self.read(late) { session, _, found, notices in
            // A busy client always has mail under way: only mail without a receipt for long is late. Mail dated later
            // than now was accepted before the database's clock was set back.
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
    var bytes: Int { self.reduce(0) { $0 + $1.payload.count } }
}
