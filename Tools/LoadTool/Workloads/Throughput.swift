import LocalStack

/// W1: a closed loop. Each sender keeps a few messages under way; a message counts when the recipient's receipt for it
/// has reached the sender.
func measureThroughput(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 15
    let traffic = try await Traffic.prepare(
        pairs: options.pairs, payload: options.payload,
        signed: throughputMax * (options.warmUp + seconds) / options.pairs, pace: .whenDelivered, on: fleet)
    traffic.start(window: options.window, on: fleet)
    let measured = try await MeasuredTraffic.measure(traffic, stack, options, seconds: seconds)
    let troubles = try await measured.finish(fleet)

    let messages = measured.messages
    let processes = measured.cpu.per("message", count: messages)
    return Report(
        .throughput,
        figures: [
            Figure("messages per second", Double(messages) / measured.cpu.seconds),
            Figure("CPU per message, servers together", measured.cpu.servers / Double(messages), "µs", aim: 150),
            Figure("messages measured", Double(messages)),
            Figure("signed during the run", Double(traffic.tally.signedLate)),
            Figure("receipts repeated", Double(traffic.tally.repeatedReceipts)),
        ],
        tables: [
            processes, .latencies([traffic.accepted, traffic.received, traffic.delivered]), measured.steps,
        ],
        checks: traffic.checks(troubles: troubles),
        bars: [
            Bars(
                "cpu-per-message", "CPU for each message, stored, delivered and receipted", unit: "µs",
                measured.cpu.byKind.map { .init($0.name, $0.microseconds / Double(messages)) } + [
                    .init("Whisper, all servers", measured.cpu.servers / Double(messages)),
                    .init("ejabberd, mail in memory", 149, isOurs: false),
                ])
        ], profile: measured.profile)
}

/// Messages per second for which signatures are prepared. Beyond it they are made during the run, and counted.
let throughputMax = 12_000

/// W2: an open loop. Messages are sent at a steady rate, whatever the servers do.
func measureLatency(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 20
    // One more second of signatures for what is sent while the clocks are read.
    let signed = options.rate * (options.warmUp + seconds + 1) / options.pairs + 1
    let traffic = try await Traffic.prepare(
        pairs: options.pairs, payload: options.payload, signed: signed, pace: .steady, on: fleet)
    traffic.start(rate: options.rate, on: fleet)
    let measured = try await MeasuredTraffic.measure(traffic, stack, options, seconds: seconds)
    let troubles = try await measured.finish(fleet)

    let messages = measured.messages
    return Report(
        .latency,
        figures: [
            Figure("messages per second", Double(messages) / measured.cpu.seconds),
            Figure("send to message_received, p50", traffic.received.milliseconds(50), "ms", aim: 2),
            Figure("send to message_received, p99", traffic.received.milliseconds(99), "ms", aim: 10),
            Figure("send to message_received, p99.9", traffic.received.milliseconds(99.9), "ms", aim: 40),
            Figure("CPU per message, servers together", measured.cpu.servers / Double(messages), "µs"),
            Figure("signed during the run", Double(traffic.tally.signedLate)),
        ],
        tables: [
            .latencies([traffic.received, traffic.accepted, traffic.delivered, traffic.lateness]),
            measured.steps, measured.cpu.per("message", count: messages),
        ],
        checks: traffic.checks(troubles: troubles),
        charts: [
            Chart(
                "latency", "Latency at \(options.rate) messages a second", x: .init("percentile", .nines),
                y: .init("ms", .logarithmic),
                [traffic.received, traffic.accepted, traffic.delivered, traffic.lateness].map(\.curve))
        ], profile: measured.profile)
}
