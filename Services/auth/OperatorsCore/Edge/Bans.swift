package import Bus
import ClusterContract
package import Contract
package import HTTPAccess
package import Logging
package import Store
import Telemetry

/// Bans of identities and guests, and their ends. Each change and its record are one transaction; cached sessions are
/// cleared after the commit.
///
/// A ban leaves the epoch and the tokens as they are, so that a banned session is recognized and told of the ban.
package struct Bans: Sendable {
    private let pool: PostgresPool
    private let bans: BanTable
    private let reports: ReportTable
    private let audit: AuditTable
    private let identities: any Identities
    private let bus: any NoticeBus
    private let clock: ServiceClock
    private let logger: Logger

    package init(
        pool: PostgresPool, identities: any Identities, bus: any NoticeBus, clock: ServiceClock, logger: Logger
    ) {
        self.pool = pool
        self.bans = BanTable(pool)
        self.reports = ReportTable(pool)
        self.audit = AuditTable(pool)
        self.identities = identities
        self.bus = bus
        self.clock = clock
        self.logger = logger
    }

    /// - Parameter event: recorded if the identity or guest exists.
    /// - Returns: whether it does.
    package func ban(
        _ principal: PrincipalID, reason: String, until end: Timestamp?, recording event: AuditEvent
    ) async throws(StoreError) -> Bool {
        let now = self.clock.store
        let ban = try await self.pool.persistently { transaction throws(StoreError) in
            try await self.ban(principal, reason: reason, until: end, recording: event, at: now, in: transaction)
        }
        guard let ban else { return false }
        await self.enforce(ban)
        return true
    }

    /// - Parameter event: recorded if the identity or guest exists.
    /// - Returns: whether it does.
    package func unban(_ principal: PrincipalID, recording event: AuditEvent) async throws(StoreError) -> Bool {
        let now = self.clock.store
        let known = try await self.pool.persistently { transaction throws(StoreError) -> [KeyName]? in
            guard try await self.identities.unban(principal, in: transaction) else { return nil }
            try await self.bans.remove(principal, in: transaction)
            try await self.audit.add(event, at: now, in: transaction)
            return try await self.identities.cachedTokens(of: [principal], in: transaction)
        }
        guard let known else { return false }
        await self.identities.forget(known)
        return true
    }

    /// Decides a report, and bans if that is the decision.
    /// - Parameters:
    ///   - end: of such a ban; nil for never.
    ///   - event: recorded if the report exists.
    /// - Returns: whether it does.
    package func review(
        _ report: UUIDText, _ decision: AdminOperations.Decision, note: String?, banUntil end: Timestamp? = nil,
        recording event: AuditEvent
    ) async throws(StoreError) -> Bool {
        let now = self.clock.store
        let status: AdminOperations.ReportStatus =
            switch decision {
            case .dismiss: .dismissed
            case .warn: .warned
            case .ban: .banned
            }
        let review = try await self.pool.persistently { transaction throws(StoreError) -> (isKnown: Bool, ban: Ban?) in
            if decision == .ban { try await transaction.execute(ReportTable.lock(targetOf: report)) }
            guard
                let about = try await self.reports.review(report, as: status, note: note, at: now, in: transaction)
            else { return (false, nil) }
            try await self.audit.add(event, at: now, in: transaction)
            guard decision == .ban else { return (true, nil) }
            let reason = note.flatMap { $0.isEmpty ? nil : $0 } ?? about.reason
            var consequence = event
            consequence.action = "ban"
            consequence.target = "\(about.target)"
            consequence.note = reason
            let ban = try await self.ban(
                .identity(about.target), reason: reason, until: end, recording: consequence, at: now, in: transaction)
            return (true, ban)
        }
        if let ban = review.ban { await self.enforce(ban) }
        return review.isKnown
    }

    private struct Ban: Sendable {
        var principal: PrincipalID
        var epoch: Epoch
        var tokens: [KeyName]
    }

    private func ban(
        _ principal: PrincipalID, reason: String, until end: Timestamp?, recording event: AuditEvent, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> Ban? {
        guard let epoch = try await self.identities.ban(principal, in: transaction) else { return nil }
        try await self.bans.add(principal, reason: reason, until: end, at: now, in: transaction)
        try await self.audit.add(event, at: now, in: transaction)
        let tokens = try await self.identities.cachedTokens(of: [principal], in: transaction)
        if !tokens.isEmpty {
            try await self.audit.add(
                AuditEvent(.system, AuditEvent.sessionsEnded, target: "\(principal)"), at: now, in: transaction)
        }
        return Ban(principal: principal, epoch: epoch, tokens: tokens)
    }

    private func enforce(_ ban: Ban) async {
        await self.identities.forget(ban.tokens)
        self.close(ban.principal, ban.epoch)
    }

    /// Has every gateway close the connection of the identity or guest (4003).
    private func close(_ principal: PrincipalID, _ last: Epoch) {
        let next = Epoch(value: last.value + 1)
        let notice: ClusterNotice =
            switch principal {
            case .identity(let identity): .sessionsEnded(identity, before: next, why: .banned)
            case .guest(let guest): .guestEnded(guest, before: next, why: .banned)
            }
        self.bus.publish(notice, to: Keyspace.nodes)
    }

    // MARK: Sweeping

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.sweep()
            } catch {
                self.logger.warning("bans not looked after", [.error: "\(error)"])
            }
            try? await Task.sleep(for: OperatorsLimits.banSweepEvery)
        }
    }

    /// Ends bans whose time has come, and repeats the consequences of young ones.
    ///
    /// A consequence may have been lost: the Notice, the process before it published, or the clearing of a cache that a
    /// gateway was just reading.
    package func sweep() async throws(StoreError) {
        let now = self.clock.store
        let since = now - OperatorsLimits.banRepeatedFor
        // One question every time, and mostly the only one.
        guard try await self.bans.hasExpired(at: now, orRecent: since) else { return }
        let over = try await self.pool.persistently { transaction throws(StoreError) -> [KeyName] in
            let principals = try await self.bans.removeExpired(at: now, in: transaction)
            guard !principals.isEmpty else { return [] }
            for principal in principals {
                _ = try await self.identities.unban(principal, in: transaction)
                try await self.audit.add(
                    AuditEvent(.system, AuditEvent.banExpired, target: "\(principal)"), at: now, in: transaction)
            }
            return try await self.identities.cachedTokens(of: principals, in: transaction)
        }
        if !over.isEmpty { await self.identities.forget(over) }
        let recent = try await self.bans.recent(since: since)
        guard !recent.isEmpty else { return }
        let known = try await self.pool.withTransaction { transaction throws(StoreError) in
            try await self.identities.cachedTokens(of: recent.map(\.principal), in: transaction)
        }
        await self.identities.forget(known)
        for (principal, epoch) in recent { self.close(principal, epoch) }
    }
}
