package import ClusterContract

/// When each gateway last reported what its connections hold. A gateway that has stopped is gone, and its connections with it; so
/// is a gateway that dies before its first report. Pure: the time is an argument.
package struct NodeReports: Sendable {
    private var heardAt: [NodeID: ContinuousClock.Instant] = [:]

    package init() {}

    package mutating func heard(from node: NodeID, at now: ContinuousClock.Instant) { self.heardAt[node] = now }

    /// The gateways that have stopped.
    /// - Parameter present: gateways whose connections are known here. Others are forgotten.
    package mutating func stopped(among present: Set<NodeID>, at now: ContinuousClock.Instant) -> Set<NodeID> {
        self.heardAt = self.heardAt.filter { present.contains($0.key) }
        var stopped: Set<NodeID> = []
        for node in present {
            let heardAt = self.heardAt[node, default: now]
            let isGone = heardAt < now - OwnerLimits.reportsMissedFor
            self.heardAt[node] = isGone ? nil : heardAt
            if isGone { stopped.insert(node) }
        }
        return stopped
    }
}
