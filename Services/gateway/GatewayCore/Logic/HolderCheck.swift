import ClusterContract
import Contract

/// Decides at the home which packets of a holder go on (contract §14.9, §19.3, §19.6, §19.7c).
///
/// Gaps in `seq` are allowed: packets over their rate are refused before they come here. That the next one is a snapshot
/// is the client's duty.
struct HolderCheck {
    /// The holder's connection: no other may send.
    let connection: ConnectionID
    let epoch: Int64
    /// The stream's.
    var generation: Int
    /// The `seq` of the newest packet to all; 0 before the first one.
    private(set) var seq: Int64 = 0

    init(connection: ConnectionID, epoch: Int64, generation: Int) {
        self.connection = connection
        self.epoch = epoch
        self.generation = generation
    }

    enum Verdict: Equatable {
        /// It goes to all. `previous`: the `seq` of the packet to all before it; 0 for none.
        case all(previous: Int64)
        /// It goes to this listener alone.
        case one(PrincipalID)
        /// Without a word.
        case drop
        case refuse(Refusal)
    }

    mutating func check(_ header: LivePacketHeader) -> Verdict {
        guard header.position.epoch == self.epoch else { return .refuse(.anotherEpoch) }
        guard header.generation <= self.generation else { return .refuse(.newerGeneration) }
        guard header.generation == self.generation else { return .drop }
        if let listener = header.to {
            return header.position.seq == self.seq ? .one(listener) : .drop
        }
        guard header.position.seq > self.seq else { return .drop }
        defer { self.seq = header.position.seq }
        return .all(previous: self.seq)
    }
}

extension Refusal {
    static let notHolding = Refusal(.forbidden, "this connection does not hold the stream")
    static let anotherEpoch = Refusal(.forbidden, "epoch is not the one that this connection holds")
    static let newerGeneration = Refusal(.forbidden, "generation is above the stream's")
    static let notJoined = Refusal(.forbidden, "this connection has not joined the conversation")
}
