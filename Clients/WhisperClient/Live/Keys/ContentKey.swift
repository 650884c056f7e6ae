package import Contract

/// The key of one generation of a conversation's content. Every admitted listener has it; a removed listener does not
/// get the next.
package struct ContentKey: Sendable {
    package let generation: Int
    package let key: SecretBytes
    /// Seals the lines. A shared transcript discloses this key, and no live text with it.
    package let lineKey: SecretBytes

    package init(generation: Int, key: SecretBytes) {
        self.generation = generation
        self.key = key
        self.lineKey = KeyDerivation.key(of: key, info: LiveKeyNames.line)
    }

    /// - Parameters:
    ///   - plain: of `PacketContents`, padded.
    ///   - nonce: 12 fresh random bytes.
    package func seal(_ plain: [UInt8], as header: LivePacketHeader, nonce: [UInt8]) -> SealedBytes {
        precondition(header.generation == self.generation)
        return SealedBytes(plain, key: self.key(for: header.kind), nonce: nonce, vouchingFor: LiveSeals.packet(header))
    }

    /// - Returns: `nil` if the packet is not sealed with this key, or its header was changed.
    package func open(_ sealed: SealedBytes, as header: LivePacketHeader) -> [UInt8]? {
        sealed.open(key: self.key(for: header.kind), vouchingFor: LiveSeals.packet(header))
    }

    private func key(for kind: LivePacketKind) -> SecretBytes { kind == .line ? self.lineKey : self.key }
}
