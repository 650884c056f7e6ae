/// Addresses of one kind that begin with the same bits: `10.42.0.0/16`, `2001:db8:1::/48` (CIDR, RFC 4632 and RFC 4291 §2.3).
package struct AddressRange: Hashable, Sendable {
    private let first: NetworkAddress
    /// Length of the prefix, in the 128 bits that an address has here.
    private let prefixBits: Int

    /// Reads an address and the length of its prefix: 1...32 of IPv4, 1...128 of IPv6. Bits behind the prefix must be zero:
    /// `10.0.0.7/8` may be meant for one address or for sixteen million.
    package init?(_ text: String) {
        guard let slash = text.firstIndex(of: "/"), let first = NetworkAddress(String(text[..<slash])) else {
            return nil
        }
        let digits = text[text.index(after: slash)...]
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), digits.first != "0",
            let length = Int(digits), (1...first.lengthMax).contains(length)
        else { return nil }
        self.first = first
        self.prefixBits = NetworkAddress.bits - first.lengthMax + length
        guard first.hasZeros(after: self.prefixBits) else { return nil }
    }

    package func contains(_ address: NetworkAddress) -> Bool {
        address.isIPv4 == self.first.isIPv4 && address.begins(like: self.first, bits: self.prefixBits)
    }
}
