package import ClusterContract
package import Contract
package import Store

/// Files what identities say about each other (contract §10).
package struct Reporting: Sendable {
    private let pool: PostgresPool
    private let identities: any Identities
    private let reports: ReportTable
    private let views: ClusterViews
    private let configuration: OperatorsConfiguration
    private let clock: ServiceClock

    package init(
        pool: PostgresPool, identities: any Identities,
        configuration: OperatorsConfiguration = OperatorsConfiguration(),
        clock: ServiceClock
    ) {
        self.pool = pool
        self.views = ClusterViews(pool)
        self.configuration = configuration
        self.identities = identities
        self.reports = ReportTable(pool)
        self.clock = clock
    }

    /// - Parameter question: what the report came with; taken again it is the same report.
    package func file(
        _ report: Report, of session: Session, question: AnswerAddress
    ) async throws(StoreError) -> Answer {
        let (reporter, now) = (session.caller.identity, self.clock.store)
        guard let key = try await self.identities.signKey(of: report.targetID) else {
            return ReportReplies.unknownTarget
        }
        if let message = report.evidence,
            !Evidence.isGenuine(message, from: report.targetID, key: key, to: reporter)
        {
            return ReportReplies.forgedEvidence
        }
        let id = Evidence.reportID(for: question)
        let isVerified = if let message = report.evidence { try await self.views.knows(message) } else { false }
        return try await self.pool.persistently { transaction throws(StoreError) in
            if let refusal = try await self.identities.refusal(of: session.caller, in: transaction) { return refusal }
            let filing = try await self.reports.add(
                id, by: reporter, report, evidence: report.evidence?.signedPart(), isVerified: isVerified,
                within: self.configuration, at: now, in: transaction)
            return switch filing {
            case .filed: ReportReplies.filed(id)
            case .unknownAndLarge: ReportReplies.evidenceTooLarge
            case .tooMany: ReportReplies.tooMany
            case .noRoom: ReportReplies.noRoom
            case .unknownTarget: ReportReplies.unknownTarget
            }
        }
    }
}
