import LocalStack

/// L6: listeners who have joined, while nobody types. As in W4, all services and Redis start anew before memory is read, so
/// that what admission left behind is not counted.
func measureLiveIdle(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 60
    let count = options.count ?? listeners
    var options = options
    options.listeners = min(count, listenersOfEach)
    let conversations = max(1, count / options.listeners)
    let traffic = try await LiveTraffic.open(conversations, fleet, stack, options)
    let all = traffic.conversations.flatMap { $0.listeners.map(\.number) }

    say("· starting all services and Redis anew")
    for client in fleet.clients { fleet.disconnect(client) }
    try await stack.startAnew()
    let comingBack = LiveReturn(traffic.conversations)
    traffic.comingBack = comingBack
    try await comingBack.bring(traffic.conversations.map(\.whisperer.number), on: fleet)
    try await fleet.expect("all streams go on", within: timeout) { comingBack.resumed.count == conversations }
    // The memory that the first few leave in every process is not theirs alone.
    let joinedBefore = traffic.tally.joined
    try await comingBack.bring(Array(all.prefix(few)), on: fleet)
    try await fleet.expect("a few have joined", within: timeout) { traffic.tally.joined == joinedBefore + few }
    for number in all.prefix(few) { fleet.disconnect(fleet.clients[number]) }
    try await Task.sleep(for: settling)
    say("· nobody listens, \(quietSeconds) s")
    let away = await CPUReading(stack)
    try await Task.sleep(for: .seconds(quietSeconds))
    let quiet = await CPUReading(stack)

    say("· \(all.count) listeners come back")
    try await comingBack.bring(all, on: fleet)
    try await fleet.expect("everybody has joined", within: timeout) {
        traffic.tally.joined == joinedBefore + few + all.count
    }
    let back = await CPUReading(stack)
    try await Task.sleep(for: settling)
    let joined = await CPUReading(stack)
    say("· idle, \(seconds) s")
    try await Task.sleep(for: .seconds(seconds))
    let idle = await CPUReading(stack)

    let each = Double(all.count)
    let rows = idle.servers.map { name in
        let (before, after) = (quiet.memory(of: name).proportional, idle.memory(of: name).proportional)
        let cost = idle.since(joined).perSecond(of: name) - quiet.since(away).perSecond(of: name)
        return Table.Row(name, [before / mebi, after / mebi, (after - before) / each / kibi, cost / each])
    }
    let total = Table.Row("servers together", rows[0].values.indices.map { c in rows.reduce(0) { $0 + $1.values[c] } })
    return Report(
        .liveIdle,
        figures: [
            Figure("memory for each listener", total.values[2], "KiB", aim: 6),
            Figure("CPU a second for each listener", total.values[3], "µs", aim: 3),
            Figure("listeners", each), Figure("conversations", Double(conversations)),
            Figure("CPU for each that comes back", back.since(quiet).servers / each, "µs"),
            Figure("coming back, a second", each / back.since(quiet).seconds),
        ],
        tables: [
            Table(
                "Memory (PSS) with nobody listening and with all, in MiB; for each listener: KiB, and µs of CPU a second, less the "
                    + "quiet cluster's",
                columns: ["MiB quiet", "MiB idle", "KiB each", "µs/s each"], rows: rows + [total]),
            back.since(quiet).per("listener", count: all.count, title: "coming back"),
        ],
        checks: [Check("heard twice", traffic.tally.repeated)]
            + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let listeners = 10_000
/// The most listeners of one conversation (contract §14.7).
private let listenersOfEach = 500
private let few = 100
private let settling = Duration.seconds(5)
private let quietSeconds = 15
private let timeout = Duration.seconds(120)
private let kibi = 1_024.0
private let mebi = 1_048_576.0
