import LocalStack

/// L1: many conversations, each with a few listeners at all gateways, typed at a steady rate. With `--count 1` and many
/// `--listeners` it is L2, with one listener L3. With `--closed-loop` each packet goes when all have heard the one before.
func measureLive(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? liveConversations
    let traffic = try await LiveTraffic.open(count, fleet, stack, options)
    let (spent, delivered) = try await traffic.measure(fleet, stack, options, seconds: options.seconds ?? 20)

    let perDelivery = spent.servers / Double(delivered)
    // The goals are those of L1 and of an eighth of its rate.
    let isL1 =
        count == liveConversations && options.listeners == 5 && [1, 8].contains(options.packets) && !options.closedLoop
    func aim(_ value: Double) -> Double? { isL1 ? value : nil }
    return Report(
        .live,
        figures: [
            Figure("CPU per delivered packet", perDelivery, "µs", aim: aim(options.packets == 1 ? 28 : 18)),
            Figure("delivered packets per second", Double(delivered) / spent.seconds),
            Figure("due until heard, p50", traffic.heard.milliseconds(50), "ms", aim: aim(2)),
            Figure("due until heard, p99", traffic.heard.milliseconds(99), "ms", aim: aim(20)),
            Figure("due until heard, p99.9", traffic.heard.milliseconds(99.9), "ms", aim: aim(60)),
            Figure("conversations", Double(count)),
            Figure("listeners of each", Double(options.listeners)),
            Figure("snapshots asked of whisperers", Double(traffic.tally.wanted)),
        ],
        tables: [
            .latencies([traffic.heard, traffic.lateness]), spent.per("delivered packet", count: delivered),
        ],
        checks: traffic.checks(fleet),
        charts: [
            Chart(
                "live-latency-\(count)x\(options.listeners)", "From due until heard", x: .init("percentile", .nines),
                y: .init("ms", .logarithmic), [traffic.heard.curve, traffic.lateness.curve])
        ])
}

extension LiveTraffic {
    /// Whisperers type for a while, and then all that was typed is heard.
    /// - Returns: what the servers used meanwhile, and how many packets were heard in that time.
    func measure(
        _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions, seconds: Int
    ) async throws -> (spent: CPUSpent, delivered: Int) {
        if options.closedLoop {
            self.startClosedLoop(on: fleet)
        } else {
            self.start(rate: self.conversations.count * options.packets, on: fleet)
        }
        say("· warming up, \(options.warmUp) s")
        try await Task.sleep(for: .seconds(options.warmUp))
        self.forgetLatencies()
        say("· measuring, \(seconds) s")
        let (before, deliveredBefore) = (await CPUReading(stack), self.tally.delivered)
        try await Task.sleep(for: .seconds(seconds))
        let spent = await CPUReading(stack).since(before)
        let delivered = max(1, self.tally.delivered - deliveredBefore)
        self.stop()
        // The checks show missing packets.
        try? await waitUntil("everything is heard", within: timeout) { self.outstanding == 0 }
        return (spent, delivered)
    }

    func checks(_ fleet: isolated Fleet) -> [Check] {
        [
            Check("never heard", self.outstanding), Check("left out", self.tally.missing),
            Check("heard twice", self.tally.repeated),
        ] + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) }
    }
}

let liveConversations = 1_000
private let timeout = Duration.seconds(60)
