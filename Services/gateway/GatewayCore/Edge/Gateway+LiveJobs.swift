import Bus
import Contract

/// What goes to calls: Jobs in the streams of live conversations and rooms.
extension Gateway {
    /// Behind all lines that are held. A stream's end or a holder's departure must not overtake its lines.
    func append(
        _ job: LiveJob, to share: LiveShare, failed: @escaping @Sendable (isolated Gateway) -> Void = { _ in }
    ) {
        self.appendHeldLines()
        // The bus calls back on the loop.
        self.bus.append(job, to: Keyspace.live(share)) { _ in self.assumeIsolated { failed($0) } }
    }

    /// Appends a line: at once, or together with others while several come anyway. Nobody reads sooner by it, as listeners have the line
    /// already. A line that is lost with its gateway heals: its whisperer is not told that it is stored, and sends it again.
    func hold(_ line: LiveLine) {
        self.heldLines.append(line)
        self.lines.looked(1, at: .now)
        if self.heldLines.count >= GatewayLimits.linesHeldMax || !self.lines.isWorthWaiting {
            return self.appendHeldLines()
        }
        guard !self.isLineTimerSet else { return }
        self.isLineTimerSet = true
        // Bare: it lasts for this pause alone.
        Task {
            try? await self.bus.pause(for: GatewayLimits.linesHeldFor)
            self.isLineTimerSet = false
            self.appendHeldLines()
        }
    }

    func appendHeldLines() {
        guard !self.heldLines.isEmpty else { return }
        for line in self.heldLines {
            self.bus.append(LiveJob.line(line), to: Keyspace.live(LiveShare(of: line.conversation)), failed: { _ in })
        }
        self.heldLines.removeAll(keepingCapacity: true)
    }
}
