import Contract

/// The limits that a gateway enforces by itself, each one line (contract §3.2, §11, §13).
package struct EdgeLimits: Sendable {
    package var frames: TokenBucket.Rule
    package var register: TokenBucket.Rule
    package var newConnections: TokenBucket.Rule
    package var openConnectionsMax: Int

    /// - Parameter scale: multiplies every limit.
    package init(scale: Double) {
        func perMinute(_ count: Int) -> TokenBucket.Rule {
            TokenBucket.Rule(perSecond: Double(count) / 60, burst: Double(count)).scaled(by: scale)
        }
        self.frames = TokenBucket.Rule(perSecond: Double(Limits.framesPerSecond), burst: Double(Limits.framesBurst))
            .scaled(by: scale)
        self.register = perMinute(Limits.registerPerMinutePerAddress)
        self.newConnections = perMinute(Limits.newConnectionsPerMinutePerAddress)
        self.openConnectionsMax = max(1, Int(Double(Limits.connectionsPerAddressMax) * scale))
    }
}

/// What is known of one client address. Forgotten when nothing of it is open and its buckets are full again.
struct AddressState {
    var open = 0
    var register: TokenBucket
    var newConnections: TokenBucket

    init(_ limits: EdgeLimits, at now: Int64) {
        self.register = TokenBucket(limits.register, at: now)
        self.newConnections = TokenBucket(limits.newConnections, at: now)
    }

    func isForgettable(_ limits: EdgeLimits, at now: Int64) -> Bool {
        self.open == 0 && self.register.isFull(limits.register, at: now)
            && self.newConnections.isFull(limits.newConnections, at: now)
    }
}
