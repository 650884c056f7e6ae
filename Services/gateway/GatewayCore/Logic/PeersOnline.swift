import ClusterContract
import Contract

/// Which peers one client has been told are online, so that it does not hear the same twice: a router that takes over from
/// one that died does not know what that one has told. Costs nothing until there is a peer.
struct PeersOnline {
    private var peers: Set<WhisperID> = []

    var count: Int { self.peers.count }

    /// - Returns: whether it is news to the client.
    mutating func hears(_ state: PresenceState, of peer: WhisperID) -> Bool {
        switch state {
        case .offline:
            self.peers.remove(peer)
            return true
        case .online:
            // Beyond the bound some things are heard twice.
            guard self.peers.count < ClusterLimits.peersMax else { return !self.peers.contains(peer) }
            return self.peers.insert(peer).inserted
        }
    }
}
