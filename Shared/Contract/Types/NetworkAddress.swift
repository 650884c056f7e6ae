#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An IPv4 or IPv6 address, compared by all of its bits. Limits count by its `network`.
package struct NetworkAddress: Hashable, Sendable {
    /// The IPv6 address. An IPv4 address stands here as IPv6 maps it: `::ffff:a.b.c.d`.
    private let high: UInt64
    private let low: UInt64

    private static let mappedPrefix: UInt64 = 0xFFFF_0000_0000

    package init(ipv4 bits: UInt32) {
        self.high = 0
        self.low = Self.mappedPrefix | UInt64(bits)
    }

    /// A mapped address becomes the IPv4 address that it stands for.
    package init(ipv6High high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads an address without port, brackets, zone or spaces.
    package init?(_ text: String) {
        // C would end the text there, and take what stands before it.
        guard !text.utf8.contains(0) else { return nil }
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(ipv4: UInt32(bigEndian: v4.s_addr))
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            let (high, low) = withUnsafeBytes(of: v6) {
                (
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            self.init(ipv6High: high, low: low)
        } else {
            return nil
        }
    }

    /// Mapped addresses too.
    var isIPv4: Bool { self.high == 0 && self.low & ~UInt64(UInt32.max) == Self.mappedPrefix }

    package var network: Network {
        self.isIPv4
            ? Network(bits: self.low & UInt64(UInt32.max), isIPv6: false) : Network(bits: self.high, isIPv6: true)
    }

    /// For keys: the text of `network`.
    package var bucket: String { self.network.description }

    /// The key by which limits for each address count: an IPv4 address, or the /64 of an IPv6 one (contract §11).
    package struct Network: Hashable, Sendable, CustomStringConvertible {
        fileprivate let bits: UInt64
        fileprivate let isIPv6: Bool

        /// Which kind it is, and the bits of the network.
        package var description: String { (self.isIPv6 ? "6-" : "4-") + String(self.bits, radix: 16) }
    }
}

/// Comparison of addresses, for ranges.
extension NetworkAddress {
    static let bits = 128

    /// Bits of an address of this kind.
    var lengthMax: Int { self.isIPv4 ? 32 : Self.bits }

    /// - Parameter count: of all 128 bits.
    func begins(like other: NetworkAddress, bits count: Int) -> Bool {
        let (high, low) = Self.mask(count)
        return (self.high ^ other.high) & high == 0 && (self.low ^ other.low) & low == 0
    }

    func hasZeros(after count: Int) -> Bool {
        let (high, low) = Self.mask(count)
        return self.high & ~high == 0 && self.low & ~low == 0
    }

    private static func mask(_ count: Int) -> (high: UInt64, low: UInt64) {
        // Swift's shifts by 64 and more give zero.
        (~(UInt64.max >> UInt64(count)), ~(UInt64.max >> UInt64(max(0, count - 64))))
    }
}
