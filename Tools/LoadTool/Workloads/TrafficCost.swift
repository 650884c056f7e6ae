import LocalStack

/// The cost of one message, delivered packet or stored line at one moment of a cluster's life.
struct TrafficCost: Sendable {
    /// In microseconds, by kind of process.
    var byKind: [(name: String, microseconds: Double)]
    var perSecond: Double
    /// Milliseconds: from sending to receiving, or from due to told.
    var p50: Double
    var p99: Double
    /// By `StoreReading.columns`, of all messages since the first. Empty: not looked at.
    var store: [Double] = []
    var checks: [Check]

    /// Cost in one kind of process.
    func microseconds(of kind: String) -> Double { self.byKind.first { $0.name == kind }?.microseconds ?? 0 }

    var total: Double { self.byKind.reduce(0) { $0 + $1.microseconds } }

    init(
        _ spent: CPUSpent, count: Int, latency: Latency, store: [Double] = [], checks: [Check]
    ) {
        self.byKind = spent.byKind.map { ($0.name, $0.microseconds / Double(count)) }
        self.perSecond = Double(count) / spent.seconds
        self.p50 = latency.milliseconds(50)
        self.p99 = latency.milliseconds(99)
        self.store = store
        self.checks = checks
    }

    /// Messages of pairs, each with a few under way all the time.
    /// - Parameters:
    ///   - clients: connected; neighbours are a pair.
    ///   - firstNumber: higher than all conversations of these clients before.
    static func ofMessages(
        _ clients: [Client], firstNumber: Int, _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions
    ) async throws -> TrafficCost {
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
        return try await Self.finish(traffic, before, fleet, stack, options, seconds: seconds)
    }

    /// Messages of new pairs at a steady rate, on a cluster that has had none.
    static func ofSteadyMessages(
        _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions
    ) async throws -> TrafficCost {
        let seconds = options.seconds ?? 10
        // One more second of signatures for what is sent while the clocks are read.
        let signed = options.rate * (options.warmUp + seconds + 1) / options.pairs + 1
        let traffic = try await Traffic.prepare(
            pairs: options.pairs, payload: options.payload, signed: signed, pace: .steady, on: fleet)
        let before = try await StoreReading(stack)
        traffic.start(rate: options.rate, on: fleet)
        return try await Self.finish(traffic, before, fleet, stack, options, seconds: seconds)
    }

    /// Measures traffic that has just been started, and ends it.
    private static func finish(
        _ traffic: Traffic, _ before: StoreReading, _ fleet: isolated Fleet, _ stack: LocalStack,
        _ options: LoadOptions, seconds: Int
    ) async throws -> TrafficCost {
        let measured = try await MeasuredTraffic.measure(traffic, stack, options, seconds: seconds)
        let troubles = try await measured.finish(fleet)
        let store = try await StoreReading(stack).since(before, each: traffic.tally.delivered)
        return TrafficCost(
            measured.cpu, count: measured.messages, latency: traffic.received, store: store,
            checks: traffic.checks(troubles: troubles))
    }
}

extension Report {
    /// The cost of one `unit` while something grows.
    /// - Parameters:
    ///   - what: that which grows, in the plural.
    ///   - unit: that which is paid for, in the singular.
    ///   - dearestByCheapestMax: what the dearest point by the cheapest should not exceed.
    ///   - more: further columns: their names, and their values at each point.
    init(
        growth workload: Workload, of what: String, each unit: String = "message",
        _ points: [(size: Int, cost: TrafficCost)], dearestByCheapestMax: Double? = nil,
        more: (columns: [String], values: [[Double]]) = ([], []), figures: [Figure] = [], checks: [Check] = []
    ) {
        let kinds = points[0].cost.byKind.map(\.name)
        let storeColumns = points[0].cost.store.isEmpty ? [] : StoreReading.columns
        let rows = points.enumerated().map { place, point in
            Table.Row(
                "\(point.size) \(what)",
                [point.cost.total] + point.cost.byKind.map(\.microseconds)
                    + [point.cost.perSecond, point.cost.p50, point.cost.p99] + point.cost.store
                    + (more.columns.isEmpty ? [] : more.values[place]))
        }
        let (least, most) = (points.map(\.cost.total).min()!, points.map(\.cost.total).max()!)
        let store = storeColumns.isEmpty ? "" : "; what Postgres read and wrote for each"
        self.init(
            workload,
            figures: [
                Figure("CPU per \(unit), the first point", points[0].cost.total, "µs"),
                Figure("CPU per \(unit), the last point", points[points.count - 1].cost.total, "µs"),
                Figure("dearest by cheapest", most / least, aim: dearestByCheapestMax),
            ] + figures,
            tables: [
                Table(
                    "µs of CPU for each \(unit), all servers and by process; how many a second; latency in ms" + store,
                    columns: ["all"] + kinds + ["per second", "p50", "p99"] + storeColumns + more.columns, rows: rows)
            ],
            checks: (points.flatMap(\.cost.checks) + checks).summed,
            charts: [
                Chart(
                    "growth-\(workload.rawValue)", "CPU for each \(unit), by number of \(what)",
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
