import ClusterContract
import Contract
import Testing

@Suite struct TrustedProxiesTests {
    private func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(text)) }

    @Test(arguments: [
        ("10.42.0.0/16", "10.42.0.0", "10.42.255.255", "10.41.255.255", "10.43.0.0"),
        ("10.0.0.8/29", "10.0.0.8", "10.0.0.15", "10.0.0.7", "10.0.0.16"),
        ("128.0.0.0/1", "128.0.0.0", "255.255.255.255", "127.255.255.255", "0.0.0.0"),
        ("10.0.0.7/32", "10.0.0.7", "10.0.0.7", "10.0.0.6", "10.0.0.8"),
        ("2001:db8:1::/48", "2001:db8:1::", "2001:db8:1:ffff::1", "2001:db8:0:ffff::1", "2001:db8:2::"),
        ("2001:db8::10/124", "2001:db8::10", "2001:db8::1f", "2001:db8::f", "2001:db8::20"),
        ("::1/128", "::1", "::1", "::", "::2"),
    ])
    func aRangeHasItsEnds(range: String, first: String, last: String, before: String, behind: String) throws {
        let trusted = try #require(TrustedProxies([range]))
        #expect(try trusted.contains(self.address(first)) && trusted.contains(self.address(last)))
        #expect(try !trusted.contains(self.address(before)) && !trusted.contains(self.address(behind)))
    }

    /// Each bit of a prefix counts, whichever half of the address it stands in.
    @Test(arguments: 1...128) func everyBitOfAPrefixCounts(length: Int) throws {
        let high: UInt64 = length <= 64 ? 1 << UInt64(64 - length) : 0
        let low: UInt64 = length <= 64 ? 0 : 1 << UInt64(128 - length)
        let text = [high, low].flatMap { half in
            stride(from: 48, through: 0, by: -16).map { String(half >> UInt64($0) & 0xFFFF, radix: 16) }
        }.joined(separator: ":")
        let trusted = try #require(TrustedProxies(["\(text)/\(length)"]))
        #expect(trusted.contains(NetworkAddress(ipv6High: high, low: low)))
        #expect(!trusted.contains(NetworkAddress(ipv6High: 0, low: 0)))
    }

    /// An IPv4 address is not within a range of IPv6 that its mapped form would be in.
    @Test func rangesHoldOneKind() throws {
        let (v6, mapped) = (
            try #require(TrustedProxies(["::/1"])), try #require(TrustedProxies(["10.0.0.0/8"]))
        )
        #expect(try !v6.contains(self.address("10.0.0.1")))
        #expect(try mapped.contains(self.address("::ffff:10.0.0.1")))
        #expect(try !mapped.contains(self.address("::10.0.0.1")))
    }

    @Test func balancersOfARangeArePassedOver() throws {
        let trusted = try #require(TrustedProxies(["10.42.0.0/16", "192.0.2.1"]))
        let header = "6.6.6.6, 1.2.3.4, 10.42.7.7, 192.0.2.1"
        #expect(try trusted.client(peer: self.address("10.42.1.2"), forwardedFor: header) == self.address("1.2.3.4"))
        #expect(try trusted.client(peer: self.address("10.43.1.2"), forwardedFor: header) == self.address("10.43.1.2"))
    }

    @Test(arguments: [
        "10.0.0.7/8", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/", "/8", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/-8",
        "10.0.0.0/+8", "::/129", "::/0", "2001:db8::1/64", "10.0.0/24", "lan/8", "10.0.0.0/99999999999999999999",
    ])
    func whatIsNoRangeIsRefused(text: String) {
        #expect(TrustedProxies([text]) == nil)
    }

    @Test func rangesHaveABound() {
        let ranges = (0...TrustedProxies.rangesMax).map { "10.\($0).0.0/16" }
        #expect(TrustedProxies(ranges) == nil)
        #expect(TrustedProxies(ranges.dropLast()) != nil)
    }
}
