import LocalStack

/// What a message costs at one moment of a cluster's life: pairs, each with a few messages under way all the time.
struct MessageCost: Sendable {
    /// In microseconds, by kind of process.
    var byKind: [(name: String, microseconds: Double)]
    var perSecond: Double
    /// From sending to receiving, in milliseconds.
    var p50: Double
    var p99: Double
    /// By `StoreReading.columns`, of all messages since the first.
    var store: [Double]
    var checks: [Check]

    var total: Double { self.byKind.reduce(0) { $0 + $1.microseconds } }

    /// - Parameters:
    ///   - clients: connected; neighbours are a pair.
    ///   - firstNumber: higher than all conversations of these clients before.
    static func measure(
        _ clients: [Client], firstNumber: Int, _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions
    ) async throws -> MessageCost {
        let seconds = options.seconds ?? 10
        let seed = UInt64.random(in: .min ... .max)
        let conversations = stride(from: 0, to: clients.count - 1, by: 2).map {
            Conversation(
                firstNumber + $0 / 2, from: clients[$0], to: clients[$0 + 1], payload: options.payload, seed: seed)
        }
        say("· signing")
        let signed = throughputMax * (options.warmUp + seconds) / conversations.count
        await Conversation.sign(signed, for: conversations, on: fleet)
        let traffic = Traffic(conversations, pace: .whenDelivered, firstNumber: firstNumber)
        fleet.listener = traffic
        let before = try await StoreReading(stack)
        traffic.start(window: options.window, on: fleet)
        let measured = try await MeasuredTraffic.measure(traffic, stack, options, seconds: seconds)
        let troubles = try await measured.finish(fleet)
        let store = try await StoreReading(stack).since(before, each: traffic.tally.delivered)
        return MessageCost(
            byKind: measured.cpu.byKind.map { ($0.name, $0.microseconds / Double(measured.messages)) },
            perSecond: Double(measured.messages) / measured.cpu.seconds, p50: traffic.received.milliseconds(50),
            p99: traffic.received.milliseconds(99), store: store, checks: traffic.checks(troubles: troubles))
    }
}

extension Report {
    /// A message's cost while something grows.
    /// - Parameters:
    ///   - what: that which grows, in the plural.
    ///   - more: further columns: their names, and their values at each point.
    init(
        growth workload: Workload, of what: String, _ points: [(size: Int, cost: MessageCost)],
        more: (columns: [String], values: [[Double]]) = ([], []), figures: [Figure] = [], checks: [Check] = []
    ) {
        let kinds = points[0].cost.byKind.map(\.name)
        let rows = points.enumerated().map { place, point in
            Table.Row(
                "\(point.size) \(what)",
                [point.cost.total] + point.cost.byKind.map(\.microseconds)
                    + [point.cost.perSecond, point.cost.p50, point.cost.p99] + point.cost.store
                    + (more.columns.isEmpty ? [] : more.values[place]))
        }
        let (least, most) = (points.map(\.cost.total).min()!, points.map(\.cost.total).max()!)
        self.init(
            workload,
            figures: [
                Figure("CPU per message, the first point", points[0].cost.total, "µs"),
                Figure("CPU per message, the last point", points[points.count - 1].cost.total, "µs"),
                Figure("dearest by cheapest", most / least),
            ] + figures,
            tables: [
                Table(
                    "µs of CPU for each message, all servers and by process; messages per second; ms from sending to receiving; what "
                        + "Postgres read and wrote for each",
                    columns: ["all"] + kinds + ["per second", "p50", "p99"] + StoreReading.columns + more.columns,
                    rows: rows)
            ],
            checks: (points.flatMap(\.cost.checks) + checks).summed,
            charts: [
                Chart(
                    "growth-\(workload.rawValue)", "CPU for each message, by number of \(what)",
                    x: .init(what, .logarithmic), y: .init("µs"),
                    [Chart.Series("all servers", points.map { .init(Double($0.size), $0.cost.total) })]
                        + kinds.indices.filter { kind in points.contains { $0.cost.byKind[kind].microseconds >= 1 } }
                        .map {
                            kind in
                            Chart.Series(
                                kinds[kind], points.map { .init(Double($0.size), $0.cost.byKind[kind].microseconds) })
                        })
            ])
    }
}
