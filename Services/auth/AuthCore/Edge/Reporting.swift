package import Contract
package import Store

/// Takes what identities say about each other (contract §10).
package struct Reporting: Sendable {
    private let pool: PostgresPool
    private let identities: IdentityTable
    private let reports: ReportTable
    private let views: ClusterViews
    private let configuration: AuthConfiguration
    private let clock: ServiceClock

    package init(pool: PostgresPool, configuration: AuthConfiguration = AuthConfiguration(), clock: ServiceClock) {
        self.pool = pool
        self.views = ClusterViews(pool)
        self.configuration = configuration
        self.identities = IdentityTable(pool)
        self.reports = ReportTable(pool)
        self.clock = clock
    }

    /// - Parameter question: what the report came with; taken again it is the same report.
    package func file(
        _ report: Report, of session: Session, question: AnswerAddress
    ) async throws(HandlingError) -> Answer {
        let (reporter, now) = (session.caller.identity, self.clock.store)
        let key = try await atStore { () async throws(StoreError) in try await self.identities.signKey(of: report.targetID) }
        guard let key else { return Replies.unknownIdentity }
        if let message = report.evidence,
            !Evidence.isGenuine(message, from: report.targetID, key: key, to: reporter)
        {
            return Replies.forgedEvidence
        }
        let id = Evidence.reportID(for: question)
        return try await atStore { () async throws(StoreError) in
            let isVerified = if let message = report.evidence { try await self.views.knows(message) } else { false }
            return try await self.pool.withTransaction { transaction throws(StoreError) in
                switch try await self.identities.hold(session.caller, in: transaction) {
                case .banned: return Replies.banned
                case .stale: return .stale
                case .live: break
                }
                let isThere = try await self.reports.add(
                    id, by: reporter, report, evidence: report.evidence?.signedPart(), isVerified: isVerified,
                    openMax: self.configuration.openReportsMax, at: now, in: transaction)
                return isThere ? Replies.reportAck(id) : Replies.tooManyReports
            }
        }
    }
}
