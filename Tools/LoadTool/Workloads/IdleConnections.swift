import LocalStack

/// W4: clients that do nothing but answer pings.
///
/// The cost of a registered identity (rows, and what handling them left in every process) is told apart from the cost
/// of its connection. First all clients register and go; then all services and Redis start anew. A few clients come and
/// go, and only then all come back, with the session of before, and stay.
func measureIdle(_ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 60
    let count = options.count ?? 10_000
    let crowds = try Crowds(count: count, ports: options.ports(of: stack))
    do {
        let report = try await measure(crowds, count, seconds, stack, options)
        await crowds.leave()
        return report
    } catch {
        await crowds.leave()
        throw error
    }
}

private func measure(
    _ crowds: Crowds, _ count: Int, _ seconds: Int, _ stack: LocalStack, _ options: LoadOptions
) async throws -> Report {
    try await Task.sleep(for: settling)
    let empty = await CPUReading(stack)
    say("· registering \(count) clients")
    try await crowds.order(.register)
    let registered = await CPUReading(stack)
    try await crowds.order(.go)
    try await Task.sleep(for: settling)
    let gone = await CPUReading(stack)

    say("· starting all services and Redis anew")
    try await stack.startAnew()
    try await crowds.order(.comeFew)
    try await Task.sleep(for: settling)
    try await crowds.order(.go)
    try await Task.sleep(for: settling)
    say("· nobody is here, \(quietSeconds) s")
    let away = await CPUReading(stack)
    try await Task.sleep(for: .seconds(quietSeconds))
    let quiet = await CPUReading(stack)

    say("· \(count) clients come back")
    try await crowds.order(.comeAll)
    let back = await CPUReading(stack)
    try await Task.sleep(for: settling)
    let connected = await CPUReading(stack)
    say("· idle, \(seconds) s")
    try await Task.sleep(for: .seconds(seconds))
    let idle = await CPUReading(stack)

    let each = Double(count)
    let rows = idle.names.map { name in
        let (before, after) = (quiet.memory(of: name).proportional, idle.memory(of: name).proportional)
        let cost = idle.since(connected).perSecond(of: name) - quiet.since(away).perSecond(of: name)
        return Table.Row(
            name,
            [
                before / mebi, after / mebi, idle.memory(of: name).resident / mebi, (after - before) / each / kibi,
                cost / each,
                (gone.memory(of: name).proportional - empty.memory(of: name).proportional) / each / kibi,
            ])
    }
    // The balancer holds a connection only if clients come through it.
    let counted = options.throughBalancer ? idle.servers + [CPUReading.balancer] : idle.servers
    func sum(_ column: Int) -> Double {
        rows.filter { counted.contains($0.name) }.reduce(0) { $0 + $1.values[column] }
    }
    let total = Table.Row("servers together", rows[0].values.indices.map(sum))
    return Report(
        .idle,
        figures: [
            Figure("memory per connection", total.values[3], "KiB", aim: 6),
            Figure("CPU per second and connection", total.values[4], "µs", aim: 3),
            Figure("connections", each),
            Figure("gateways", Double(options.gateways)),
            Figure("CPU per connection that comes back", back.since(quiet).servers / each, "µs"),
            Figure("coming back, per second", each / back.since(quiet).seconds),
            Figure("CPU per registration", registered.since(empty).servers / each, "µs"),
            Figure("memory kept per registration", total.values[5], "KiB"),
        ],
        tables: [
            Table(
                "Memory (PSS) with nobody connected and with all, and RSS with all, in MiB; for each connection: KiB, and µs of "
                    + "CPU per second, less the quiet cluster's; KiB that each registration left, before everything was started anew",
                columns: ["MiB quiet", "MiB idle", "MiB RSS", "KiB each", "µs/s each", "KiB reg."], rows: rows + [total]
            ),
            back.since(quiet).per("client", count: count, title: "coming back"),
            registered.since(empty).per("login", count: count, title: "registering"),
        ],
        checks: try await crowds.troubles().sorted { $0.key < $1.key }.map { Check($0.key, $0.value) },
        bars: [
            Bars(
                "idle-\(count)", "Memory for each of \(count) idle connections", unit: "KiB",
                [
                    .init("Whisper, all servers", total.values[3]), .init("Centrifugo, tuned", 10.9, isOurs: false),
                    .init("NATS", 26, isOurs: false), .init("Prosody", 45, isOurs: false),
                    .init("ejabberd", 56, isOurs: false),
                ])
        ])
}

private let settling = Duration.seconds(5)
private let quietSeconds = 15
private let kibi = 1_024.0
private let mebi = 1_048_576.0

extension LocalStack {
    /// Kills all services and Redis, and starts them again: what they had in memory is gone, the tables stay.
    func startAnew() async throws {
        let services = self.processes.filter { if case .service = $0 { true } else { false } }
        for service in services { await self.kill(service) }
        try await self.restart(.redis)
        for service in services { try await self.start(service) }
    }
}
