import Contract
import LocalStack
import NIOCore

/// L8: whisperers whose lines are stored. Measures the cost of a stored line, how soon it is told, and the number of
/// commits.
func measureLiveLines(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 20
    let count = options.count ?? liveConversations
    let lines = try await LiveLineTally.open(count, fleet, stack)
    try await stack.postgres.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", database: "whisper")
    try await Task.sleep(for: .seconds(settling))
    let quiet = await CPUReading(stack)
    try await Task.sleep(for: .seconds(seconds))
    let idle = await CPUReading(stack).since(quiet)

    let (spent, told, stores) = try await lines.measure(fleet, stack, options, seconds: seconds) {
        try await stack.countStores()
    }
    let commits = Double(stores) / spent.seconds
    let stored = Int(try await stack.postgres.run("SELECT count(*) FROM calls.transcript_lines", database: "whisper"))
    let isL8 = count == liveConversations
    let each = (spent.servers / spent.seconds - idle.servers / idle.seconds) * spent.seconds / Double(told)
    return Report(
        .liveLines,
        figures: [
            Figure("CPU for each stored line", spent.servers / Double(told), "µs", aim: isL8 ? 150 : nil),
            Figure("CPU for each, less the quiet cluster's", each, "µs"),
            Figure("due until told, p50", lines.told.milliseconds(50), "ms"),
            Figure("due until told, p99", lines.told.milliseconds(99), "ms", aim: isL8 ? 500 : nil),
            Figure("commits a second", commits, aim: isL8 ? 8 : nil),
            Figure("lines a second", Double(told) / spent.seconds),
            Figure("quiet cluster", idle.servers / idle.seconds / 10_000, "% of a core"),
        ],
        tables: [.latencies([lines.told]), spent.per("line", count: told)],
        checks: [
            Check("never told", lines.typed - lines.toldCount), Check("told twice", lines.repeated),
            Check("not in Postgres", lines.typed - (stored ?? 0)),
        ] + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let transcriptDays = 7
private let secondsOfALine = 5
private let settling = 3
private let timeout = Duration.seconds(60)

/// Measures the cost of a stored line beside lines that are kept already. The latter are rows of the same size,
/// inserted by SQL.
func measureLiveTranscripts(
    _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions
) async throws -> Report {
    let levels = options.levels.isEmpty ? [1_000, 10_000, 100_000] : options.levels
    let count = options.count ?? liveConversations
    let lines = try await LiveLineTally.open(count, fleet, stack)
    var points: [(size: Int, cost: TrafficCost)] = []
    for level in levels {
        try await stack.keepLines(level)
        try await Task.sleep(for: .seconds(settling))
        let (spent, told, _) = try await lines.measure(fleet, stack, options, seconds: options.seconds ?? 10)
        let cost = TrafficCost(
            spent, count: told, latency: lines.told,
            checks: [Check("never told", lines.typed - lines.toldCount), Check("told twice", lines.repeated)])
        points.append((level, cost))
        say("· \(level) lines kept: \(shown(cost.total)) µs for each line")
    }
    return Report(
        growth: .liveTranscripts, of: "kept lines", each: "stored line", points,
        checks: fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

/// Types lines at a steady rate and hears which are kept.
private final class LiveLineTally: FrameListener {
    private struct Whisperer {
        let conversation: LiveConversation
        var dueAt: [UInt64] = []
        var isTold: [Bool] = []
    }

    private var whisperers: [Whisperer]
    private var places: [Int: Int] = [:]
    private var schedule: SteadySchedule?
    private var turn = 0
    private var isStopped = false
    private(set) var typed = 0
    private(set) var toldCount = 0
    private(set) var repeated = 0
    var told = Latency("due until live_line_stored")

    init(_ conversations: [LiveConversation]) {
        self.whisperers = conversations.map { Whisperer(conversation: $0) }
        for (place, conversation) in conversations.enumerated() { self.places[conversation.whisperer.number] = place }
    }

    /// Identities whose streams run and whose lines are kept, with nobody who listens.
    /// - Parameter count: how many.
    static func open(_ count: Int, _ fleet: isolated Fleet, _ stack: LocalStack) async throws -> LiveLineTally {
        let traffic = try await LiveTraffic.prepare(count, listeners: 0, transcriptDays: transcriptDays, fleet, stack)
        traffic.callsListeners = false
        fleet.listener = traffic
        for conversation in traffic.conversations { traffic.open(conversation, on: fleet) }
        try await fleet.expect("all streams run", within: timeout) { traffic.started == count }
        let lines = LiveLineTally(traffic.conversations)
        fleet.listener = lines
        return lines
    }

    /// Each whisperer types a fifth of a line a second for a while, and then all lines are told.
    /// - Parameter counter: of something else that rises.
    /// - Returns: what the servers used meanwhile, how many lines were told in that time, and how much the counter rose.
    func measure(
        _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions, seconds: Int,
        counter: () async throws -> Int = { 0 }
    ) async throws -> (spent: CPUSpent, told: Int, counted: Int) {
        self.isStopped = false
        self.start(rate: max(1, self.whisperers.count / secondsOfALine), on: fleet)
        say("· warming up, \(options.warmUp) s")
        try await Task.sleep(for: .seconds(options.warmUp))
        say("· measuring, \(seconds) s")
        self.told.reset()
        let (before, toldBefore, countedBefore) = (await CPUReading(stack), self.toldCount, try await counter())
        try await Task.sleep(for: .seconds(seconds))
        let (spent, told) = (await CPUReading(stack).since(before), max(1, self.toldCount - toldBefore))
        let counted = try await counter() - countedBefore
        self.isStopped = true
        // The checks show missing lines.
        try? await fleet.expect("all lines are told", within: timeout) { self.toldCount == self.typed }
        return (spent, told, counted)
    }

    private func start(rate: Int, on fleet: isolated Fleet) {
        self.schedule = SteadySchedule(rate: rate)
        self.alarmRang(on: fleet)
    }

    func alarmRang(on fleet: isolated Fleet) {
        guard !self.isStopped, var schedule = self.schedule else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        while let due = schedule.next(by: now) {
            self.type(dueAt: due, on: fleet)
            self.turn = (self.turn + 1) % self.whisperers.count
        }
        self.schedule = schedule
        fleet.setAlarm(at: .uptimeNanoseconds(schedule.due))
    }

    private func type(dueAt time: UInt64, on fleet: isolated Fleet) {
        self.typed += 1
        self.whisperers[self.turn].dueAt.append(time)
        self.whisperers[self.turn].isTold.append(false)
        let (conversation, line) = (self.whisperers[self.turn].conversation, self.whisperers[self.turn].dueAt.count)
        fleet.write(to: conversation.whisperer, conversation.line(line))
    }

    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        guard frame.begins(with: Self.stored), let place = self.places[client.number] else {
            return fleet.noteTrouble("not a stored line: \(String(decoding: frame.bytes.prefix(80), as: UTF8.self))")
        }
        let now = NIODeadline.now().uptimeNanoseconds
        for line in frame.integers(#""lines":["#) {
            guard self.whisperers[place].isTold.indices.contains(line - 1) else {
                fleet.noteTrouble("a line that nobody typed")
                continue
            }
            if self.whisperers[place].isTold[line - 1] {
                self.repeated += 1
                continue
            }
            self.whisperers[place].isTold[line - 1] = true
            self.toldCount += 1
            self.told.record(nanoseconds: now - self.whisperers[place].dueAt[line - 1])
        }
    }

    private static let stored = FrameBytes.start(of: LiveLineStored.type)
}

extension LocalStack {
    /// How often lines were stored: each time is a commit.
    fileprivate func countStores() async throws -> Int {
        let text = try await self.postgres.run(
            "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE '%INSERT INTO calls.transcript_lines%'",
            database: "whisper")
        return Int(text) ?? 0
    }

    /// Adds to each stream's lines until there are so many in all. Their numbers are far above those that are typed.
    fileprivate func keepLines(_ count: Int) async throws {
        try await self.postgres.run(
            """
            INSERT INTO calls.transcripts (conversation_id, content_id, last_line, lines, bytes)
                SELECT conversation_id, content_id, 0, 0, 0 FROM calls.streams ON CONFLICT DO NOTHING;
            INSERT INTO calls.transcript_lines
                    (conversation_id, content_id, line, epoch, seq, generation, nonce, ciphertext)
                SELECT t.conversation_id, t.content_id, 1000000 + n, 1, 1000000 + n, 1, decode(repeat('00', 12), 'hex'),
                    decode(repeat(md5(n::text), \((LiveTraffic.payload + LiveLimits.tagBytes) / 16)), 'hex')
                FROM calls.transcripts t,
                    generate_series(1, ceil(\(count)::float / (SELECT count(*) FROM calls.transcripts))::int) n
                ON CONFLICT DO NOTHING
            """, database: "whisper")
    }
}
