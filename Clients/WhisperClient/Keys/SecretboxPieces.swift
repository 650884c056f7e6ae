/// One secretbox, sealed or opened piece by piece: a file of any size needs the memory of one piece (spec §6.2).
///
/// The bytes are those of libsodium's `crypto_secretbox_easy` over the whole. The tag stands before the ciphertext and
/// needs all of it. So a file is read twice: once for the tag, and once more for what is written.
package struct SecretboxPieces: Sendable {
    package static let tagBytes = 16
    /// All pieces but the last have this size: a multiple of the cipher's block.
    package static let pieceBytes = 65_536

    private let key: SecretBytes
    private let nonce: [UInt8]
    private var authenticator: Sodium.OneTimeAuthenticator

    /// - Returns: `nil` for a key or nonce of another size.
    package init?(key: SecretBytes, nonce: [UInt8]) {
        guard let tagKey = Sodium.secretboxKeystream(32, nonce: nonce, key: key) else { return nil }
        self.key = key
        self.nonce = nonce
        self.authenticator = Sodium.OneTimeAuthenticator(key: tagKey)
    }

    /// Encrypts a plain piece, or decrypts a sealed one. Each piece may be asked for at any time.
    /// - Parameter number: of the piece, from 0.
    package func crypt(_ piece: [UInt8], number: Int) -> [UInt8] {
        precondition(piece.count <= Self.pieceBytes && number >= 0)
        return Sodium.secretboxCrypt(
            piece, atBlock: UInt64(number) * UInt64(Self.pieceBytes / 64), nonce: self.nonce, key: self.key)
    }

    /// Counts a piece of the ciphertext in, in order.
    package mutating func authenticate(_ sealed: [UInt8]) { self.authenticator.update(sealed) }

    /// The tag of all pieces that were counted in.
    package func tag() -> [UInt8] { self.authenticator.tag() }

    /// Whether this is the tag of all pieces that were counted in. Before that nothing of the file may be shown.
    package func isTag(_ tag: [UInt8]) -> Bool { Sodium.areEqual(self.tag(), tag) }
}
