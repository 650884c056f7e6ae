package import Bus
package import Logging
package import Store

/// The push service, put together from its ports.
package struct PushParts: Sendable {
    /// Mail's wake-ups, calls' wake-ups, and what is due later.
    package let mail: PushService
    package let calls: CallPusher
    package let look: WakeLook

    /// - Parameters:
    ///   - instance: number of this process among those of push.
    ///   - schedule: see `PushSchedule`.
    ///   - clock: whose database's side says when something is due or old.
    package init(
        instance: Int, bus: any JobBus & KeyBus, pool: PostgresPool, providers: PushProviders,
        schedule: PushSchedule = PushSchedule(), clock: ServiceClock = .real, logger: Logger
    ) {
        // A consumer's name is never used again: what a dead one held is claimed, not found.
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        let consumer = "push-\(instance)-\(random)"
        let table = RecipientTable(pool, clock: clock)
        let desk = PushDesk(providers: providers, bus: bus, logger: logger)
        let watcher = Watcher()
        let round = PushRound(desk: desk, table: table, watcher: watcher, schedule: schedule, logger: logger)
        self.mail = PushService(
            consumer: consumer, bus: bus, round: round, logger: logger, claimIdle: schedule.claimIdle)
        self.calls = CallPusher(consumer: consumer, bus: bus, desk: desk, table: table, logger: logger)
        self.look = WakeLook(
            bus: bus, table: table, round: round, watcher: watcher, schedule: schedule, logger: logger)
    }

    /// The schema `push`. Needs auth's and the router's to exist.
    package static let migrator = Migrator(
        schema: "push",
        migrations: [Migration(version: 1, name: "push", sql: PackageResources._01_push_sql)])
}

/// Times that operators may choose, and tests have to.
package struct PushSchedule: Sendable {
    /// Multiplies the pauses of `WakePlan`: reminders, the budget, and retries.
    package var scale: Double
    /// See `PushLimits.claimIdle`.
    package var claimIdle: Duration

    package init(scale: Double = 1, claimIdle: Duration = PushLimits.claimIdle) {
        self.scale = scale
        self.claimIdle = claimIdle
    }
}
