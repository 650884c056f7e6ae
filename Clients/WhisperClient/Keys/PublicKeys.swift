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

    /// Whether a guest's id was made from these keys (contract §14.2).
    package func belong(to id: GuestID) -> Bool { self.guestID == id }

    /// Whether a conversation's id was made from these keys: a link vouches for its whisperer (contract §14.5).
    package func belong(to id: ConversationID) -> Bool { self.conversationID == id }

    package func belong(to id: PrincipalID) -> Bool {
        switch id {
        case .identity(let id): self.belong(to: id)
        case .guest(let id): self.belong(to: id)
        }
    }

    package var guestID: GuestID {
        GuestID.derived(signPublicKey: self.sign.bytes, encPublicKey: self.box.bytes, sha256: Sodium.sha256)
    }

    package var conversationID: ConversationID {
        ConversationID.derived(signPublicKey: self.sign.bytes, encPublicKey: self.box.bytes, sha256: Sodium.sha256)
    }
}
