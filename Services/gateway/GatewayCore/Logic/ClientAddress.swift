package import Contract
package import NIOCore

/// The key by which limits per address count (contract §11). Each connection keeps one.
package typealias ClientAddress = NetworkAddress.Network

extension NetworkAddress {
    /// - Returns: `nil` for what is no IP address.
    package init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address): self.init(ipv4: UInt32(bigEndian: address.address.sin_addr.s_addr))
        case .v6(let address):
            let (high, low) = withUnsafeBytes(of: address.address.sin6_addr) {
                (
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            self.init(ipv6High: high, low: low)
        case .unixDomainSocket: return nil
        }
    }
}
