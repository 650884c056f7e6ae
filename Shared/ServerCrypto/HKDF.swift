package import Contract

/// HKDF with SHA-256 (RFC 5869).
package enum HKDF {
    /// §2.2: a key from material that is not evenly random.
    package static func extract(salt: [UInt8], _ material: [UInt8]) -> Bytes32 {
        hmacSHA256(key: salt, material)
    }

    /// §2.3: keys for several uses from one.
    /// - Parameter count: bytes wanted, up to 8160.
    package static func expand(_ key: Bytes32, info: [UInt8], count: Int) -> [UInt8] {
        precondition((0...255 * 32).contains(count))
        var output: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while output.count < count {
            number += 1
            block = hmacSHA256(key: key.bytes, block + info + [number]).bytes
            output += block
        }
        return Array(output.prefix(count))
    }
}
