import Contract

/// The limits that a gateway enforces by itself, each one line (contract §3.2, §11, §13).
package struct EdgeLimits: Sendable {
    package var frames: TokenBucket.Rule
    package var openConnectionsMax: Int

    /// - Parameter scale: multiplies every limit.
    package init(scale: Double) {
        self.frames = TokenBucket.Rule(perSecond: Double(Limits.framesPerSecond), burst: Double(Limits.framesBurst))
            .scaled(by: scale)
        self.openConnectionsMax = max(1, Int(Double(Limits.connectionsPerAddressMax) * scale))
    }
}
