import CSodium
import Contract
import TestKit

/// libsodium's arithmetic on scalars and points, in bytes: what ours is compared with.
enum Libsodium {
    private static func filled(_ count: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let status = bytes.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
        return status == 0 ? bytes : nil
    }

    // MARK: - Scalars modulo L

    /// - Parameter number: 64 bytes.
    static func reduced(_ number: [UInt8]) -> [UInt8] {
        precondition(number.count == 64)
        return Self.filled(32) {
            crypto_core_ed25519_scalar_reduce($0, number); return 0
        }!
    }

    static func sum(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
        Self.filled(32) {
            crypto_core_ed25519_scalar_add($0, x, y); return 0
        }!
    }

    static func product(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
        Self.filled(32) {
            crypto_core_ed25519_scalar_mul($0, x, y); return 0
        }!
    }

    static func negative(_ x: [UInt8]) -> [UInt8] {
        Self.filled(32) {
            crypto_core_ed25519_scalar_negate($0, x); return 0
        }!
    }

    // MARK: - Points, encoded

    /// - Returns: nil if one of them is not on the curve. Points of small order are.
    static func pointSum(_ p: [UInt8], _ q: [UInt8]) -> [UInt8]? {
        Self.filled(32) { crypto_core_ed25519_add($0, p, q) }
    }

    /// - Parameter scalar: not 0.
    static func multipleOfBase(_ scalar: [UInt8]) -> [UInt8] {
        Self.filled(32) { crypto_scalarmult_ed25519_base_noclamp($0, scalar) }!
    }

    /// - Parameter scalar: not 0.
    static func multiple(_ scalar: [UInt8], _ point: [UInt8]) -> [UInt8] {
        Self.filled(32) { crypto_scalarmult_ed25519_noclamp($0, scalar, point) }!
    }

    static func sha512(_ bytes: [UInt8]) -> [UInt8] {
        Self.filled(64) { crypto_hash_sha512($0, bytes, UInt64(bytes.count)) }!
    }
}

/// A signer that bends the rules when asked to.
struct Signer {
    private let keys: Keys
    let publicKey: [UInt8]

    init(seed: [UInt8]) {
        self.keys = Keys(signSeed: seed, encSeed: seed)
        self.publicKey = self.keys.signPublicKey
    }

    func sign(_ digest: [UInt8]) -> Claim {
        Claim(signature: self.keys.sign(digest), digest: digest, key: self.publicKey)
    }

    /// A signature whose R, or key, has a part of small order (`Torsion`).
    /// - Parameters: points of small order, encoded; nil for none. With `isRNothingElse`, R is that point alone.
    func sign(
        _ digest: [UInt8], torsionOfR: [UInt8]?, torsionOfKey: [UInt8]? = nil, isRNothingElse: Bool = false
    ) -> Claim {
        let (signature, key) = self.keys.sign(
            digest, torsionOfR: torsionOfR ?? Group.identity, torsionOfKey: torsionOfKey ?? Group.identity,
            isRNothingElse: isRNothingElse)
        return Claim(signature: signature, digest: digest, key: key)
    }
}
