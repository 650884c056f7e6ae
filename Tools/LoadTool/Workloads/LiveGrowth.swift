import LocalStack

/// Measures the cost of a packet that reaches a listener with more gateways, at half of L1's load.
func measureLiveInstances(_ options: LoadOptions) async throws -> Report {
    var points: [(size: Int, cost: TrafficCost)] = []
    for instances in [1, 2, 4] {
        var some = options
        some.gateways = instances
        some.count = options.count ?? liveConversations / 2
        points.append((instances, try await measurePackets(.liveInstances, some)))
        say("· \(instances) gateways: \(shown(points[points.count - 1].cost.total)) µs for each packet")
    }
    return Report(growth: .liveInstances, of: "gateways", each: "delivered packet", points)
}

/// Measures the cost of a packet that reaches a listener by the number of listeners of each conversation. As many
/// packets are delivered a second at each point.
func measureLiveListeners(_ options: LoadOptions) async throws -> Report {
    let all = options.count ?? liveConversations
    var points: [(size: Int, cost: TrafficCost)] = []
    for listeners in [1, 5, 50, 200, 500] {
        var some = options
        some.listeners = listeners
        some.count = max(1, all / listeners)
        points.append((listeners, try await measurePackets(.liveListeners, some)))
        say("· \(listeners) listeners: \(shown(points[points.count - 1].cost.total)) µs for each packet")
    }
    return Report(growth: .liveListeners, of: "listeners", each: "delivered packet", points)
}

/// On a cluster of its own.
private func measurePackets(_ workload: Workload, _ options: LoadOptions) async throws -> TrafficCost {
    try await workload.onCluster(options) { fleet, stack, options in
        let traffic = try await LiveTraffic.open(options.count ?? liveConversations, fleet, stack, options)
        let (spent, delivered) = try await traffic.measure(fleet, stack, options, seconds: options.seconds ?? 10)
        return TrafficCost(spent, count: delivered, latency: traffic.heard, checks: traffic.checks(fleet))
    }
}
