import ClusterContract
import Contract
import NIOCore
import ServerCrypto
import Telemetry

/// Connections come and go.
extension Gateway {
    /// How a connection reads on after an event.
    enum Flow {
        case goOn
        /// The server has sent its close frame: only the client's is awaited.
        case closing
    }

    func connected(_ id: ConnectionID, channel: any Channel) {
        // A socket without a peer address is gone already.
        guard let peer = channel.remoteAddress.flatMap({ NetworkAddress($0) }), !self.isDraining else {
            return channel.close(promise: nil)
        }
        let now = self.now
        self.connections[id] = Connection(
            id: id, channel: channel, address: peer.network, bucket: TokenBucket(self.limits.frames, at: now), at: now)
    }

    func requested(_ request: UpgradeRequest, by id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        guard case .mail(let limit, let bytes) = request.purpose else {
            return self.upgrades.requested(request, by: connection, isReady: self.isReady, self)
        }
        self.peeks.requested(request, limit: limit, bytes: bytes, by: connection, self)
    }

    func refuseRequest(_ id: ConnectionID, because reason: UpgradeRequest.Malformed) {
        guard let connection = self.connections[id] else { return }
        self.upgrades.end(connection, with: HTTPAnswer(to: reason), self)
    }

    func disconnected(_ id: ConnectionID) {
        guard let connection = self.connections.removeValue(forKey: id) else { return }
        self.memory.forget(id)
        _ = connection.takeOutgoing()
        self.unbind(connection)
        connection.beginsClosing(at: self.now)
        self.upgrades.leave(connection)
        self.peeks.leave(id)
    }

    /// The client broke the WebSocket protocol.
    func violated(_ violation: WebSocketParser.Violation, on id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        switch violation {
        case .protocolError:
            self.close(connection, .protocolError)
            // Nobody knows where its next frame begins: its answer could not be found. It hears the end of TCP at once.
            // The socket stays until the client has closed it too, or for `closeLinger`: closed with unread bytes, it
            // would be reset, and the close frame lost (RFC 6455 §7.1.1, §7.1.7).
            let channel = connection.channel
            self.eventLoop.execute { channel.close(mode: .output, promise: nil) }
        case .binary: self.close(connection, .unsupportedData)
        case .tooBig: self.close(connection, .tooBig)
        }
    }

    func received(_ event: WebSocketParser.Event, on id: ConnectionID) -> Flow {
        guard let connection = self.connections[id] else { return .closing }
        guard connection.isOpen else {
            if case .close = event { self.endSocket(of: connection) }
            return .closing
        }
        connection.heard(at: self.now)
        self.turns.countEvent(self)
        switch event {
        case .text(let message):
            self.metrics.framesIn.increment()
            self.metrics.bytesIn.increment(by: message.count)
            self.receive(message, on: connection)
        case .ping(let payload):
            // A client that pings faster than it may send frames is answered no faster than that.
            if connection.takeFrame(self.limits.frames, at: self.now) == nil {
                self.write(to: connection) { WebSocketWriter.pong(payload, to: &$0) }
            }
        case .pong(let payload):
            if self.live.receivedPong(payload, on: connection, self) { break }
            self.outcomes.receivedPong(payload, on: connection, self)
        case .close(let answer):
            self.close(connection, answer)
            self.endSocket(of: connection)
        }
        return connection.isOpen ? .goOn : .closing
    }

    /// The client has answered the server's close frame, or has sent too much instead of an answer.
    func answeredClose(_ id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        self.endSocket(of: connection)
    }

    private func endSocket(of connection: Connection) {
        let channel = connection.channel
        // Behind the flush of our own close frame.
        self.eventLoop.execute { channel.close(promise: nil) }
    }
}
