/// How far apart the clients of a gateway that stops are told to come back: no longer than the others need to take them.
enum DrainSpread {
    /// In milliseconds.
    /// - Parameter connections: how many have to go.
    static func delayMax(connections: Int) -> Int64 {
        let needed = Int64(connections) * 1_000 / GatewayLimits.drainReconnectsPerSecond
        return min(max(needed, GatewayLimits.drainJitterMinMilliseconds), GatewayLimits.drainJitterMaxMilliseconds)
    }
}
