import LocalStack

/// Steady traffic far below what the cluster can do: what a message costs there, and how long it takes.
///
/// One cluster and one crowd for all rates, the lowest first. A rate of 0 is the cluster without traffic, its clients connected.
func measurePartLoad(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let rates = options.rates.isEmpty ? partLoadRates : options.rates
    say("· registering \(2 * options.pairs) clients")
    let clients = try await fleet.register(2 * options.pairs)
    try await Task.sleep(for: settling)
    var points: [PartLoad] = []
    for (place, rate) in rates.enumerated() {
        let point =
            rate == 0
            ? try await PartLoad.idle(stack, options)
            : try await PartLoad.measure(
                clients, rate: rate, firstNumber: place * options.pairs, fleet, stack, options)
        points.append(point)
        say("· \(rate) a second: \(shown(point.cost)) \(rate == 0 ? "% of a core" : "µs a message")")
    }
    return PartLoad.report(points)
}

/// Messages a second of the points of the curve.
private let partLoadRates = [0, 10, 100, 1_000, 3_000, 10_000]
/// For what registering left to do.
private let settling = Duration.seconds(3)

/// One point of the curve.
private struct PartLoad {
    let rate: Int
    let cpu: CPUSpent
    /// Delivered, with the receipt back at its sender.
    var messages = 0
    var received: Latency?
    var accepted: Latency?
    var lateness: Latency?
    /// The routers' figures of their batches: see `RouterSteps.table`.
    var steps: [Double] = []
    var checks: [Check] = []

    /// The project's own bounds by messages a second: the cost of a message in microseconds, p50 and p99 of its way in
    /// milliseconds.
    private static let aims: [Int: (cost: Double?, p50: Double, p99: Double)] = [
        10: (nil, 2, 6), 100: (1_200, 2.5, 8), 1_000: (450, 4, 12), 3_000: (250, 6, 15),
    ]
    /// Bound of the idle cluster, in percent of a core.
    private static let idleAim = 2.0

    /// Microseconds for each message; of the idle cluster percent of a core, with the balancer.
    var cost: Double {
        if self.rate == 0 {
            return self.cpu.processes.reduce(0) { $0 + $1.microseconds } / self.cpu.seconds / 10_000
        }
        return self.cpu.servers / Double(max(1, self.messages))
    }

    static func idle(_ stack: LocalStack, _ options: LoadOptions) async throws -> PartLoad {
        let before = await CPUReading(stack)
        try await Task.sleep(for: .seconds(options.seconds ?? 20))
        return PartLoad(rate: 0, cpu: await CPUReading(stack).since(before))
    }

    static func measure(
        _ clients: [Client], rate: Int, firstNumber: Int, _ fleet: isolated Fleet, _ stack: LocalStack,
        _ options: LoadOptions
    ) async throws -> PartLoad {
        let seconds = options.seconds ?? 20
        let seed = UInt64.random(in: .min ... .max)
        let conversations = stride(from: 0, to: clients.count - 1, by: 2).map {
            Conversation(
                firstNumber + $0 / 2, from: clients[$0], to: clients[$0 + 1], payload: options.payload, seed: seed)
        }
        let signed = rate * (options.warmUp + seconds + 1) / conversations.count + 1
        await Conversation.sign(signed, for: conversations, on: fleet)
        let traffic = Traffic(conversations, pace: .steady, firstNumber: firstNumber)
        fleet.listener = traffic
        traffic.start(rate: rate, on: fleet)
        let measured = try await MeasuredTraffic.measure(traffic, stack, options, seconds: seconds)
        let troubles = try await measured.finish(fleet)
        return PartLoad(
            rate: rate, cpu: measured.cpu, messages: measured.messages, received: traffic.received,
            accepted: traffic.accepted, lateness: traffic.lateness,
            steps: measured.steps.rows[0].values, checks: traffic.checks(troubles: troubles))
    }

    static func report(_ points: [PartLoad]) -> Report {
        let busy = points.filter { $0.rate > 0 }
        let kinds = points[0].cpu.byKind.map(\.name)
        var figures: [Figure] = points.filter { $0.rate == 0 }.map {
            Figure("idle cluster, all processes", $0.cost, "% of a core", aim: Self.idleAim)
        }
        for point in busy {
            let aims = Self.aims[point.rate]
            figures += [
                Figure("\(point.rate) a second: CPU per message", point.cost, "µs", aim: aims?.cost),
                Figure("\(point.rate) a second: p50", point.received!.milliseconds(50), "ms", aim: aims?.p50),
                Figure("\(point.rate) a second: p99", point.received!.milliseconds(99), "ms", aim: aims?.p99),
            ]
        }
        let rows = busy.map { point in
            Table.Row(
                "\(point.rate) a second",
                [point.cost] + point.cpu.byKind.map { $0.microseconds / Double(max(1, point.messages)) }
                    + [Double(point.messages) / point.cpu.seconds]
                    + [50, 99, 99.9].map { point.received!.milliseconds($0) }
                    + [point.accepted!.milliseconds(50), point.lateness!.milliseconds(99)] + point.steps.suffix(2))
        }
        let idleRows = points.filter { $0.rate == 0 }.flatMap { point in
            point.cpu.processes.map { Table.Row($0.name, [$0.microseconds / point.cpu.seconds / 10_000]) }
        }
        return Report(
            .partLoad, figures: figures,
            tables: [
                Table(
                    "µs of CPU for each message, all servers and by process; ms from sending to receiving, and to the acknowledgement; "
                        + "this tool's own lateness; ms of a router's commit, and Jobs in its batch",
                    columns: ["all"] + kinds + [
                        "per second", "p50", "p99", "p99.9", "accepted p50", "late p99", "commit", "Jobs",
                    ], rows: rows)
            ] + (idleRows.isEmpty ? [] : [Table("the idle cluster, % of a core", columns: ["%"], rows: idleRows)]),
            checks: busy.flatMap(\.checks).summed,
            charts: busy.count < 2
                ? []
                : [
                    Chart(
                        "part-load-cost", "CPU for each message, by messages a second",
                        x: .init("messages a second", .logarithmic),
                        y: .init("µs", .logarithmic),
                        [.init("all servers", busy.map { .init(Double($0.rate), $0.cost) })]
                            + kinds.indices.map { kind in
                                .init(
                                    kinds[kind],
                                    busy.map {
                                        .init(
                                            Double($0.rate),
                                            $0.cpu.byKind[kind].microseconds / Double(max(1, $0.messages)))
                                    })
                            }.filter { $0.points.allSatisfy { $0.y > 1 } }),
                    Chart(
                        "part-load-latency", "From sending to receiving, by messages a second",
                        x: .init("messages a second", .logarithmic), y: .init("ms", .logarithmic),
                        [50.0, 99, 99.9].map { percentile in
                            .init(
                                "p\(shown(percentile))",
                                busy.map { .init(Double($0.rate), $0.received!.milliseconds(percentile)) })
                        }),
                ])
    }
}
