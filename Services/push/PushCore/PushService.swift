package import Bus
import Contract
package import Logging
package import Store

/// The push service, composed from its ports.
package struct PushService: Sendable {
    /// The workers for wake-ups of mail and of calls, and the scheduler of retries and reminders.
    package let mail: MailPushWorker
    package let calls: CallPusher
    package let reminders: ReminderScheduler

    /// - Parameters:
    ///   - instance: number of this process among those of push.
    ///   - schedule: see `PushSchedule`.
    ///   - clock: decides when something is due or old.
    package init(
        instance: Int, bus: any JobBus & KeyBus, pool: PostgresPool, providers: PushProviders,
        schedule: PushSchedule = PushSchedule(), clock: ServiceClock = .real, logger: Logger
    ) {
        // The name of a consumer is never used again. Jobs of a dead consumer are claimed.
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        let consumer = "push-\(instance)-\(random)"
        let table = RecipientTable(pool, clock: clock)
        let sender = PushSender(providers: providers, bus: bus, logger: logger)
        let watcher = Watcher()
        let round = PushRound(sender: sender, table: table, watcher: watcher, schedule: schedule, logger: logger)
        self.mail = MailPushWorker(
            consumer: consumer, bus: bus, round: round, logger: logger, claimIdle: schedule.claimIdle)
        self.calls = CallPusher(consumer: consumer, bus: bus, sender: sender, table: table, logger: logger)
        self.reminders = ReminderScheduler(
            bus: bus, table: table, round: round, watcher: watcher, schedule: schedule, logger: logger)
    }

    /// The schema `push`. Needs auth's and the router's to exist.
    package static let migrator = Migrator(
        schema: "push",
        migrations: [
            Migration(version: 1, name: "push", sql: PackageResources._01_push_sql),
            Migration(version: 2, name: "held about", sql: PackageResources._02_held_about_sql),
        ])
}

/// Times that operators may choose, and tests have to.
package struct PushSchedule: Sendable {
    /// Multiplies the pauses of `WakePlan`: reminders, the budget, and retries.
    package var scale: Double
    /// See `PushLimits.claimIdle`.
    package var claimIdle: Duration
    /// How long operators see a wake-up that was given up.
    package var deadLetterLife: Duration

    package init(
        scale: Double = 1, claimIdle: Duration = PushLimits.claimIdle,
        deadLetterLife: Duration = KeptRecord.deadLetters.usual!
    ) {
        self.scale = scale
        self.claimIdle = claimIdle
        self.deadLetterLife = deadLetterLife
    }
}
