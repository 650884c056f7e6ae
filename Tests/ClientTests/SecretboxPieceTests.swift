import Testing

@testable import WhisperClient

/// Files are sealed in pieces; every other client opens them as one secretbox.
@Suite struct SecretboxPieceTests {
    private static let piece = SecretboxPieces.pieceBytes

    private func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: Self.piece).map { Array(bytes[$0..<min($0 + Self.piece, bytes.count)]) }
    }

    @Test(arguments: [0, 1, 63, 64, piece - 1, piece, piece + 1, 3 * piece, 3 * piece + 17])
    func piecesAreOneSecretbox(_ size: Int) throws {
        let (key, nonce, plain) = (Sodium.random(32), Sodium.random(24), Sodium.random(size))
        let whole = Sodium.secretbox(plain, nonce: nonce, key: key)
        var sealing = try #require(SecretboxPieces(key: SecretBytes(key), nonce: nonce))
        var sealed: [UInt8] = []
        for (number, piece) in self.pieces(plain).enumerated() {
            let part = sealing.crypt(piece, number: number)
            sealing.authenticate(part)
            sealed += part
        }
        #expect(sealing.tag() + sealed == whole)

        var opening = try #require(SecretboxPieces(key: SecretBytes(key), nonce: nonce))
        let parts = self.pieces(Array(whole[SecretboxPieces.tagBytes...]))
        for part in parts { opening.authenticate(part) }
        #expect(opening.isTag(Array(whole[..<SecretboxPieces.tagBytes])))
        // In any order: an upload goes on where it was.
        for (number, part) in parts.enumerated().reversed() {
            #expect(opening.crypt(part, number: number) == self.pieces(plain)[number])
        }
    }

    @Test func oneBitIsNoticed() throws {
        let (key, nonce) = (SecretBytes(Sodium.random(32)), Sodium.random(24))
        let whole = Sodium.secretbox(Sodium.random(1_000), nonce: nonce, key: key.bytes)
        for place in [0, SecretboxPieces.tagBytes, whole.count - 1] {
            var damaged = whole
            damaged[place] ^= 1
            var opening = try #require(SecretboxPieces(key: key, nonce: nonce))
            opening.authenticate(Array(damaged[SecretboxPieces.tagBytes...]))
            #expect(!opening.isTag(Array(damaged[..<SecretboxPieces.tagBytes])))
        }
    }

    @Test func keysAndNoncesOfOtherSizesAreRefused() {
        #expect(SecretboxPieces(key: SecretBytes(Sodium.random(31)), nonce: Sodium.random(24)) == nil)
        #expect(SecretboxPieces(key: SecretBytes(Sodium.random(32)), nonce: Sodium.random(23)) == nil)
    }
}
