import ClusterContract
import Contract
import NIOCore
import Telemetry

/// Writes content to listeners, as far as they read it. It is rendered once, and listeners share its bytes.
struct ContentWriter {
    let metrics: GatewayMetrics

    /// Writes a packet to each listener here that has the packet before it, or needs none before it.
    func fanOut(
        _ packet: RememberedPacket, previous: Int64, of feed: StreamFeed, except holder: ConnectionID? = nil,
        _ host: isolated some EdgeHost
    ) {
        let before = LivePosition(epoch: packet.position.epoch, seq: previous)
        for listener in feed.listeners where listener.joining == nil && listener.connection != holder {
            if listener.place.position == before, listener.place.hasText {
                if self.give(packet, to: listener, host) { listener.place.gave(packet) }
            } else if packet.header.kind == .snapshot || packet.header.kind == .line {
                self.catchUp(listener, of: feed, host)
            } else {
                self.metrics.livePackets.skipped.increment()
            }
        }
    }

    /// Writes a packet to one listener alone, outside the sequence.
    func give(
        _ packet: RememberedPacket, outsideSequenceTo listener: PrincipalID, of feed: StreamFeed,
        _ host: isolated some EdgeHost
    ) {
        for one in feed.listeners where one.principal == listener && one.joining == nil {
            _ = self.give(packet, to: one, host)
        }
    }

    /// - Returns: false if the listener has too much unread. Then nothing is queued.
    private func give(
        _ packet: RememberedPacket, to listener: StreamListener, _ host: isolated some EdgeHost
    ) -> Bool {
        let (connection, part) = (listener.socket, listener.part)
        guard connection.isOpen else { return false }
        guard part.unread.takes(packet.bytes) else {
            self.metrics.livePackets.skipped.increment()
            return false
        }
        self.metrics.livePackets.out.increment()
        self.metrics.framesOut.increment()
        host.write(packet.frame, to: connection)
        if let ping = part.unread.wrote(packet.bytes, at: host.now) {
            host.write(to: connection) { WebSocketWriter.ping(UnreadContent.pingPayload(ping), to: &$0) }
        }
        return true
    }

    /// Writes what the listener misses, as far as it is here and the listener reads it.
    /// - Returns: what is not here; `nil` if nothing could be written.
    @discardableResult
    func catchUp(
        _ listener: StreamListener, of feed: StreamFeed, _ host: isolated some EdgeHost
    ) -> StreamMemory.Gift? {
        guard !listener.part.unread.isBehind else { return nil }
        let gift = feed.memory.gift(for: listener.place, at: .now, canAsk: feed.stream.state == .live)
        for line in gift.lines {
            guard self.give(line, to: listener, host) else { return gift }
            listener.place.gave(line: line)
        }
        for packet in gift.text {
            guard self.give(packet, to: listener, host) else { return gift }
            listener.place.gave(packet)
        }
        return gift
    }
}
