package import Contract
package import Store

/// Takes what identities say about each other (contract §10).
package struct Reporting: Sendable {
    private let pool: PostgresPool
    private let identities: IdentityTable
    private let reports: ReportTable
    private let clock: WallClock

    package init(pool: PostgresPool, clock: @escaping WallClock) {
        self.pool = pool
        self.identities = IdentityTable(pool)
        self.reports = ReportTable(pool)
        self.clock = clock
    }

    /// - Parameter question: what the report came with; taken again it is the same report.
    package func file(
        _ report: Report, of session: Session, question: AnswerAddress
    ) async throws(HandlingError) -> Answer {
        let (reporter, now) = (session.caller.identity, self.clock())
        let key = try await atStore { () async throws(StoreError) in try await self.identities.signKey(of: report.targetID) }
        guard let key else { return Replies.unknownIdentity }
        if let message = report.evidence,
            !Evidence.isGenuine(message, from: report.targetID, key: key, to: reporter)
        {
            return Replies.forgedEvidence
        }
        let id = Evidence.reportID(for: question)
        let standing = try await atStore { () async throws(StoreError) in
            try await self.pool.withTransaction { transaction throws(StoreError) in
                let standing = try await self.identities.hold(session.caller, in: transaction)
                if standing == .live {
                    try await self.reports.add(
                        id, by: reporter, report, evidence: report.evidence?.relayed(), at: now, in: transaction)
                }
                return standing
            }
        }
        switch standing {
        case .live: return Replies.reportAck(id)
        case .banned: return Replies.banned
        case .stale: return .stale
        }
    }
}
