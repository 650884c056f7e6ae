package import Contract

/// The balancers whose `X-Forwarded-For` is believed: single addresses, and ranges for balancers whose addresses change.
package struct TrustedProxies: Equatable, Sendable {
    private let addresses: Set<NetworkAddress>
    private let ranges: [AddressRange]

    /// Each request is compared with all of them.
    package static let rangesMax = 64

    private init(_ addresses: Set<NetworkAddress>, ranges: [AddressRange] = []) {
        self.addresses = addresses
        self.ranges = ranges
    }

    /// Reads addresses and ranges, such as `10.0.0.7` and `10.42.0.0/16`.
    /// - Returns: `nil` if one of them is neither, or if there are more than 64 ranges.
    package init?(_ parts: some Sequence<some StringProtocol>) {
        var addresses: Set<NetworkAddress> = []
        var ranges: [AddressRange] = []
        for part in parts.map({ String($0) }) {
            if let address = NetworkAddress(part) {
                addresses.insert(address)
            } else if let range = AddressRange(part) {
                ranges.append(range)
            } else {
                return nil
            }
        }
        guard ranges.count <= Self.rangesMax else { return nil }
        self.init(addresses, ranges: ranges)
    }

    package func contains(_ address: NetworkAddress) -> Bool {
        self.addresses.contains(address) || self.ranges.contains { $0.contains(address) }
    }

    /// The client behind proxies: the last address of `X-Forwarded-For` that is not itself a trusted proxy.
    /// The header of a peer that is not trusted is ignored.
    /// - Returns: `peer`, if the header names no such address.
    package func client(peer: NetworkAddress, forwardedFor: String?) -> NetworkAddress {
        guard self.contains(peer), let forwardedFor else { return peer }
        for part in forwardedFor.split(separator: ",").reversed() {
            guard let address = NetworkAddress(part.filter { $0 != " " && $0 != "\t" }) else { return peer }
            if !self.contains(address) { return address }
        }
        return peer
    }
}

extension TrustedProxies: ExpressibleByArrayLiteral {
    package init(arrayLiteral addresses: NetworkAddress...) { self.init(Set(addresses)) }
}
