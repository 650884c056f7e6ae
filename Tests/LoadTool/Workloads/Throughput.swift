import LocalStack

/// W1: a closed loop. Each sender keeps a few messages under way; a message counts when the recipient's receipt for it
/// has reached the sender.
func measureThroughput(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 15
    let traffic = try await Traffic.prepare(
        pairs: options.pairs, payload: options.payload,
        signed: throughputMax * (options.warmUp + seconds) / options.pairs, pace: .whenDelivered, on: fleet)
    traffic.start(window: options.window, on: fleet)
    let measured = try await measure(traffic, stack, options, seconds: seconds)
    let troubles = try await measured.finish(fleet)

    let messages = measured.messages
    let processes = measured.cpu.per("message", count: messages)
    return Report(
        .throughput,
        figures: [
            Figure("messages per second", Double(messages) / measured.cpu.seconds),
            Figure("CPU per message, servers together", measured.cpu.servers / Double(messages), "µs", aim: 400),
            Figure("messages measured", Double(messages)),
            Figure("signed during the run", Double(traffic.tally.signedLate)),
            Figure("receipts repeated", Double(traffic.tally.repeatedReceipts)),
        ],
        tables: [processes, .latencies([traffic.accepted, traffic.received, traffic.delivered])],
        checks: traffic.checks(troubles: troubles), profile: measured.profile)
}

/// Messages per second for which signatures are prepared. Beyond it they are made during the run, and counted.
private let throughputMax = 12_000

/// W2: an open loop. Messages are sent at a steady rate, whatever the servers do.
func measureLatency(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 20
    // One more second of signatures for what is sent while the clocks are read.
    let signed = options.rate * (options.warmUp + seconds + 1) / options.pairs + 1
    let traffic = try await Traffic.prepare(
        pairs: options.pairs, payload: options.payload, signed: signed, pace: .steady, on: fleet)
    traffic.start(rate: options.rate, on: fleet)
    let measured = try await measure(traffic, stack, options, seconds: seconds)
    let troubles = try await measured.finish(fleet)

    let messages = measured.messages
    return Report(
        .latency,
        figures: [
            Figure("messages per second", Double(messages) / measured.cpu.seconds),
            Figure("send to message_received, p50", traffic.received.milliseconds(50), "ms", aim: 5),
            Figure("send to message_received, p99", traffic.received.milliseconds(99), "ms", aim: 25),
            Figure("CPU per message, servers together", measured.cpu.servers / Double(messages), "µs"),
            Figure("signed during the run", Double(traffic.tally.signedLate)),
        ],
        tables: [
            .latencies([traffic.received, traffic.accepted, traffic.delivered, traffic.lateness]),
            measured.cpu.per("message", count: messages),
        ],
        checks: traffic.checks(troubles: troubles), profile: measured.profile)
}

/// A stretch of traffic that has been measured and still goes on.
private struct MeasuredTraffic {
    let traffic: Traffic
    let cpu: CPUSpent
    let messages: Int
    let profile: String?

    /// Time for everything under way to arrive.
    private static let patience = Duration.seconds(20)

    /// Stops the traffic and waits for what is under way.
    /// - Returns: the fleet's troubles.
    func finish(_ fleet: isolated Fleet) async throws -> [String: Int] {
        self.traffic.stop()
        do {
            try await waitUntil("everything has arrived", within: Self.patience) {
                self.traffic.tally.delivered >= self.traffic.tally.sent
            }
        } catch is TimeUp {
            // The checks will say what is missing.
        }
        return fleet.troubles
    }
}

private func measure(
    _ traffic: Traffic, _ stack: LocalStack, _ options: LoadOptions, seconds: Int,
    isolation: isolated (any Actor)? = #isolation
) async throws -> MeasuredTraffic {
    say("· warming up, \(options.warmUp) s")
    try await Task.sleep(for: .seconds(options.warmUp))
    say("· measuring, \(seconds) s")
    traffic.forgetLatencies()
    let before = await CPUReading(stack)
    let count = traffic.tally.delivered
    async let profile = options.profile?.record(stack)
    try await Task.sleep(for: .seconds(seconds))
    let after = await CPUReading(stack)
    let messages = traffic.tally.delivered - count
    return MeasuredTraffic(
        traffic: traffic, cpu: after.since(before), messages: max(1, messages), profile: try await profile)
}
