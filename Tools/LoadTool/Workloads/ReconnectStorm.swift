import LocalStack
import NIOCore

/// All gateways are killed while all clients are online, and started again. A client that loses the connection comes
/// back as real ones do: after a moment, again and again; then it fetches what waits. A twentieth of the clients have
/// mail that they have not acknowledged.
func measureStorm(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? 10_000
    say("· registering \(count) clients")
    let clients = try await fleet.register(count)
    let seed = UInt64.random(in: .min ... .max)
    let conversations = (0..<max(1, count / 20)).map {
        Conversation($0, from: clients[2 * $0], to: clients[2 * $0 + 1], payload: options.payload, seed: seed)
    }
    await Conversation.sign(mailEach, for: conversations, on: fleet)
    let traffic = Traffic(conversations, pace: .whenAccepted)
    traffic.perSenderMax = mailEach
    traffic.isDeaf = true
    let storm = Storm(traffic, count: count)
    fleet.listener = storm
    traffic.start(window: mailEach, on: fleet)
    let mail = mailEach * conversations.count
    try await waitUntil("everything is accepted", within: timeout) { traffic.tally.accepted >= mail }
    try await Task.sleep(for: settling)
    traffic.isDeaf = false

    try await stack.postgres.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", database: "whisper")
    let before = await CPUReading(stack)
    let looksBefore = try await stack.countLooks()
    try await stack.postgres.run("SELECT pg_stat_statements_reset()", database: "whisper")
    say("· killing all gateways")
    storm.begin()
    let gateways = stack.processes.filter { if case .service(.gateway, _) = $0 { true } else { false } }
    await withDiscardingTaskGroup { group in
        for gateway in gateways { group.addTask { await stack.kill(gateway) } }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for gateway in gateways { group.addTask { try await stack.start(gateway) } }
        try await group.waitForAll()
    }
    let restarted = storm.seconds
    try? await waitUntil("everybody is back", within: timeout) { storm.back == count }
    let back = storm.seconds
    try? await waitUntil("all mail is receipted", within: timeout) { traffic.tally.delivered >= mail }
    let caughtUp = storm.seconds
    let after = await CPUReading(stack)
    let statements = try await stack.mailboxStatements()
    let looks = try await stack.countLooks() - looksBefore
    let spent = after.since(before)
    say("· everybody is back after \(shown(back)) s")
    func sum(_ column: Int) -> Double { statements.reduce(0) { $0 + $1.values[column] } }
    return Report(
        .storm,
        figures: [
            Figure("until all are back and have fetched", back, "s", aim: 20),
            Figure("until the last receipt has come back, too", caughtUp, "s", aim: 20),
            Figure("gateways ready again", restarted, "s"),
            Figure("clients", Double(count)),
            Figure("with mail waiting", Double(conversations.count)),
            Figure(
                "looks into segments in SQL for each mailbox with mail",
                Double(looks - receiptLooks * mail) / Double(conversations.count)),
            Figure("statements that ask whether a session lives, and for its mail", sum(0)),
            Figure("tries that failed", Double(storm.failures)),
            Figure("CPU per client", spent.servers / Double(count), "µs"),
        ],
        tables: [
            .latencies([storm.times]),
            Table("statements about what waits", columns: ["calls", "rows", "ms"], rows: statements),
            spent.per("client", count: count),
        ],
        checks: [
            Check("clients not back", count - storm.back),
            Check("back, and lost again", storm.lostAgain),
            Check("mail not delivered", mail - traffic.tally.delivered),
            Check("lost", conversations.reduce(0) { $0 + $1.lost }),
            Check("received twice", traffic.tally.duplicates),
            Check("out of order", traffic.tally.outOfOrder),
        ] + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) },
        charts: [
            Chart(
                "storm", "\(count) clients come back after all gateways were killed", x: .init("seconds"),
                y: .init("clients back and caught up"), [.init("clients", storm.progress)])
        ])
}

private let mailEach = 5
/// A receipt finds its mail where it was stored, or in the kept segment.
private let receiptLooks = 2
private let settling = Duration.seconds(3)
private let timeout = Duration.seconds(120)

/// Has everybody who is lost come back, and notes when. Lives on the fleet's thread, as all listeners do; unchecked, because
/// closures that the fleet calls back on that thread refer to it.
private final class Storm: FrameListener, @unchecked Sendable {
    private let traffic: Traffic
    private let drain = Drain()
    private var start = NIODeadline.now()
    private var isOn = false
    private var isBack: [Bool]
    private(set) var back = 0
    private(set) var failures = 0
    private(set) var lostAgain = 0
    private(set) var times = Latency("killed to caught up")
    private(set) var progress: [Chart.Point] = []

    /// A client waits up to this long before its first try, so that not all come in one moment; and this long between tries.
    private static let jitterMax = 1_000
    private static let pause = TimeAmount.milliseconds(500)
    private static let pointsMax = 200

    init(_ traffic: Traffic, count: Int) {
        self.traffic = traffic
        self.isBack = [Bool](repeating: false, count: count)
        traffic.drain = self.drain
        self.drain.finished = { [unowned self] in self.cameBack($0) }
    }

    func begin() {
        self.start = .now()
        self.isOn = true
    }

    var seconds: Double { Double((NIODeadline.now() - self.start).nanoseconds) / 1e9 }

    private func cameBack(_ client: Client) {
        guard self.isOn, !self.isBack[client.number] else { return }
        self.isBack[client.number] = true
        self.back += 1
        self.times.record(nanoseconds: UInt64((NIODeadline.now() - self.start).nanoseconds))
        if self.back % max(1, self.isBack.count / Self.pointsMax) == 0 {
            self.progress.append(.init(self.seconds, Double(self.back)))
        }
    }

    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        if self.isOn, frame.kind == .error, !self.isBack[client.number] {
            self.failures += 1
            let number = client.number
            fleet.after(Self.pause) { self.drain.fetch($0.clients[number], cursor: nil, on: $0) }
        } else {
            self.traffic.heard(frame, on: client, of: fleet)
        }
    }

    func alarmRang(on fleet: isolated Fleet) {}

    func lost(_ client: Client, of fleet: isolated Fleet) {
        guard self.isOn else { return fleet.noteTrouble("connection closed") }
        if self.isBack[client.number] { self.lostAgain += 1 }
        self.comeBack(client.number, after: .milliseconds(.random(in: 0...Int64(Self.jitterMax))), fleet)
    }

    private func comeBack(_ number: Int, after pause: TimeAmount, _ fleet: isolated Fleet) {
        fleet.after(pause) { fleet in
            // Bare: it lasts as long as one try, which has a limit of its own.
            Task { await fleet.try(number, for: self) }
        }
    }

    fileprivate func arrived(_ client: Client, on fleet: isolated Fleet) {
        self.drain.fetch(client, cursor: nil, on: fleet)
    }

    fileprivate func failed(_ number: Int, on fleet: isolated Fleet) {
        self.failures += 1
        self.comeBack(number, after: Self.pause, fleet)
    }
}

extension Fleet {
    fileprivate func `try`(_ number: Int, for storm: Storm) async {
        do {
            try await self.connect(number)
            storm.arrived(self.clients[number], on: self)
        } catch {
            storm.failed(number, on: self)
        }
    }
}

extension LocalStack {
    /// How often anybody has looked into the mailboxes so far: by index, for each of them.
    fileprivate func countLooks() async throws -> Int {
        // Postgres's processes tell their counts when they have been idle for a moment.
        try await Task.sleep(for: settling)
        let text = try await self.postgres.run(
            """
            SELECT sum(idx_scan + seq_scan) FROM pg_stat_user_tables
            WHERE relid IN (SELECT relid FROM pg_partition_tree('router.mailbox'))
            """, database: "whisper")
        return Int(text) ?? 0
    }

    /// Statements about mailboxes and outcomes since the counters were set to 0. Each mailbox that is asked for gives
    /// at least one row.
    fileprivate func mailboxStatements() async throws -> [Table.Row] {
        let text = try await self.postgres.run(
            """
            SELECT calls, rows, total_exec_time, left(regexp_replace(query, '\\s+', ' ', 'g'), 70)
            FROM pg_stat_statements WHERE query LIKE 'SELECT%router.mailbox%' AND query NOT LIKE '%count(*)%' ORDER BY rows DESC
            """, database: "whisper")
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: "|", maxSplits: 3)
            guard fields.count == 4 else { return nil }
            return Table.Row(String(fields[3]), fields.prefix(3).map { Double($0) ?? 0 })
        }
    }
}
