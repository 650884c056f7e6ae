import LocalStack

/// Measures the cost of a message with more masters of Redis. Every master comes with a replica, a gateway, a router,
/// the same pairs of clients and the same rate. So no process has more to do at the last point than at the first.
func measureMasters(_ options: LoadOptions) async throws -> Report {
    let single = try await costOfMessages(masters: 0, options)
    var points: [(size: Int, cost: TrafficCost)] = []
    for masters in mastersMeasured {
        points.append((masters, try await costOfMessages(masters: masters, options)))
    }
    return Report(
        growth: .masters, of: "masters", points, dearestByCheapestMax: 1.1,
        figures: [
            Figure("messages a second for each master", Double(options.rate)),
            Figure("CPU per message, one Redis", single.total, "µs"),
            Figure("– of it Redis", single.microseconds(of: "redis"), "µs"),
        ], checks: single.checks)
}

private let mastersMeasured = [1, 3, 6]

/// - Parameter masters: 0 is one Redis, with the load of one master.
private func costOfMessages(masters: Int, _ options: LoadOptions) async throws -> TrafficCost {
    let parts = max(1, masters)
    let name = masters == 0 ? "one Redis" : "\(masters) masters"
    say("· \(name), \(parts) gateways and routers, \(parts * options.rate) messages a second")
    var some = options
    some.masters = masters
    some.gateways = parts
    some.routers = parts
    some.pairs = parts * options.pairs
    some.rate = parts * options.rate
    let cost = try await Workload.masters.onCluster(some) { fleet, stack, options in
        try await TrafficCost.ofSteadyMessages(fleet, stack, options)
    }
    say("· \(name): \(shown(cost.total)) µs for each message, of it Redis \(shown(cost.microseconds(of: "redis")))")
    return cost
}
