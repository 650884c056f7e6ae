import enum ClusterContract.Keyspace
import struct ClusterContract.Partition
import LocalStack
import TestKit
import WhisperClient

/// A cluster under traffic from a crowd, mistreated by a plan, and judged by the ledger.
package struct ChaosRun: Sendable {
    package struct Options: Sendable {
        package var seed: UInt64
        package var faults: Int
        package var clients = 200
        package var gateways = 2
        package var routers = 2
        /// Instances of auth, push, attachments and calls each.
        package var others = 2
        /// Live conversations, with five clients each beside `clients`.
        package var lessons = 4
        /// Rooms, with two clients each beside `clients`.
        package var meetings = 2
        package var faultsOf = Faults.random
        /// Between two messages of one client, on average.
        package var pace = Duration.seconds(2)
        /// Folder of the server executables.
        package var programs: String?
        /// Keeps the cluster's folder, with its logs.
        package var keepsFolder = false
        /// Level of all services: at `debug` a message can be followed by its id.
        package var logLevel: String?

        package enum Faults: Sendable {
            /// By the seed.
            case random
            /// One process of each service is years ahead, another years behind.
            case clocks
            /// By the seed, with a Redis Cluster of three masters and three replicas.
            case masters
        }

        package init(seed: UInt64, faults: Int) {
            self.seed = seed
            self.faults = faults
        }

        /// Runs the same again, from a shell. It cannot say `others` and `pace`: they are as they are by default.
        var command: String {
            // The plan has other faults in it where clocks cannot be moved.
            let condition = OwnClock.isAvailable ? "" : "  # without libfaketime"
            if self.faultsOf == .clocks { return "make chaos SEED=\(self.seed) CLIENTS=\(self.clients) PLAN=clocks" }
            let plan = self.faultsOf == .masters ? "PLAN=masters " : ""
            return "make chaos SEED=\(self.seed) FAULTS=\(self.faults) CLIENTS=\(self.clients) \(plan)"
                + "ARGUMENTS='--gateways \(self.gateways) --routers \(self.routers) --lessons \(self.lessons) --meetings \(self.meetings)'"
                + condition
        }

        var instances: [ServiceName: Int] {
            [
                .gateway: self.gateways, .router: self.routers, .auth: self.others, .push: self.others,
                .attachments: self.others, .calls: self.others,
            ]
        }
    }

    let options: Options
    let say: @Sendable (String) -> Void

    /// Time the crowd writes before the first fault and after the last.
    private static let calmTime = Duration.seconds(3)
    /// How long a fault may keep a message from its acknowledgement, or an acknowledged one from its recipient and the
    /// receipt from its sender, once everything runs again. Wake-ups and what is sent again have their pauses in it.
    private static let healingMax = Duration.seconds(90)
    /// One stranger for so many clients, and one more.
    private static let clientsPerStranger = 10
    /// Masters of a Redis Cluster. Each has a replica.
    private static let masters = 3
    /// A frozen process or a held link delivers what it holds when it thaws.
    private static let onTheWay = Duration.seconds(20)

    package init(_ options: Options, say: @escaping @Sendable (String) -> Void = { _ in }) {
        self.options = options
        self.say = say
    }

    package static func plan(of options: Options) -> FaultPlan {
        if options.faultsOf == .clocks { return .clocks(of: options.instances) }
        return FaultPlan(
            seed: options.seed, count: options.faults, instances: options.instances, hasClocks: OwnClock.isAvailable,
            hasMasters: options.faultsOf == .masters)
    }

    package func report() async throws -> ChaosReport {
        let pushes = try await Pushes.start()
        do {
            let report = try await self.report(with: pushes)
            await pushes.stop()
            return report
        } catch {
            await pushes.stop()
            throw error
        }
    }

    private func report(with pushes: Pushes) async throws -> ChaosReport {
        let links = Dictionary(uniqueKeysWithValues: Fault.Link.allCases.map { ($0, FaultyProxy()) })
        let hasMasters = self.options.faultsOf == .masters
        let busLinks = hasMasters ? (0..<2 * Self.masters).map { _ in FaultyProxy() } : []
        if !OwnClock.isAvailable { self.say("· libfaketime is not installed: no clock is moved") }
        var configuration = StackConfiguration()
        if let programs = self.options.programs { configuration.programs = programs }
        configuration.instances = self.options.instances
        configuration.rateLimitScale = 1_000
        if hasMasters {
            configuration.busMasters = Self.masters
            configuration.busDetours = busLinks.map(\.port)
        } else {
            configuration.redisDetour = links[.redis]?.port
        }
        configuration.postgresDetour = links[.postgres]?.port
        configuration.hasOwnClocks = OwnClock.isAvailable
        configuration.environment[.push] = pushes.environment
        // Mail that is not acknowledged comes again after 3 s instead of 15.
        configuration.environment[.router] = ["RESEND_AFTER_SECONDS": "3"]
        // The collector runs at least once while a clock is off.
        configuration.environment[.attachments] = ["GC_EVERY_SECONDS": "1"]
        if let level = self.options.logLevel { configuration.logLevel = level }
        if self.options.keepsFolder { configuration.folder = try TemporaryFolder(named: "chaos").path }
        let stack = try LocalStack(configuration)
        await links[.clients]?.leads(to: stack.ports.public)
        await links[.redis]?.leads(to: stack.ports.redis)
        await links[.postgres]?.leads(to: stack.ports.postgres)
        for (link, port) in zip(busLinks, stack.redisCluster?.busPorts ?? []) { await link.leads(to: port) }
        for link in links.values + busLinks { try await link.open() }
        do {
            try await stack.start { self.say("· \($0)") }
            let report = try await self.mistreat(stack, links, busLinks, pushes)
            for link in links.values + busLinks { await link.close() }
            await stack.stop()
            return report
        } catch {
            for link in links.values + busLinks { await link.close() }
            await stack.stop()
            throw error
        }
    }

    private func mistreat(
        _ stack: LocalStack, _ links: [Fault.Link: FaultyProxy], _ busLinks: [FaultyProxy], _ pushes: Pushes
    ) async throws -> ChaosReport {
        let start = ContinuousClock.now
        let plan = Self.plan(of: self.options)
        self.say("· gathering \(self.options.clients) clients")
        let crowd = try await Crowd.gather(
            self.options.clients, seed: self.options.seed, at: "127.0.0.1:\(links[.clients]!.port)",
            pace: self.options.pace,
            pushes: pushes)
        let lines = LineLedger()
        let lessons = try await self.beginLessons(at: "ws://127.0.0.1:\(links[.clients]!.port)", lines)
        let seats = SeatLedger()
        let meetings = try await self.beginMeetings(at: "ws://127.0.0.1:\(links[.clients]!.port)", seats)
        let leavers = try Leavers(at: "ws://127.0.0.1:\(links[.clients]!.port)", crowd.ledger)
        let keepsakes = try await Keepsakes.lay(on: stack, crowd.ledger)
        let strangers = (0...self.options.clients / Self.clientsPerStranger).map {
            Stranger(number: $0, seed: self.options.seed, at: stack.ports.public, victims: crowd.ids, crowd.ledger)
        }
        let injector = Injector(
            stack: stack, links: links, busLinks: busLinks, ledger: crowd.ledger, say: self.say)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await crowd.run() }
            for lesson in lessons { group.addTask { await lesson.run() } }
            for meeting in meetings { group.addTask { await meeting.run() } }
            group.addTask { await injector.keepAlive() }
            try await withThrowingDiscardingTaskGroup { acts in
                for stranger in strangers { acts.addTask { await stranger.run() } }
                acts.addTask { await leavers.run() }
                try await Task.sleep(for: Self.calmTime)
                try await injector.run(plan)
                try await Task.sleep(for: Self.calmTime)
                acts.cancelAll()
            }
            self.say("· healing")
            await crowd.stopWriting()
            for lesson in lessons { await lesson.stopTyping() }
            for meeting in meetings { await meeting.stopBreaking() }
            await self.settle(crowd, stack, absentAreAway: true)
            await self.settle(lessons, lines)
            await self.settle(meetings, seats)
            await leavers.end(on: stack)
            await crowd.fetchSleepers()
            await self.settle(crowd, stack, absentAreAway: true)
            // To those who were away all the time counts what stands in the database, and not what was kept of it elsewhere.
            try await stack.flushRedis()
            await crowd.fetchAbsent()
            await self.settle(crowd, stack)
            group.cancelAll()
        }
        for lesson in lessons { await lesson.end() }
        for meeting in meetings { await meeting.end() }
        await crowd.lookAround()
        await keepsakes.look()
        let clocksMoved = Set(plan.steps.compactMap(\.fault.clockOwner))
        var acts = 0
        for stranger in strangers { acts += await stranger.acts }
        for process in stack.processes where !clocksMoved.contains(process) {
            self.look(into: stack.log(of: process), crowd.ledger)
        }
        return ChaosReport(
            seed: self.options.seed, clients: self.options.clients, command: self.options.command, plan: plan,
            messages: crowd.ledger.count, reconnects: await crowd.reconnects, attachments: await crowd.attachments,
            strangeActs: acts, erased: await leavers.count, seconds: (.now - start).seconds,
            live: Spread(crowd.ledger.liveTravelTimes),
            slowestLive: crowd.ledger.slowestLive, lines: lines.count, seats: seats.count,
            violations: crowd.ledger.faults(onTheWay: Self.onTheWay) + lines.faults() + seats.faults())
    }

    private func beginLessons(at endpoint: String, _ lines: LineLedger) async throws -> [Lesson] {
        // An address of our own making.
        let server = ServerAddress(endpoint)!
        if self.options.lessons > 0 { self.say("· beginning \(self.options.lessons) live conversations") }
        var lessons: [Lesson] = []
        for number in 0..<self.options.lessons {
            lessons.append(try await Lesson.begin(number, seed: self.options.seed, at: server, lines))
        }
        return lessons
    }

    private func beginMeetings(at endpoint: String, _ seats: SeatLedger) async throws -> [Meeting] {
        // An address of our own making.
        let server = ServerAddress(endpoint)!
        if self.options.meetings > 0 { self.say("· beginning \(self.options.meetings) rooms") }
        var meetings: [Meeting] = []
        for number in 0..<self.options.meetings {
            meetings.append(try await Meeting.begin(number, at: server, seats))
        }
        return meetings
    }

    private func settle(_ meetings: [Meeting], _ seats: SeatLedger) async {
        do {
            try await waitUntil("all pairs are connected", within: Self.healingMax, every: .milliseconds(200)) {
                for meeting in meetings where await !meeting.isSettled { return false }
                return true
            }
        } catch {
            for meeting in meetings where await !meeting.isSettled {
                seats.remark("\(error); \(await meeting.openWork)")
            }
        }
    }

    private func settle(_ lessons: [Lesson], _ lines: LineLedger) async {
        do {
            try await waitUntil("all lines are shown", within: Self.healingMax, every: .milliseconds(200)) {
                for lesson in lessons where await !lesson.isSettled { return false }
                return true
            }
        } catch {
            for lesson in lessons where await !lesson.isSettled { lines.remark("\(error); \(await lesson.openWork)") }
        }
    }

    private func settle(_ crowd: Crowd, _ stack: LocalStack, absentAreAway: Bool = false) async {
        do {
            try await crowd.settle(within: Self.healingMax, absentAreAway: absentAreAway)
        } catch {
            crowd.ledger.remark("\(error); \(await self.whereabouts(on: stack))")
        }
    }

    /// Lengths of the streams and owners of the locks, to find out why something is stuck.
    private func whereabouts(on stack: LocalStack) async -> String {
        let lengths = await stack.redis.answer(
            to: Partition.all.map { "XLEN \(Keyspace.mailbox($0).name)\r\n" }.joined() + "PUBSUB CHANNELS\r\n",
            lines: Partition.count + 1)
        let owners = try? await stack.postgres.run(
            """
            SELECT string_agg(owner, ', ') FROM (SELECT application_name || ' ' || count(*) AS owner FROM pg_locks
            JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted GROUP BY application_name) AS owners
            """, database: "whisper")
        let shown = lengths?.replacing("\r\n", with: " ") ?? "Redis does not answer"
        return "streams: \(shown); owners: \(owners ?? "Postgres does not answer")"
    }

    /// A line of level `error` means that a person must act. No fault here is a reason for that but a wrong clock.
    private func look(into log: String, _ ledger: Ledger) {
        for line in StackLog.errors(in: log).prefix(3) { ledger.remark(line) }
    }
}
