package import Bus
package import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
package import Telemetry

/// Identities, devices, sessions, guests, contact backups and profiles, put together from their ports.
package struct Auth: Sendable {
    private let consumer: RequestConsumer
    private let sessionSweep: ExpirySweep<SessionTable>
    private let guestSweep: ExpirySweep<GuestTable>
    private let profileSweep: ExpirySweep<AbandonedProfiles>
    private let invitationSweep: ExpirySweep<EndedInvitations>
    /// `nil`: nobody is erased for being away.
    private let inactivitySweep: InactivitySweep?
    private let erasureSweep: ErasureSweep<AuthErasedRows>
    private let finishedErasureSweep: ExpirySweep<FinishedErasures>
    private let countErasures: @Sendable () async throws(StoreError) -> Void
    private let strangers:
        (StrangerSweep<StrangerProfiles>, StrangerSweep<ContactBackupTable>, StrangerSweep<GuestTable>)
    private let countSessions: @Sendable () async throws(StoreError) -> Void
    private let rejectedTokens: RejectedTokens
    private let routes: PublicRoutes
    private let serverRoutes: ServerRoutes
    private let pool: PostgresPool

    /// - Parameters:
    ///   - instance: the number of this process among those of its service, from 1.
    ///   - operators: the core that keeps reports and the audit log.
    ///   - rates: of HTTP.
    ///   - trustedProxies: whose `X-Forwarded-For` is believed.
    package init(
        pool: PostgresPool, bus: any Bus, instance: Int, operators: any OperatorRecords, rates: RateTable = RateTable(),
        trustedProxies: TrustedProxies = [], configuration: AuthConfiguration = AuthConfiguration(),
        frameAgeMax: Duration = ClusterLimits.frameAgeMax, clock: ServiceClock = .real, logger: Logger
    ) {
        let sessions = SessionTable(pool)
        let directory = SessionDirectory(sessions, keys: bus, clock: clock, logger: logger)
        let together = configuration.strangersBytesMax
        let guests = GuestTable(pool, strangersBytesMax: together, life: configuration.guestLife)
        let backups = ContactBackupTable(pool)
        let eraser = Eraser(pool: pool, bus: bus, clock: clock, logger: logger)
        let handler = RequestHandler(
            registration: Registration(
                pool: pool, directory: directory, operators: operators, bus: bus,
                usualMode: configuration.registration, rateClasses: configuration.rateClasses, clock: clock,
                logger: logger),
            sessions: SessionService(
                pool: pool, directory: directory, rateClasses: configuration.rateClasses, clock: clock),
            leaving: Leaving(
                pool: pool, eraser: eraser, operators: operators, bus: bus, clock: clock, logger: logger),
            guests: GuestProving(
                guests, areTaken: configuration.server.hasGuests, operators: operators, bus: bus, clock: clock,
                logger: logger),
            operators: operators, directory: directory, logger: logger)
        let metrics = AuthMetrics()
        self.consumer = RequestConsumer(
            bus: bus, handler: handler, instance: instance, frameAgeMax: frameAgeMax, metrics: metrics, logger: logger)
        self.sessionSweep = ExpirySweep(sessions, clock: clock, logger: logger)
        self.countSessions = Self.counting(
            sessions, of: pool, usually: configuration.registration, metrics, clock: clock)
        self.guestSweep = ExpirySweep(guests, clock: clock, logger: logger)
        self.profileSweep = ExpirySweep(
            AbandonedProfiles(pool, life: configuration.profileLife), clock: clock, logger: logger)
        self.invitationSweep = ExpirySweep(
            EndedInvitations(pool, keepsInviters: configuration.server.keepsInviters), clock: clock, logger: logger)
        self.inactivitySweep = configuration.inactiveDays.map {
            InactivitySweep(
                pool: pool, eraser: eraser, operators: operators, days: $0, clock: clock, logger: logger)
        }
        self.erasureSweep = ErasureSweep(
            AuthErasedRows(pool, operators: operators), pool: pool, settledAfter: configuration.erasuresSettledAfter,
            logger: logger)
        let erasures = FinishedErasures(pool)
        self.finishedErasureSweep = ExpirySweep(erasures, clock: clock, logger: logger)
        let erasureMetrics = ErasureMetrics()
        self.countErasures = { () async throws(StoreError) in
            let open = try await erasures.open(at: clock.store)
            erasureMetrics.open.set(open.count)
            erasureMetrics.oldestSeconds.set(open.oldestSeconds)
        }
        self.strangers = (
            StrangerSweep(StrangerProfiles(pool), bytesMax: together, logger: logger),
            StrangerSweep(backups, bytesMax: together, logger: logger),
            StrangerSweep(guests, bytesMax: together, logger: logger)
        )
        self.rejectedTokens = RejectedTokens(
            bus: bus, devices: DeviceTable(), pool: pool, instance: instance, logger: logger)
        self.routes = PublicRoutes(
            directory: directory, identities: IdentityTable(pool), backups: backups, held: HeldRecords(pool),
            profiles: ProfileService(pool: pool, bus: bus, configuration: configuration, clock: clock),
            inviting: Inviting(pool: pool, operators: operators, bus: bus, configuration: configuration, clock: clock),
            limiter: RateLimiter(bus: bus, rates: rates),
            unknownTokens: UnknownTokens(bus: bus, rates: rates, trustedProxies: trustedProxies),
            configuration: configuration, clock: clock, logger: logger)
        self.serverRoutes = ServerRoutes(
            pool: pool, bus: bus, rates: rates, trustedProxies: trustedProxies, configuration: configuration,
            clock: clock, logger: logger)
        self.pool = pool
    }

    /// Counts sessions that live, and looks whether registration is open.
    private static func counting(
        _ sessions: SessionTable, of pool: PostgresPool, usually usual: RegistrationMode, _ metrics: AuthMetrics,
        clock: ServiceClock
    ) -> @Sendable () async throws(StoreError) -> Void {
        return { () async throws(StoreError) in
            metrics.sessionsLive.set(try await sessions.count(at: clock.store))
            let mode = try await pool.query(RegistrationDoor.mode(usual: usual))
            metrics.registrationOpen.set(mode == .open ? 1 : 0)
        }
    }

    /// Works until its task is cancelled, or until `drain`.
    package func run() async {
        await withTaskGroup { group in
            group.addTask { await self.sessionSweep.run(afterwards: self.countSessions) }
            group.addTask { await self.guestSweep.run() }
            group.addTask { await self.profileSweep.run() }
            group.addTask { await self.invitationSweep.run() }
            group.addTask { await self.inactivitySweep?.run() }
            group.addTask { await self.erasureSweep.run() }
            group.addTask { await self.finishedErasureSweep.run(afterwards: self.countErasures) }
            group.addTask { await self.strangers.0.run() }
            group.addTask { await self.strangers.1.run() }
            group.addTask { await self.strangers.2.run() }
            group.addTask { await self.rejectedTokens.run() }
            await self.consumer.run()
            group.cancelAll()
        }
    }

    /// Takes no further Jobs, and returns when those taken are done.
    package func drain() async { await self.consumer.drain() }

    /// The public HTTP of this service.
    package func addRoutes(to router: Router<ClientContext>) {
        self.routes.add(to: router)
        self.serverRoutes.add(to: router)
    }

    /// Whether Postgres answers.
    package func canReachStore() async -> Bool {
        (try? await self.pool.query("SELECT 1")) != nil
    }

    package var gauges: [ObservedGauge] {
        [ObservedGauge(.jobsInFlight) { [consumer] in Double(consumer.jobsInFlight) }]
    }

    package static func pool(url: Secret, instance: Int, logger: Logger) -> PostgresPool {
        PostgresPool(
            PostgresConfiguration(url: url.revealed, applicationName: ProcessName("auth", instance).text),
            connections: AuthLimits.connectionsMax, logger: logger)
    }

    /// This core's steps of the schema `auth`. The other steps stand with the operators' core.
    ///
    /// Version 3 grants what other services need of both: applied steps never change, so it stays whole.
    package static let migrations = [
        Migration(version: 1, name: "auth", sql: PackageResources._01_auth_sql),
        Migration(version: 3, name: "access", sql: PackageResources._03_access_sql),
        Migration(version: 4, name: "calls", sql: PackageResources._04_calls_sql),
        Migration(version: 6, name: "mail keys", sql: PackageResources._06_mail_keys_sql),
        Migration(version: 8, name: "guests", sql: PackageResources._08_guests_sql),
        Migration(version: 9, name: "profiles", sql: PackageResources._09_profiles_sql),
        Migration(version: 10, name: "strangers", sql: PackageResources._10_strangers_sql),
        Migration(version: 12, name: "invitations", sql: PackageResources._12_invitations_sql),
        Migration(version: 13, name: "erasures", sql: PackageResources._13_erasures_sql),
        Migration(version: 14, name: "clients", sql: PackageResources._14_clients_sql),
        Migration(version: 15, name: "shared tokens", sql: PackageResources._15_shared_tokens_sql),
        Migration(version: 16, name: "held about", sql: PackageResources._16_held_about_sql),
        Migration(version: 18, name: "wake secrets", sql: PackageResources._18_wake_secrets_sql),
        Migration(version: 19, name: "rate classes", sql: PackageResources._19_rate_classes_sql),
        Migration(version: 20, name: "doors", sql: PackageResources._20_doors_sql),
        Migration(version: 21, name: "guest erasures", sql: PackageResources._21_guest_erasures_sql),
        Migration(version: 22, name: "guests own", sql: PackageResources._22_guests_own_sql),
    ]
}
