/// Which addresses are reachable from everywhere (IANA's special-purpose address registries): all others are somebody's
/// inside.
package enum PublicAddress {
    private static let special: [(prefix: [UInt8], bits: Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
        ([203, 0, 113], 24), ([224], 3),
    ]

    /// - Parameter v4: four bytes.
    package static func isPublic(v4 address: [UInt8]) -> Bool {
        address.count == 4 && !Self.special.contains { Self.begins(address, with: $0.prefix, bits: $0.bits) }
    }

    /// - Parameter v6: sixteen bytes.
    package static func isPublic(v6 address: [UInt8]) -> Bool {
        guard address.count == 16 else { return false }
        // IPv4 in other clothes: mapped, and through the well-known NAT64 prefix (RFC 6052).
        if address.starts(with: [UInt8](repeating: 0, count: 10) + [255, 255])
            || address.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        {
            return Self.isPublic(v4: Array(address.suffix(4)))
        }
        // Only 2000::/3 is given out to the world; documentation, Teredo, 6to4 and benchmarks are carved out of it.
        return Self.begins(address, with: [0x20], bits: 3)
            && ![([0x20, 0x01, 0x0D, 0xB8], 32), ([0x20, 0x01, 0, 0], 23), ([0x20, 0x02], 16), ([0x3F, 0xFF], 20)]
                .contains { Self.begins(address, with: $0.0, bits: $0.1) }
    }

    private static func begins(_ address: [UInt8], with prefix: [UInt8], bits: Int) -> Bool {
        (0..<bits).allSatisfy { bit in
            let wanted = bit / 8 < prefix.count ? prefix[bit / 8] : 0
            return (address[bit / 8] ^ wanted) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }
}
