package import Contract

/// The connections for which a gateway keeps much in memory, and which of them have to go if it is too much.
///
/// What one connection may have kept is bounded by other limits; this bounds what all have. Only those that keep much are listed, so that
/// an idle connection costs nothing.
package struct Holders {
    /// Bytes of a message that is not complete.
    private var incoming: [ConnectionID: Int] = [:]

    package init() {}

    /// From here on it is looked at.
    package mutating func notice(_ id: ConnectionID, incoming bytes: Int? = nil) {
        self.incoming[id] = bytes ?? self.incoming[id] ?? 0
    }

    package mutating func forget(_ id: ConnectionID) { self.incoming[id] = nil }

    /// - Parameters:
    ///   - max: bytes that all may have kept together. Beyond it so many go that three quarters of it are left.
    ///   - other: what else is kept for a connection, in bytes, and whether it has a session; nil if it is gone.
    /// - Returns: whose connections to close. Those without a session first, then by size.
    package mutating func look(
        max: Int, _ other: (ConnectionID) -> (bytes: Int, hasSession: Bool)?
    ) -> [ConnectionID] {
        var all: [(id: ConnectionID, bytes: Int, hasSession: Bool)] = []
        var total = 0
        for (id, incoming) in self.incoming {
            guard let (bytes, hasSession) = other(id), incoming + bytes > GatewayLimits.heldBytesUncounted else {
                self.incoming[id] = nil
                continue
            }
            all.append((id, incoming + bytes, hasSession))
            total += incoming + bytes
        }
        guard total > max else { return [] }
        all.sort { $0.hasSession == $1.hasSession ? $0.bytes > $1.bytes : !$0.hasSession }
        var doomed: [ConnectionID] = []
        for holder in all where total > max / 4 * 3 {
            doomed.append(holder.id)
            total -= holder.bytes
        }
        return doomed
    }
}
