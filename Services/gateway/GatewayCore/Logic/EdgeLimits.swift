import Contract

/// The limits that a gateway enforces by itself, each one line (contract §3.2, §11, §13).
package struct EdgeLimits: Sendable {
    package var frames: TokenBucket.Rule
    package var openConnectionsMax: Int

    /// - Parameters:
    ///   - openConnections: of one address, to one gateway.
    ///   - scale: multiplies every limit.
    package init(openConnections: Int, scale: Double) {
        self.frames = TokenBucket.Rule(perSecond: Double(Limits.framesPerSecond), burst: Double(Limits.framesBurst))
            .scaled(by: scale)
        self.openConnectionsMax = max(1, Int(Double(openConnections) * scale))
    }
}
