import Foundation
import LocalStack

/// Mixed traffic, hour after hour if need be, while a transaction that somebody forgot holds back every clean-up of Postgres:
/// does anything grow?
///
/// Pairs talk at a steady rate; a few recipients are away for a while in each round, and fetch when they come back; one
/// member of a group writes to the others. A round lasts a minute, because a message's timestamp may not be older than ten.
func measureSoak(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let cast = try await Cast(fleet, options)
    async let forgotten: Void = stack.holdTransactionOpen()
    var samples: [SoakSample] = []
    var checks: [String: Int] = [:]
    var number = 0
    let start = ContinuousClock.now
    let end = start + .seconds(60 * options.minutes)
    do {
        while ContinuousClock.now < end {
            let traffic = await cast.round(firstNumber: number, fleet, options)
            number += traffic.conversations.count
            let before = await CPUReading(stack)
            try await cast.run(traffic, fleet, options)
            let after = await CPUReading(stack)
            let sample = try await SoakSample(
                minutes: (ContinuousClock.now - start) / .seconds(60), accepted: traffic.accepted,
                messages: traffic.tally.delivered, before, after, stack)
            samples.append(sample)
            for check in traffic.checks(troubles: [:]) { checks[check.name, default: 0] += check.count }
            say("· " + sample.text)
        }
    } catch {
        // To leave here is to wait for it, and a cancelled task does not end it.
        try? await stack.endForgottenTransaction()
        throw error
    }
    try await stack.endForgottenTransaction()
    try? await forgotten
    return SoakSample.report(
        samples,
        checks: (checks.sorted { $0.key < $1.key } + fleet.troubles.sorted { $0.key < $1.key }).map {
            Check($0.key, $0.value)
        })
}

/// The clients that take part.
private struct Cast {
    private let clients: [Client]
    private let pairs: Int
    private let group: String

    private static let groupSize = 10
    /// One in so many recipients is away for a while.
    private static let travellerEvery = 10

    init(_ fleet: isolated Fleet, _ options: LoadOptions) async throws {
        self.pairs = max(Self.groupSize, options.pairs)
        say("· registering \(2 * self.pairs) clients")
        self.clients = try await fleet.register(2 * self.pairs)
        self.group = try await fleet.makeGroup(of: self.clients[0], with: self.clients[1..<Self.groupSize])
    }

    private static let roundSeconds = 60

    /// Conversations of one round, with signatures for all that will be sent in it.
    func round(firstNumber: Int, _ fleet: isolated Fleet, _ options: LoadOptions) async -> Traffic {
        let seed = UInt64.random(in: .min ... .max)
        var conversations = (0..<self.pairs).map {
            Conversation(
                firstNumber + $0, from: self.clients[2 * $0], to: self.clients[2 * $0 + 1], payload: options.payload,
                seed: seed)
        }
        for member in self.clients[1..<Self.groupSize] {
            conversations.append(
                Conversation(
                    firstNumber + conversations.count, from: self.clients[0], to: member, in: self.group,
                    payload: options.payload, seed: seed))
        }
        await Conversation.sign(
            options.rate * Self.roundSeconds / conversations.count + 2, for: conversations, on: fleet)
        return Traffic(conversations, pace: .steady, firstNumber: firstNumber)
    }

    /// - Throws: `LoadError` if somebody who was away cannot come back.
    func run(_ traffic: Traffic, _ fleet: isolated Fleet, _ options: LoadOptions) async throws {
        let drain = Drain()
        traffic.drain = drain
        fleet.listener = traffic
        let travellers = stride(from: 0, to: self.pairs, by: Self.travellerEvery).map { self.clients[2 * $0 + 1] }
        traffic.start(rate: options.rate, on: fleet)
        try await Task.sleep(for: .seconds(Self.roundSeconds / 3))
        for client in travellers { fleet.disconnect(client) }
        try await Task.sleep(for: .seconds(Self.roundSeconds / 3))
        for client in travellers {
            try await fleet.connect(client.number)
            drain.fetch(client, cursor: nil, on: fleet)
        }
        try await Task.sleep(for: .seconds(Self.roundSeconds / 3))
        traffic.stop()
        // The checks show messages that are missing then.
        try? await waitUntil("everything has arrived", within: .seconds(20)) {
            traffic.tally.delivered >= traffic.tally.sent
        }
    }
}

/// The result of one round.
private struct SoakSample {
    let minutes: Double
    /// MiB (PSS), by kind of process.
    let memory: [(name: String, value: Double)]
    /// MiB with indexes, the largest first.
    let tables: [(name: String, value: Double)]
    /// From sending to being accepted, in milliseconds: what those who are away do not lengthen.
    let p50: Double
    let p99: Double
    /// Microseconds of CPU for each message.
    let cost: Double

    init(
        minutes: Double, accepted: Latency, messages: Int, _ before: CPUReading, _ after: CPUReading,
        _ stack: LocalStack
    ) async throws {
        self.minutes = minutes
        var memory: [(name: String, value: Double)] = []
        for name in after.servers {
            let kind = CPUReading.kind(of: name)
            let value = after.memory(of: name).proportional / 1_048_576
            if let place = memory.firstIndex(where: { $0.name == kind }) {
                memory[place].value += value
            } else {
                memory.append((kind, value))
            }
        }
        self.memory = memory
        self.tables = try await stack.tableSizes()
        self.p50 = accepted.milliseconds(50)
        self.p99 = accepted.milliseconds(99)
        self.cost = after.since(before).servers / Double(max(1, messages))
    }

    private var memoryTotal: Double { self.memory.reduce(0) { $0 + $1.value } }
    /// Without the ledger, which remembers each message for two weeks and has to grow.
    private var tablesTotal: Double {
        self.tables.reduce(0) { $0 + ($1.name.hasPrefix("router.ledger") ? 0 : $1.value) }
    }

    var text: String {
        "\(shown(self.minutes)) min: \(shown(self.memoryTotal)) MiB, tables \(shown(self.tablesTotal)) MiB, "
            + "accepted p50 \(shown(self.p50)) p99 \(shown(self.p99)) ms, \(shown(self.cost)) µs for each message"
    }

    /// Growth within an hour, as a share of the mean, that still counts as flat.
    private static let flat = 0.1

    static func report(_ samples: [SoakSample], checks: [Check]) -> Report {
        func trend(_ name: String, _ unit: String, _ value: (SoakSample) -> Double) -> Table.Row {
            // Caches fill at first.
            let settled = Array(samples.dropFirst(samples.count / 4))
            let trend = Trend(settled.map { ($0.minutes, value($0)) })
            return Table.Row(
                "\(name), \(unit)", [value(samples[0]), trend.mean, value(samples[samples.count - 1]), trend.perHour])
        }
        let kinds = samples[0].memory.map(\.name)
        let names = samples[samples.count - 1].tables.map(\.name)
        func table(_ name: String) -> (SoakSample) -> Double { { $0.tables.first { $0.name == name }?.value ?? 0 } }
        let main = [
            trend("memory, all servers", "MiB", \.memoryTotal), trend("tables but the ledger", "MiB", \.tablesTotal),
            trend("accepted, p50", "ms", \.p50), trend("accepted, p99", "ms", \.p99),
            trend("CPU", "µs/message", \.cost),
        ]
        let rows =
            main
            + kinds.indices.map { kind in trend("memory of \(kinds[kind])", "MiB", { $0.memory[kind].value }) }
            + names.map { trend($0, "MiB", table($0)) }
        let growing = main.filter { $0.values[3] > Self.flat * max($0.values[1], .leastNormalMagnitude) }
        func series(_ name: String, _ value: (SoakSample) -> Double) -> Chart.Series {
            Chart.Series(name, samples.map { .init($0.minutes, value($0)) })
        }
        return Report(
            .soak,
            figures: main.map {
                Figure("growth in an hour: \($0.name)", $0.values[3], "", aim: Self.flat * $0.values[1])
            } + [
                Figure(
                    "things that are not flat", Double(growing.count), growing.map(\.name).joined(separator: "; "),
                    aim: 0)
            ],
            tables: [
                Table(
                    "first, mean and last value; growth in an hour, by the line that fits best, without the first quarter",
                    columns: ["first", "mean", "last", "per hour"], rows: rows)
            ],
            checks: checks,
            charts: [
                Chart(
                    "soak-memory", "Memory during the soak", x: .init("minutes"), y: .init("MiB (PSS)"),
                    kinds.indices.map { kind in series(kinds[kind]) { $0.memory[kind].value } }),
                Chart(
                    "soak-tables", "Tables during the soak, a transaction held open", x: .init("minutes"),
                    y: .init("MiB"),
                    names.map { series($0, table($0)) }),
                Chart(
                    "soak-latency", "Latency during the soak", x: .init("minutes"), y: .init("ms"),
                    [series("accepted, p50", \.p50), series("accepted, p99", \.p99)]),
            ])
    }
}

/// The straight line that fits best (least squares).
private struct Trend {
    let mean: Double
    /// Growth in 60 units of x.
    let perHour: Double

    init(_ points: [(x: Double, y: Double)]) {
        let count = Double(max(1, points.count))
        let x = points.reduce(0) { $0 + $1.x } / count
        let y = points.reduce(0) { $0 + $1.y } / count
        let spread = points.reduce(0) { $0 + ($1.x - x) * ($1.x - x) }
        let common = points.reduce(0) { $0 + ($1.x - x) * ($1.y - y) }
        self.mean = y
        self.perHour = spread > 0 ? common / spread * 60 : 0
    }
}

extension LocalStack {
    private static let applicationName = "forgotten"
    /// More than the longest soak, in seconds. The end of a shorter soak ends the transaction too.
    private static let holdMax = 5 * 3_600

    /// Returns when it has been ended.
    fileprivate func holdTransactionOpen() async throws {
        // One transaction, as all that psql gets with -c; its number and its snapshot hold back what removes dead rows.
        try await self.postgres.run(
            "SET application_name = '\(Self.applicationName)'; SELECT pg_current_xact_id(); SELECT pg_sleep(\(Self.holdMax))",
            database: "whisper")
    }

    fileprivate func endForgottenTransaction() async throws {
        try await self.postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(Self.applicationName)'")
    }

    /// MiB of the cluster's largest tables, indexes included; partitions count for their table.
    fileprivate func tableSizes() async throws -> [(name: String, value: Double)] {
        let text = try await self.postgres.run(
            """
            SELECT coalesce(pg_partition_root(c.oid)::regclass::text, n.nspname || '.' || c.relname) AS name,
                sum(pg_total_relation_size(c.oid)) / 1048576.0 AS size
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname IN ('auth', 'router', 'push', 'calls', 'attachments')
            GROUP BY 1 ORDER BY 2 DESC LIMIT 6
            """, database: "whisper")
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: "|")
            guard fields.count == 2, let size = Double(fields[1]) else { return nil }
            return (String(fields[0]), size)
        }
    }
}
