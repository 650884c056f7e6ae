import LocalStack

/// W4: clients that have registered and do nothing but answer pings.
func measureIdle(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 60
    try await Task.sleep(for: settling)
    say("· measuring the empty cluster")
    let start = await CPUReading(stack)
    try await Task.sleep(for: .seconds(emptySeconds))
    let empty = await CPUReading(stack)

    say("· registering \(options.count) clients")
    _ = try await fleet.register(options.count)
    let registered = await CPUReading(stack)
    try await Task.sleep(for: settling)
    let connected = await CPUReading(stack)
    say("· idle, \(seconds) s")
    try await Task.sleep(for: .seconds(seconds))
    let idle = await CPUReading(stack)

    let registering = registered.since(empty)
    let count = Double(options.count)
    let rows = idle.names.map { name in
        let before = empty.memory(of: name), after = idle.memory(of: name)
        let cost = idle.since(connected).perSecond(of: name) - empty.since(start).perSecond(of: name)
        return Table.Row(
            name,
            [
                before.proportional / mebi, connected.memory(of: name).proportional / mebi, after.proportional / mebi,
                before.resident / mebi, after.resident / mebi,
                (after.proportional - before.proportional) / count / kibi, cost / count,
            ])
    }
    // The balancer holds a connection only if clients come through it; the tool is no server.
    let counted = options.throughBalancer ? idle.servers + [CPUReading.balancer] : idle.servers
    func sum(_ column: Int) -> Double {
        rows.filter { counted.contains($0.name) }.reduce(0) { $0 + $1.values[column] }
    }
    let total = Table.Row("servers together", (0..<7).map(sum))
    return Report(
        .idle,
        figures: [
            Figure("memory per connection", total.values[5], "KiB", aim: 16),
            Figure("CPU per second and connection", total.values[6], "µs"),
            Figure("connections", count),
            Figure("CPU per registration", registering.servers / count, "µs"),
            Figure("registrations per second", count / registering.seconds),
        ],
        tables: [
            Table(
                "MiB proportional (PSS) empty, connected, after idling; MiB resident (RSS) empty, after idling; "
                    + "KiB (PSS) and µs of CPU per second for each connection, less the empty cluster's",
                columns: ["PSS 0", "PSS 1", "PSS 2", "RSS 0", "RSS 2", "KiB each", "µs/s each"], rows: rows + [total]),
            registering.per("login", count: options.count, title: "registering"),
        ],
        checks: fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let settling = Duration.seconds(5)
private let emptySeconds = 15
private let kibi = 1_024.0
private let mebi = 1_048_576.0
