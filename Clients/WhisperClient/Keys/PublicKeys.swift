package import Contract

/// The two public keys of an identity. They never change, so the first pair that fits the id is the pair for ever.
package struct PublicKeys: Hashable, Sendable {
    /// Ed25519.
    package let sign: Bytes32
    /// X25519.
    package let box: Bytes32

    package init(sign: Bytes32, box: Bytes32) {
        self.sign = sign
        self.box = box
    }

    /// Whether the id was made from these keys. An id says which keys it stands for, so a server that gives out
    /// others is found out without asking anybody (contract §4).
    package func belong(to id: WhisperID) -> Bool {
        (UInt8.min...UInt8.max).contains { self.id(counter: $0) == id }
    }

    package func id(counter: UInt8) -> WhisperID {
        WhisperID.derived(
            signPublicKey: self.sign.bytes, encPublicKey: self.box.bytes, counter: counter, sha256: Sodium.sha256)
    }
}
