import LocalStack

/// L1's shape through message brokers, one after the other: the bare text, without the rest of a frame. A broker that
/// is not installed is left out.
func measureLiveBrokers(_ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 20
    let count = options.count ?? liveConversations
    var (figures, latencies, checks): ([Figure], [Latency], [Check]) = ([], [], [])
    for broker in Broker.allCases {
        guard broker.isInstalled else {
            say("· \(broker.rawValue) is not installed")
            continue
        }
        let folder = try TemporaryFolder(named: "broker")
        defer { folder.remove() }
        let port = LoopbackPort.free()
        let process = try await broker.start(in: folder.path, port: port)
        let crowd = BrokerCrowd(broker, port: port, payload: LiveTraffic.payload)
        say("· \(broker.rawValue): connecting \(count * (options.listeners + 1)) clients")
        try await crowd.connect(rooms: count, listeners: options.listeners)
        await crowd.start(rate: count * options.packets)
        try await Task.sleep(for: .seconds(options.warmUp))
        await crowd.forgetLatencies()
        let (before, deliveredBefore) = (process.cpu, await crowd.delivered)
        try await Task.sleep(for: .seconds(seconds))
        let delivered = max(1, await crowd.delivered - deliveredBefore)
        let spent = process.cpu - before
        await crowd.stop()
        try? await waitUntil("everything is heard", within: timeout) {
            let (published, heard) = await (crowd.published, crowd.delivered)
            return published * options.listeners == heard
        }
        let missing = await crowd.published * options.listeners - crowd.delivered
        var heard = await crowd.heard
        heard.name = broker.rawValue
        latencies.append(heard)
        figures += [
            Figure("\(broker.rawValue): CPU per delivered packet", spent / .microseconds(delivered), "µs"),
            Figure("\(broker.rawValue): delivered a second", Double(delivered) / Double(seconds)),
        ]
        checks.append(Check("\(broker.rawValue): never heard", missing))
        await crowd.leave()
        await process.stop(timeout: .seconds(5))
    }
    return Report(.liveBrokers, figures: figures, tables: [.latencies(latencies)], checks: checks)
}

private let timeout = Duration.seconds(20)
