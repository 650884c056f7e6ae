import ArgumentParser
import CSimulation
import Contract
import Glibc

/// Plays worlds from seeds, and reports those that break a promise. A seed always gives the same course of events.
@main struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper-simulate",
        abstract:
            "A whole cluster and its clients in one thread, from seeds: what breaks a promise is shown with its seed.",
        version: Release.line("whisper-simulate"))

    @Option(help: "Seeds to play.") var seeds: UInt64 = 1_000
    @Option(help: "The first of them.") var first: UInt64 = 0
    @Option(help: "One seed alone.") var seed: UInt64?
    @Option(help: "Seconds of each world in which things go wrong.") var seconds: Int64 = 45
    @Flag(help: "Nothing goes wrong.") var calm = false
    @Flag(help: "People whisper and listen instead of writing mail.") var live = false
    @Flag(help: "People meet in rooms instead of writing mail.") var rooms = false
    @Flag(help: "Two connections show one token, at two gateways, instead of writing mail.") var rivals = false
    @Flag(help: "Redis is a cluster of three masters, which are lost and replaced.") var masters = false
    @Flag(help: "Masters of a cluster are lost and replaced, and nothing else goes wrong.") var lostMasters = false
    @Flag(help: "With mail: Postgres has a standby that is away at times, and may take its place.") var standby = false
    @Flag(help: "Say what happens.") var trace = false
    @Option(help: "A bug that must be found: \(Mutation.allCases.map(\.rawValue).joined(separator: ", ")).")
    var mutation: Mutation?

    @Flag(help: "Each of these bugs in turn: the seed that finds it, and after how long.") var mutations = false

    @Option(help: "So many gateways, each with the same load, and nothing goes wrong: what each of them hears.")
    var gateways: Int?

    @Option(help: "Processes that share the seeds.") var jobs = 1

    func run() throws {
        if self.mutations { return try self.findMutations() }
        if self.jobs > 1, self.seed == nil, self.gateways == nil { return try self.share() }
        try Self.makeHashesRepeatable()
        AnyTurn.install()
        if let gateways { return try self.grow(to: gateways) }
        var total = (seeds: 0, sent: 0, arrived: 0, live: 0, events: 0)
        var lines = (said: 0, shown: 0, missing: 0)
        var rooms = (seats: 0, signals: 0, links: 0, shown: 0)
        var rounds = 0
        var again = (replaced: 0, others: 0)
        for seed in self.seed.map({ $0...$0 }) ?? self.first...(self.first + max(self.seeds, 1) - 1) {
            let world = World(
                seed: seed, isCalm: self.calm || self.redis == .lost, kind: self.kind, masters: self.redis,
                hasStandby: self.hasStandby, mutation: self.mutation, isTracing: self.trace)
            world.play(seconds: self.seconds)
            if self.calm, world.record.repeatedLive > 0 {
                world.record.fault("\(world.record.repeatedLive) messages came twice live, and nothing had gone wrong")
            }
            guard world.record.faults.isEmpty else {
                print("seed \(seed) breaks a promise:")
                for fault in world.record.faults.prefix(5) { print("  \(fault)") }
                print("replay: \(self.replay(seed))")
                throw self.mutation == nil ? ExitCode.failure : ExitCode.success
            }
            total.seeds += 1
            total.sent += world.record.count.sent
            total.arrived += world.record.count.arrived
            total.live += world.record.live
            total.events += world.machine.count
            again.replaced += world.redis.jobs.again.replaced
            again.others += world.redis.jobs.again.others
            if let record = world.scene?.record {
                lines.said += record.lineCount
                lines.shown += record.shownCount
                lines.missing += record.missingCount
            }
            if let scene = world.rooms {
                rooms.seats += scene.record.seatCount
                rooms.signals += scene.record.signalCount
                rooms.links += scene.stacks.connectedCount
                rooms.shown += scene.talks.shownCount
            }
            rounds += world.rivals?.rounds ?? 0
            world.end()
        }
        let what =
            switch self.kind {
            case .mail: "\(total.sent) messages, \(total.arrived) arrived, \(total.live) times live"
            case .live: "\(lines.said) lines, \(lines.shown) times shown, \(lines.missing) times missing"
            case .rooms:
                "\(rooms.seats) seats, \(rooms.signals) signals, \(rooms.links) connections, "
                    + "\(rooms.shown) messages shown"
            case .rivals: "\(rounds) rounds"
            }
        print(
            "\(total.seeds) seeds kept every promise: \(what), \(total.events) events"
                + (self.redis == .lost
                    ? ", \(again.replaced) Jobs read again of replaced masters, \(again.others) of others" : "")
                + (self.seed == nil ? ", \(Self.processorTime / 1_000) s of one core" : ""))
        if let mutation {
            print("\(mutation.rawValue) was not found. --mutations tries \(Self.seedsPerMutation) seeds for each bug.")
            throw ExitCode.failure
        }
    }

    /// A bug of live conversations or rooms shows only in such worlds.
    private var kind: World.Kind {
        self.rivals ? .rivals : self.rooms ? .rooms : self.live ? .live : self.mutation?.kind ?? .mail
    }

    private var redis: World.Masters {
        self.lostMasters ? .lost : self.masters ? .many : self.mutation?.masters ?? .one
    }

    private var hasStandby: Bool { self.standby || self.mutation?.hasStandby == true }

    private func grow(to gateways: Int) throws {
        guard (2...Self.gatewaysMax).contains(gateways) else {
            throw ValidationError("2 to \(Self.gatewaysMax) gateways")
        }
        let world = World(seed: self.seed ?? self.first, isCalm: true, mutation: self.mutation, isTracing: self.trace)
        let growth = world.grow(to: gateways)
        for fault in world.record.faults.prefix(5) { print("  \(fault)") }
        print("\(growth.text), \(world.record.count.sent) messages, \(world.record.count.arrived) arrived")
        if !world.record.faults.isEmpty { throw ExitCode.failure }
        world.end()
    }

    /// Seeds of keys are one byte, and each person has two.
    private static let gatewaysMax = 38

    // MARK: Mutations

    /// Seeds that are tried to find one mutation.
    private static let seedsPerMutation: UInt64 = 5_000

    /// The seed that finds a bug must keep every promise without it. Otherwise it found something else.
    private func findMutations() throws {
        var isEachFound = true
        for mutation in Mutation.allCases {
            let start = ContinuousClock.now
            let course = "--first \(self.first) --seconds \(self.seconds)"
            let said = try Self.output(of: "\(course) --seeds \(Self.seedsPerMutation) --mutation \(mutation.rawValue)")
            let time = ContinuousClock.now - start
            if let seed = said.firstMatch(of: /seed (\d+) breaks a promise/)?.1 {
                let standby = mutation.hasStandby ? "--standby" : nil
                let kind = [mutation.kind.option, mutation.masters.option, standby].compactMap { $0.map { " \($0)" } }
                    .joined()
                let isKept = try Self.output(of: "--seed \(seed) --seconds \(self.seconds)\(kind)").contains(
                    "kept every promise")
                let seconds = Double(time.nanoseconds / 10_000_000) / 100
                print("\(mutation.rawValue): seed \(seed), \(seconds) s\(isKept ? "" : ", and breaks without it, too")")
                isEachFound = isEachFound && isKept
            } else {
                print("\(mutation.rawValue): not found in \(Self.seedsPerMutation) seeds")
                isEachFound = false
            }
        }
        if !isEachFound { throw ExitCode.failure }
    }

    /// The output of another process of this program.
    private static func output(of arguments: String) throws -> String {
        // In the shell, that link would lead to the shell itself.
        guard let program = realpath("/proc/self/exe", nil) else { throw ExitCode.failure }
        defer { free(program) }
        guard let pipe = popen("'\(String(cString: program))' \(arguments)", "r") else { throw ExitCode.failure }
        var (said, line) = ("", [CChar](repeating: 0, count: 1_024))
        while fgets(&line, Int32(line.count), pipe) != nil {
            said += line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        }
        pclose(pipe)
        return said
    }

    // MARK: Many processes

    /// Seeds that one process plays. The memory that its worlds leak is freed with it.
    private static let seedsPerProcess: UInt64 = 1_000

    private func share() throws {
        var next = self.first
        let end = self.first + max(self.seeds, 1)
        var running = 0
        var hasFailed = false
        while running > 0 || (next < end && !hasFailed) {
            if running < self.jobs, next < end, !hasFailed {
                let count = min(Self.seedsPerProcess, end - next)
                try self.start(first: next, count: count)
                next += count
                running += 1
                continue
            }
            var status: Int32 = 0
            guard wait(&status) > 0 else { break }
            running -= 1
            // With a mutation, one process that finds it is enough.
            if (status == 0) == (self.mutation != nil) { hasFailed = true }
        }
        if hasFailed != (self.mutation != nil) { throw ExitCode.failure }
    }

    private func start(first: UInt64, count: UInt64) throws {
        var words = ["whisper-simulate", "--first", "\(first)", "--seeds", "\(count)", "--seconds", "\(self.seconds)"]
        if self.calm { words.append("--calm") }
        if let option = self.kind.option { words.append(option) }
        if let option = self.redis.option { words.append(option) }
        if self.hasStandby { words.append("--standby") }
        if let mutation { words += ["--mutation", mutation.rawValue] }
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        guard posix_spawn(&process, "/proc/self/exe", nil, nil, &arguments, environ) == 0 else {
            throw ExitCode.failure
        }
    }

    /// A shell command that plays the seed again.
    private func replay(_ seed: UInt64) -> String {
        var words = ["--seed \(seed) --trace"]
        if self.seconds != 45 { words.append("--seconds \(self.seconds)") }
        if self.calm { words.append("--calm") }
        if let option = self.kind.option { words.append(option) }
        if let option = self.redis.option { words.append(option) }
        if self.hasStandby { words.append("--standby") }
        if let mutation { words.append("--mutation \(mutation.rawValue)") }
        return "make simulate ARGS=\"\(words.joined(separator: " "))\""
    }

    /// The order in a `Dictionary` differs from process to process, unless the environment fixes it before the start.
    private static func makeHashesRepeatable() throws {
        guard getenv("SWIFT_DETERMINISTIC_HASHING") == nil else { return }
        setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
        var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
        execv("/proc/self/exe", &arguments)
        throw ExitCode.failure
    }

    /// Milliseconds.
    private static var processorTime: Int { clock() / (CLOCKS_PER_SEC / 1_000) }
}

extension Mutation: ExpressibleByArgument {}

extension World.Masters {
    /// The option that plays such worlds.
    fileprivate var option: String? {
        switch self {
        case .one: nil
        case .many: "--masters"
        case .lost: "--lost-masters"
        }
    }
}

extension World.Kind {
    /// The option that plays such worlds.
    fileprivate var option: String? {
        switch self {
        case .mail: nil
        case .live: "--live"
        case .rooms: "--rooms"
        case .rivals: "--rivals"
        }
    }
}
