import Contract
import LocalStack
import NIOCore

/// L8: whisperers whose lines are kept. What a stored line costs, how soon it is told, and how many commits there are.
func measureLiveLines(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 20
    let count = options.count ?? liveConversations
    let traffic = try await LiveTraffic.prepare(
        count, listeners: 0, transcriptDays: transcriptDays, fleet, stack)
    traffic.callsListeners = false
    fleet.listener = traffic
    for conversation in traffic.conversations { traffic.open(conversation, on: fleet) }
    try await fleet.expect("all streams run", within: timeout) { traffic.started == count }
    let lines = LiveLineTally(traffic.conversations)
    fleet.listener = lines
    try await stack.postgres.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", database: "whisper")
    try await Task.sleep(for: .seconds(settling))
    let quiet = await CPUReading(stack)
    try await Task.sleep(for: .seconds(seconds))
    let idle = await CPUReading(stack).since(quiet)

    // A rate of its own: a fifth of a line a second of each.
    lines.start(rate: max(1, count / secondsOfALine), on: fleet)
    say("· warming up, \(options.warmUp) s")
    try await Task.sleep(for: .seconds(options.warmUp))
    say("· measuring, \(seconds) s")
    lines.told.reset()
    let (before, toldBefore, commitsBefore) = (await CPUReading(stack), lines.toldCount, try await stack.countStores())
    try await Task.sleep(for: .seconds(seconds))
    let (spent, told) = (await CPUReading(stack).since(before), max(1, lines.toldCount - toldBefore))
    let commits = Double(try await stack.countStores() - commitsBefore) / spent.seconds
    lines.stop()
    try? await fleet.expect("all lines are told", within: timeout) { lines.toldCount == lines.typed }
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

    func start(rate: Int, on fleet: isolated Fleet) {
        self.schedule = SteadySchedule(rate: rate)
        self.alarmRang(on: fleet)
    }

    func stop() { self.isStopped = true }

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
}
