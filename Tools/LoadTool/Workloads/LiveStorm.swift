import LocalStack

/// L7: all gateways are killed while whisperers type and listeners hear. Everybody comes back by itself.
func measureLiveStorm(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? liveConversations
    let traffic = try await LiveTraffic.open(count, fleet, stack, options)
    let listeners = count * options.listeners
    traffic.start(rate: count, on: fleet)
    try await Task.sleep(for: .seconds(options.warmUp))
    traffic.stop()
    try await fleet.expect("everything is heard", within: timeout) { traffic.outstanding == 0 }

    let before = await CPUReading(stack)
    say("· killing all gateways")
    let comingBack = LiveReturn(traffic.conversations)
    traffic.comingBack = comingBack
    comingBack.begin()
    let gateways = stack.processes.filter { if case .service(.gateway, _) = $0 { true } else { false } }
    await withDiscardingTaskGroup { group in
        for gateway in gateways { group.addTask { await stack.kill(gateway) } }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for gateway in gateways { group.addTask { try await stack.start(gateway) } }
        try await group.waitForAll()
    }
    let restarted = comingBack.seconds
    try? await fleet.expect("everybody hears", within: timeout) { comingBack.back == listeners }
    let back = comingBack.seconds
    try? await fleet.expect("everything is heard", within: timeout) { traffic.outstanding == 0 }
    let spent = await CPUReading(stack).since(before)
    let isL7 = count == liveConversations && options.listeners == 5
    let clients = count + listeners
    return Report(
        .liveStorm,
        figures: [
            Figure("until all hear again", back, "s", aim: isL7 ? 5 : nil),
            Figure("gateways ready again", restarted, "s"),
            Figure("whisperers", Double(count)), Figure("listeners", Double(listeners)),
            Figure("tries that failed", Double(comingBack.failures)),
            Figure("CPU for each client", spent.servers / Double(clients), "µs"),
        ],
        tables: [.latencies([comingBack.resumed, comingBack.times]), spent.per("client", count: clients)],
        checks: [
            Check("listeners not back", listeners - comingBack.back), Check("never heard", traffic.outstanding),
            Check("heard twice", traffic.tally.repeated),
        ] + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let timeout = Duration.seconds(60)
