package import ClusterContract
import Contract

/// Bounds the memory that a gateway keeps for all its connections together.
///
/// Other limits bound each connection. Only connections that keep more than `heldBytesUncounted` are tracked, so an
/// idle connection costs nothing here.
package struct MemoryBudget {
    /// Bytes of incomplete messages, by tracked connection.
    private var incoming: [ConnectionID: Int] = [:]

    package init() {}

    /// Starts tracking this connection's memory.
    package mutating func track(_ id: ConnectionID, incoming bytes: Int? = nil) {
        self.incoming[id] = bytes ?? self.incoming[id] ?? 0
    }

    package mutating func forget(_ id: ConnectionID) { self.incoming[id] = nil }

    /// - Parameters:
    ///   - limit: bytes that all connections may keep together. Above it, connections are evicted down to three
    ///     quarters.
    ///   - other: other bytes kept for a connection, and whether it has a session; nil if it is gone.
    /// - Returns: connections to close: first connections without a session, then the largest.
    package mutating func connectionsToEvict(
        limit: Int, _ other: (ConnectionID) -> (bytes: Int, hasSession: Bool)?
    ) -> [ConnectionID] {
        var tracked: [(id: ConnectionID, bytes: Int, hasSession: Bool)] = []
        var total = 0
        for (id, incoming) in self.incoming {
            guard let (bytes, hasSession) = other(id), incoming + bytes > GatewayLimits.heldBytesUncounted else {
                self.incoming[id] = nil
                continue
            }
            tracked.append((id, incoming + bytes, hasSession))
            total += incoming + bytes
        }
        guard total > limit else { return [] }
        tracked.sort { $0.hasSession == $1.hasSession ? $0.bytes > $1.bytes : !$0.hasSession }
        var evicted: [ConnectionID] = []
        for connection in tracked where total > limit / 4 * 3 {
            evicted.append(connection.id)
            total -= connection.bytes
        }
        return evicted
    }
}
