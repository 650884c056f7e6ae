package import Bus
package import Contract
package import HTTPAccess
package import Logging
package import Store
import Telemetry

/// Bans, and their ends. Each change and its record are one transaction; cached sessions are cleared after the commit.
///
/// A ban leaves the epoch and the sessions as they are, so that a banned session is known and told so.
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

    /// - Parameter event: recorded if the identity exists.
    /// - Returns: whether it does.
    package func ban(
        _ identity: WhisperID, reason: String, until end: Timestamp?, recording event: AuditEvent
    ) async throws(StoreError) -> Bool {
        let now = self.clock.store
        let ban = try await self.pool.persistently { transaction throws(StoreError) in
            try await self.ban(identity, reason: reason, until: end, recording: event, at: now, in: transaction)
        }
        guard let ban else { return false }
        await self.enforce(ban)
        return true
    }

    /// - Parameter event: recorded if the identity exists.
    /// - Returns: whether it does.
    package func unban(_ identity: WhisperID, recording event: AuditEvent) async throws(StoreError) -> Bool {
        let now = self.clock.store
        let known = try await self.pool.persistently { transaction throws(StoreError) -> [Bytes32]? in
            guard try await self.identities.unban(identity, in: transaction) else { return nil }
            try await self.bans.remove(identity, in: transaction)
            try await self.audit.add(event, at: now, in: transaction)
            return try await self.identities.tokenHashes(of: [identity], in: transaction)
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
                about.target, reason: reason, until: end, recording: consequence, at: now, in: transaction)
            return (true, ban)
        }
        if let ban = review.ban { await self.enforce(ban) }
        return review.isKnown
    }

    private struct Ban: Sendable {
        var identity: WhisperID
        var epoch: Epoch
        var tokenHashes: [Bytes32]
    }

    private func ban(
        _ identity: WhisperID, reason: String, until end: Timestamp?, recording event: AuditEvent, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> Ban? {
        guard let epoch = try await self.identities.ban(identity, in: transaction) else { return nil }
        try await self.bans.add(identity, reason: reason, until: end, at: now, in: transaction)
        try await self.audit.add(event, at: now, in: transaction)
        let tokenHashes = try await self.identities.tokenHashes(of: [identity], in: transaction)
        if !tokenHashes.isEmpty {
            try await self.audit.add(
                AuditEvent(.system, AuditEvent.sessionsEnded, target: "\(identity)"), at: now, in: transaction)
        }
        return Ban(identity: identity, epoch: epoch, tokenHashes: tokenHashes)
    }

    private func enforce(_ ban: Ban) async {
        await self.identities.forget(ban.tokenHashes)
        self.close(ban.identity, ban.epoch)
    }

    /// Has every gateway close the identity's connection (4003).
    private func close(_ identity: WhisperID, _ last: Epoch) {
        self.bus.publish(
            ClusterNotice.sessionsEnded(identity, before: Epoch(value: last.value + 1), why: .banned), to: Keyspace.nodes)
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
        let over = try await self.pool.persistently { transaction throws(StoreError) -> [Bytes32] in
            let identities = try await self.bans.expired(at: now, in: transaction)
            guard !identities.isEmpty else { return [] }
            for identity in identities {
                _ = try await self.identities.unban(identity, in: transaction)
                try await self.bans.remove(identity, in: transaction)
                try await self.audit.add(
                    AuditEvent(.system, AuditEvent.banExpired, target: "\(identity)"), at: now, in: transaction)
            }
            return try await self.identities.tokenHashes(of: identities, in: transaction)
        }
        if !over.isEmpty { await self.identities.forget(over) }
        let recent = try await self.bans.recent(since: now - OperatorsLimits.banRepeatedFor)
        guard !recent.isEmpty else { return }
        let known = try await self.pool.withTransaction { transaction throws(StoreError) in
            try await self.identities.tokenHashes(of: recent.map(\.identity), in: transaction)
        }
        await self.identities.forget(known)
        for (identity, epoch) in recent { self.close(identity, epoch) }
    }
}
