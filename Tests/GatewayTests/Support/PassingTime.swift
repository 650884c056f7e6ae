import ClusterContract
import Contract

@testable import GatewayCore

/// Time passes for one connection, as far as the gateway can see, and for nobody else.
extension Gateway {
    /// Moves the connection's last activity, or the start of its closing, into the past.
    func letPass(_ time: Duration, on id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        connection.heard(at: connection.heardAt - time.milliseconds)
        if case .closing(let until) = connection.phase {
            connection.beginsClosing(at: until - time.milliseconds, lingering: .zero)
        }
    }

    /// The connection was opened so much earlier.
    func handshakeTakes(_ time: Duration, on id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        connection.openedAt -= time.milliseconds
    }

    /// Milliseconds since something was heard from its client.
    func silence(of id: ConnectionID) -> Int64 { self.connections[id].map { self.now - $0.heardAt } ?? 0 }

    /// It has asked something of another service so long ago that no answer is waited for any more.
    func askedTooLongAgo(_ requestID: String, on id: ConnectionID) {
        let askedAt = self.now - ClusterLimits.answerMax.milliseconds
        _ = self.requests.add(.init(connection: id, requestID: requestID, kind: .frame, epoch: nil), at: askedAt)
    }

    /// It has a socket.
    func isThere(_ id: ConnectionID) -> Bool { self.connections[id] != nil }

    /// The connection that came last.
    var newest: ConnectionID? { self.connections.keys.max { $0.value < $1.value } }

    func isOpen(_ id: ConnectionID) -> Bool { self.connections[id]?.isOpen == true }
}

extension GatewayBench {
    /// Returns when the gateway has looked at all its connections so often more.
    func looks(_ count: Int) async throws {
        let goal = await self.gateway.second + count
        while await self.gateway.second < goal { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// Returns when the connection's socket is gone.
    func untilGone(_ connection: ConnectionID) async throws {
        while await self.gateway.isThere(connection) { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// Returns when the router has been told that the connection of this identity is gone.
    func untilToldGone(_ connection: ConnectionID, of identity: WhisperID) async throws {
        while true {
            if case .unbound(identity, self.gateway.node, connection) = try await self.job(of: Partition(of: identity))
            {
                return
            }
        }
    }
}
