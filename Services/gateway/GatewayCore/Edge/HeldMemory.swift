import ClusterContract
import Contract
import NIOCore

/// Memory that connections hold: incomplete messages, frames that wait, bytes that sockets have not taken.
final class HeldMemory {
    private let bytesMax: Int
    private var budget = MemoryBudget()

    /// - Parameter bytesMax: bytes that all connections may hold together.
    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// - Parameter incoming: bytes of a message that is not complete.
    func holds(incoming: Int, for id: ConnectionID) { self.budget.track(id, incoming: incoming) }

    /// A frame of the connection waits.
    func lookAtWaiting(of connection: Connection) {
        if connection.machine.waitingBytes > GatewayLimits.heldBytesUncounted { self.budget.track(connection.id) }
    }

    /// The connection's socket may not have taken everything.
    func lookAtUnsent(of connection: Connection) {
        if connection.unsentBytes > GatewayLimits.heldBytesUncounted { self.budget.track(connection.id) }
    }

    /// The connection's socket is gone.
    func forget(_ id: ConnectionID) { self.budget.forget(id) }

    /// Connections to close, so that the others hold no more than they may together.
    func connectionsToEvict(_ host: isolated some EdgeHost) -> [Connection] {
        self.budget.connectionsToEvict(limit: self.bytesMax) { id in
            host.connection(id).map { ($0.unsentBytes + $0.machine.waitingBytes, $0.machine.isSomebodys) }
        }.compactMap { host.connection($0) }
    }
}
