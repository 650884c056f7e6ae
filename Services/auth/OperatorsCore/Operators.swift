package import Bus
package import ClusterContract
package import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store

/// Reports, bans, the audit log and the operators' HTTP, put together from their ports.
package struct Operators: Sendable {
    private let reporting: Reporting
    private let sweep: RecordSweep
    private let strangers: StrangerSweep<ReportTable>
    private let bans: Bans
    private let rateClassing: RateClassing
    private let banTable: BanTable
    private let database: DatabaseWatch
    private let surroundings: Surroundings
    private let audit: AuditTable
    private let doors: DoorTable
    private let clock: ServiceClock
    private let adminRoutes: AdminRoutes
    private let console: ConsoleRoutes

    /// - Parameters:
    ///   - pool: of the role that owns the schema's tables.
    ///   - identities: of the core that owns identities and sessions.
    ///   - tokens: of those who may use `/admin` and the console.
    ///   - rates: of operators.
    package init(
        pool: PostgresPool, identities: any Identities, bus: any Bus, tokens: AdminTokens = .none,
        rates: RateTable = RateTable(), configuration: OperatorsConfiguration = OperatorsConfiguration(),
        clock: ServiceClock = .real, logger: Logger
    ) {
        self.reporting = Reporting(pool: pool, identities: identities, configuration: configuration, clock: clock)
        self.sweep = RecordSweep(pool, configuration: configuration, clock: clock, logger: logger)
        self.strangers = StrangerSweep(ReportTable(pool), bytesMax: configuration.strangersBytesMax, logger: logger)
        self.bans = Bans(pool: pool, identities: identities, bus: bus, clock: clock, logger: logger)
        self.rateClassing = RateClassing(
            configuration.rateClasses, pool: pool, identities: identities, bus: bus, clock: clock, logger: logger)
        self.banTable = BanTable(pool)
        self.database = DatabaseWatch(pool, bytesMax: configuration.databaseBytesMax, logger: logger)
        self.surroundings = Surroundings(
            prometheus: configuration.prometheus, certificate: configuration.certificate, logger: logger)
        self.audit = AuditTable(pool)
        self.doors = DoorTable(pool)
        self.clock = clock
        let service = OperatorService(
            pool: pool, identities: identities, banning: self.bans, rateClassing: self.rateClassing, keys: bus,
            rates: rates,
            erasuresPerDay: configuration.erasuresPerDay, databaseBytesMax: configuration.databaseBytesMax,
            usualRegistration: configuration.registration, kept: configuration.kept, surroundings: self.surroundings,
            clock: clock, logger: logger)
        self.adminRoutes = AdminRoutes(service: service, tokens: tokens)
        self.console = ConsoleRoutes(
            service: service, sessions: ConsoleSessions(table: ConsoleSessionTable(pool), tokens: tokens))
    }

    /// Works until its task is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.sweep.run() }
            group.addTask { await self.strangers.run() }
            group.addTask { await self.bans.run() }
            group.addTask { await self.rateClassing.run() }
            group.addTask { await self.database.run() }
            group.addTask { await self.surroundings.run() }
        }
    }

    /// The operators' HTTP, for the ops listener alone.
    package func addRoutes(to router: Router<BasicRequestContext>) {
        self.adminRoutes.add(to: router)
        self.console.add(to: router)
    }

    /// This core's steps of the schema `auth`. The other steps stand with the core that owns identities.
    package static let migrations = [
        Migration(version: 2, name: "abuse", sql: PackageResources._02_abuse_sql),
        Migration(version: 5, name: "console", sql: PackageResources._05_console_sql),
        Migration(version: 7, name: "bounds", sql: PackageResources._07_bounds_sql),
        Migration(version: 11, name: "evidence", sql: PackageResources._11_evidence_sql),
        Migration(version: 17, name: "audit end", sql: PackageResources._17_audit_end_sql),
    ]

    // MARK: What clients cause

    /// Files a report.
    /// - Parameter question: what the report came with; taken again it is the same report.
    package func file(
        _ report: Report, of session: Session, question: AnswerAddress
    ) async throws(StoreError) -> Answer {
        try await self.reporting.file(report, of: session, question: question)
    }

    /// Records that a ban has refused a login, or a guest's proof.
    package func recordRefusedLogin(of principal: PrincipalID) async throws(StoreError) {
        try await self.audit.addAtMostOnceAMinute(
            AuditEvent(.system, AuditEvent.loginRefused, target: "\(principal)"), at: self.clock.store)
    }

    /// Removes reports about an identity or guest and its ban, and empties its own reports.
    package func forget(_ principal: PrincipalID, in transaction: borrowing Transaction) async throws(StoreError) {
        try await ErasedRecords.forget(principal, in: transaction)
    }

    /// Adds an invitation that somebody makes for one person.
    /// - Parameter inviter: kept with it, if given.
    /// - Returns: when it expires; `nil` if as many are open as may be.
    package func addInvitation(
        _ tokenHash: Bytes32, for life: Duration, by inviter: WhisperID?, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> Timestamp? {
        try await self.doors.add(
            .random(), tokenHash: tokenHash, uses: 1, for: life, by: .person(inviter), at: now, in: transaction)
    }

    /// Ends the invitation with this token, if there is one.
    package func revokeInvitation(
        _ tokenHash: Bytes32, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) {
        try await self.doors.revoke(tokenHash, at: now, in: transaction)
    }

    /// - Returns: when the ban of an identity ends; `nil` if it has no end, or there is none.
    package func banEnd(of identity: WhisperID) async throws(StoreError) -> Timestamp? {
        try await self.banTable.end(of: identity)
    }
}
