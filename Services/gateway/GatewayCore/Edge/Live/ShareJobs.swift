import Bus
import ClusterContract
import Contract

/// Jobs of one gateway for calls, in the streams of live conversations and of rooms.
final class ShareJobs {
    private let bus: any Bus
    /// Lines of whisperers that are to be stored and have not been appended yet.
    private var held: [LiveLine] = []
    private var isTimerSet = false
    /// How many of them come.
    private var pacing = ArrivalPacing(
        interval: GatewayLimits.linesHeldFor, worthWaiting: GatewayLimits.linesWorthHolding,
        window: GatewayLimits.lineRateWindow)

    init(bus: any Bus) { self.bus = bus }

    /// Appends a Job behind all held lines: the end of a stream or a holder's departure must not overtake its lines.
    func append(
        _ job: LiveJob, to share: LiveShare, failed: @escaping @Sendable (BusError) -> Void = { _ in }
    ) {
        self.appendHeld()
        self.bus.append(job, to: Keyspace.live(share), failed: failed)
    }

    /// Appends a Job about a room. No held line has to stand before it.
    func append(_ job: RoomJob, to share: RoomShare, failed: @escaping @Sendable (BusError) -> Void = { _ in }) {
        self.bus.append(job, to: Keyspace.rooms(share), failed: failed)
    }

    /// Appends a line: at once, or together with others while several come anyway. No listener reads it later, as listeners have the
    /// line already. A line that is lost with its gateway heals: its whisperer gets no confirmation, and sends the line again.
    func hold(_ line: LiveLine, _ host: isolated some EdgeHost) {
        self.held.append(line)
        self.pacing.looked(1, at: .now)
        if self.held.count >= GatewayLimits.linesHeldMax || !self.pacing.isWorthWaiting { return self.appendHeld() }
        guard !self.isTimerSet else { return }
        self.isTimerSet = true
        // Bare: it lasts for this pause alone.
        Task {
            _ = host  // It runs on the host's actor.
            try? await self.bus.pause(for: GatewayLimits.linesHeldFor)
            self.isTimerSet = false
            self.appendHeld()
        }
    }

    func appendHeld() {
        guard !self.held.isEmpty else { return }
        for line in self.held {
            self.bus.append(LiveJob.line(line), to: Keyspace.live(LiveShare(of: line.conversation)), failed: { _ in })
        }
        self.held.removeAll(keepingCapacity: true)
    }
}
