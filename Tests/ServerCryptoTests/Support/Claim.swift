import Contract
import ServerCrypto
import TestKit

/// A `SignedDigest` whose bytes can be tampered with.
struct Claim {
    var signature: [UInt8]
    var digest: [UInt8]
    var key: [UInt8]

    var signed: SignedDigest {
        SignedDigest(signature: Bytes64(self.signature)!, digest: Bytes32(self.digest)!, key: Bytes32(self.key)!)
    }

    /// libsodium's verdict on this signature alone.
    var isValidAlone: Bool {
        Signatures.isValid(Bytes64(self.signature)!, over: Bytes32(self.digest)!, by: Bytes32(self.key)!)
    }
}

/// Ways to be invalid.
enum Tampering: CaseIterable {
    case bitOfSignature, bitOfDigest, bitOfKey, scalarPlusOrder, scalarZero, smallR, smallKey, smallBoth, misspelledR,
        misspelledKey,
        otherR, randomR, randomKey, foreignKey

    func apply(to claim: inout Claim, _ generator: inout SeededGenerator) {
        func flip(_ bytes: inout [UInt8]) {
            let bit = Int.random(in: 0..<8 * bytes.count, using: &generator)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        let order = Group.smallOrderEncodings.randomElement(using: &generator)!
        let misspelled = Group.misspelledEncodings.randomElement(using: &generator)!
        switch self {
        case .bitOfSignature: flip(&claim.signature)
        case .bitOfDigest: flip(&claim.digest)
        case .bitOfKey: flip(&claim.key)
        case .scalarPlusOrder:
            claim.signature.replaceSubrange(32..., with: Group.plusOrder(Array(claim.signature[32...])))
        case .scalarZero: claim.signature.replaceSubrange(32..., with: [UInt8](repeating: 0, count: 32))
        case .smallR: claim.signature.replaceSubrange(..<32, with: order)
        case .smallKey: claim.key = order
        case .smallBoth:
            // The identity as key and as R, and S = 0: fits every message.
            claim.key = Group.identity
            claim.signature = Group.identity + [UInt8](repeating: 0, count: 32)
        case .misspelledR: claim.signature.replaceSubrange(..<32, with: misspelled)
        case .misspelledKey: claim.key = misspelled
        case .otherR: claim.signature.replaceSubrange(..<32, with: claim.key)
        case .randomR: claim.signature.replaceSubrange(..<32, with: generator.bytes(32))
        case .randomKey: claim.key = generator.bytes(32)
        case .foreignKey: claim.key = Signer(seed: generator.bytes(32)).publicKey
        }
    }
}

extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max, using: &self) } }

    /// Valid signatures by as many keys.
    mutating func claims(_ count: Int, keys: Int) -> [Claim] {
        let signers = (0..<max(keys, 1)).map { _ in Signer(seed: self.bytes(32)) }
        return (0..<count).map { signers[$0 % signers.count].sign(self.bytes(32)) }
    }
}
