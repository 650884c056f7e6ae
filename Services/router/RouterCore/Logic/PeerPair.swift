package import Contract

/// Two identities, one of whom does something that the other sees.
package struct PeerPair: Hashable, Sendable {
    package var from: WhisperID
    package var to: WhisperID

    package init(from: WhisperID, to: WhisperID) {
        self.from = from
        self.to = to
    }
}
