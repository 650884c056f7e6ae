import Bus
import Contract
import NIOCore
import Telemetry

/// The host of the turns.
protocol TurnHost: EdgeHost {
    /// The turn ends: features write what they have collected in it.
    func turnEnds()
    /// All frames of the turn have been handed to their sockets.
    func turnEnded()
}

/// Turns of the event loop. The frames of a turn are written at its end, in one call for each socket.
final class Turns {
    private let eventLoop: any EventLoop
    private let metrics: GatewayMetrics
    private let memory: HeldMemory
    /// Blocks the event loop for so long.
    private let rest: (@Sendable (Duration) -> Void)?
    /// Connections with something to write at the end of this turn.
    private var dirty: [Connection] = []
    private var isEndScheduled = false
    private var pacing = ArrivalPacing(
        interval: GatewayLimits.turnInterval, worthWaiting: GatewayLimits.turnEventsWorthWaiting,
        window: GatewayLimits.turnRateWindow)
    /// Frames and Notices of this turn.
    private var events = 0

    /// - Parameter rest: blocks the event loop, which must be the gateway's alone, for so long. Without it no turn waits for events.
    init(
        eventLoop: any EventLoop, metrics: GatewayMetrics, memory: HeldMemory, rest: (@Sendable (Duration) -> Void)?
    ) {
        self.eventLoop = eventLoop
        self.metrics = metrics
        self.memory = memory
        self.rest = rest
    }

    /// A frame or a Notice has come. While many come, the event loop rests a moment after each turn, and the next turn takes all that
    /// came meanwhile: each wake-up of a thread costs more than a frame.
    func countEvent(_ host: isolated some TurnHost) {
        guard self.rest != nil else { return }
        self.events += 1
        guard self.events == 1 else { return }
        let eventLoop = self.eventLoop
        // The event loop runs these on the host's thread, where the turns live.
        nonisolated(unsafe) let turns = self
        // Twice: behind all that this turn is about to write.
        eventLoop.execute { eventLoop.execute { host.assumeIsolated { _ in turns.takeRest() } } }
    }

    private func takeRest() {
        let pause = self.pacing.pause(at: .now)
        if pause > .zero { self.rest?(pause) }
        self.pacing.looked(self.events, at: .now)
        self.events = 0
    }

    /// The connection has something to write.
    func wrote(_ connection: Connection, _ host: isolated some TurnHost) {
        self.dirty.append(connection)
        self.scheduleEnd(host)
    }

    func scheduleEnd(_ host: isolated some TurnHost) {
        guard !self.isEndScheduled else { return }
        self.isEndScheduled = true
        // The event loop runs this on the host's thread, where the turns live.
        nonisolated(unsafe) let turns = self
        self.eventLoop.execute { host.assumeIsolated { turns.end($0) } }
    }

    private func end(_ host: isolated some TurnHost) {
        self.isEndScheduled = false
        host.turnEnds()
        let dirty = self.dirty
        self.dirty.removeAll(keepingCapacity: true)
        var bytes = 0
        for connection in dirty {
            guard let outgoing = connection.takeOutgoing() else { continue }
            bytes += outgoing.readableBytes
            if connection.send(outgoing) { continue }
            // Unsent bytes of small writes are noticed with our next ping.
            if outgoing.readableBytes > GatewayLimits.heldBytesUncounted / 4 {
                self.memory.lookAtUnsent(of: connection)
            }
            if connection.isOpen, !connection.channel.isWritable {
                self.metrics.slowConsumersClosed.increment()
                host.close(connection, .slowConsumer)
            }
        }
        self.metrics.bytesOut.increment(by: bytes)
        host.turnEnded()
    }
}
