package import Contract
import ServerCrypto

/// An identity's name and keys, which never change.
package struct IdentityKeys: Equatable, Sendable {
    package var whisperID: WhisperID
    package var signPublicKey: Bytes32
    package var encPublicKey: Bytes32

    package init(whisperID: WhisperID, signPublicKey: Bytes32, encPublicKey: Bytes32) {
        self.whisperID = whisperID
        self.signPublicKey = signPublicKey
        self.encPublicKey = encPublicKey
    }
}

/// The claim of a client that has proved that it holds a signing key: an existing identity, or a new one.
package struct IdentityClaim: Sendable {
    package let whisperID: WhisperID?
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32

    package init(whisperID: WhisperID?, signPublicKey: Bytes32, encPublicKey: Bytes32) {
        self.whisperID = whisperID
        self.signPublicKey = signPublicKey
        self.encPublicKey = encPublicKey
    }

    package enum Verdict: Equatable, Sendable {
        case existing(WhisperID)
        case new
        case refused
    }

    /// - Parameter known: every identity that has one of the claimed keys. One key pair is one id: both keys belong to
    ///   the same identity or to none.
    package func verdict(known: [IdentityKeys]) -> Verdict {
        guard let identity = known.first else { return self.whisperID == nil ? .new : .refused }
        guard known.count == 1, identity.signPublicKey == self.signPublicKey,
            identity.encPublicKey == self.encPublicKey,
            self.whisperID == nil || self.whisperID == identity.whisperID
        else { return .refused }
        return .existing(identity.whisperID)
    }

    /// Ids for a new identity, in the order in which they are to be tried until one is free.
    package var candidates: some Sequence<WhisperID> {
        let (sign, enc) = (self.signPublicKey.bytes, self.encPublicKey.bytes)
        return (UInt8.min...UInt8.max).lazy.map { counter in
            WhisperID.derived(signPublicKey: sign, encPublicKey: enc, counter: counter) { SHA256.hash($0).bytes }
        }
    }
}
