package import NIOCore

/// What limits per address count by: an IPv4 address, or the /64 of an IPv6 one (contract §11).
package struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
    private let network: UInt64
    private let isIPv6: Bool

    package init?(_ text: String) {
        guard let address = try? SocketAddress(ipAddress: text, port: 0) else { return nil }
        self.init(address)
    }

    package init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address):
            self.network = UInt64(UInt32(bigEndian: address.address.sin_addr.s_addr))
            self.isIPv6 = false
        case .v6(let address):
            let (network, mapped) = withUnsafeBytes(of: address.address.sin6_addr) {
                (
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                    // ::ffff:a.b.c.d is IPv4 on an IPv6 socket.
                    $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self) == UInt32(bigEndian: 0xFFFF)
                        ? UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: 12, as: UInt32.self)) : nil
                )
            }
            if network == 0, let mapped {
                self.network = UInt64(mapped)
                self.isIPv6 = false
            } else {
                self.network = network
                self.isIPv6 = true
            }
        case .unixDomainSocket: return nil
        }
    }

    /// For keys: the network's bits, and which kind it is.
    package var description: String { (self.isIPv6 ? "6-" : "4-") + String(self.network, radix: 16) }

    /// The client behind proxies: the last address of `X-Forwarded-For` that is not itself a trusted proxy.
    /// A header from anybody else is not believed.
    package static func resolve(
        peer: ClientAddress, forwardedFor: String?, trusted: Set<ClientAddress>
    ) -> ClientAddress {
        guard trusted.contains(peer), let forwardedFor else { return peer }
        for part in forwardedFor.split(separator: ",").reversed() {
            guard let address = ClientAddress(String(part.filter { $0 != " " })) else { return peer }
            if !trusted.contains(address) { return address }
        }
        return peer
    }
}
