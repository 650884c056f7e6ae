import ClusterContract
import Contract
import Testing

@Suite struct NetworkAddressTests {
    private func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(text)) }

    private func resolved(peer: String, _ forwarded: String?, trusted: [String]) throws -> NetworkAddress {
        try #require(TrustedProxies(trusted)).client(peer: try self.address(peer), forwardedFor: forwarded)
    }

    @Test func aStrangersHeaderIsNotBelieved() throws {
        #expect(try self.resolved(peer: "9.9.9.9", "1.2.3.4", trusted: []) == self.address("9.9.9.9"))
        #expect(try self.resolved(peer: "9.9.9.9", "1.2.3.4", trusted: ["10.0.0.1"]) == self.address("9.9.9.9"))
    }

    @Test(arguments: [
        ("1.2.3.4", "1.2.3.4"), ("6.6.6.6, 1.2.3.4", "1.2.3.4"), ("6.6.6.6,1.2.3.4 , 10.0.0.2", "1.2.3.4"),
        ("not an address, 1.2.3.4", "1.2.3.4"),
        // Nothing to believe: the peer itself counts.
        ("", "10.0.0.1"), ("10.0.0.2", "10.0.0.1"), ("1.2.3.4, unknown", "10.0.0.1"),
        ("1.2.3.4:5678", "10.0.0.1"), ("1.2.3.4,,", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"), ("2001:db8::1", "2001:db8::1"),
    ])
    func theLastAddressThatIsNoProxyCounts(header: String, client: String) throws {
        #expect(try self.resolved(peer: "10.0.0.1", header, trusted: ["10.0.0.1", "10.0.0.2"]) == self.address(client))
    }

    @Test func aProxyWithoutAHeaderCountsItself() throws {
        #expect(try self.resolved(peer: "10.0.0.1", nil, trusted: ["10.0.0.1"]) == self.address("10.0.0.1"))
    }

    /// A neighbour in the network of a proxy is not that proxy.
    @Test func aNeighbourOfAnIPv6ProxyIsNotBelieved() throws {
        let (proxy, neighbour) = ("2001:db8:1:2::1", "2001:db8:1:2::2")
        #expect(try self.resolved(peer: neighbour, "9.9.9.9", trusted: [proxy]) == self.address(neighbour))
        #expect(try self.resolved(peer: proxy, "9.9.9.9, \(neighbour)", trusted: [proxy]) == self.address(neighbour))
        #expect(try self.resolved(peer: proxy, "9.9.9.9", trusted: [proxy]) == self.address("9.9.9.9"))
    }

    @Test func addressesAreEqualByAllTheirBits() throws {
        #expect(try self.address("2001:db8:1:2::1") == self.address("2001:DB8:1:2:0::1"))
        #expect(try self.address("2001:db8:1:2::1") != self.address("2001:db8:1:2::2"))
        #expect(try self.address("2001:db8:1:2::1") != self.address("2001:db8:1:3::1"))
    }

    @Test func anIPv6NetworkIsOneBucket() throws {
        let network = try self.address("2001:db8:1:2::1").network
        #expect(try self.address("2001:db8:1:2:ffff:ffff:ffff:ffff").network == network)
        #expect(try self.address("2001:db8:1:3::1").network != network)
        #expect(try self.address("2001:db8::1").network != network)
        #expect(try self.address("1.2.3.4").network != self.address("1.2.3.5").network)
    }

    @Test(arguments: [
        ("1.2.3.4", "4-1020304"), ("::ffff:1.2.3.4", "4-1020304"), ("2001:db8:1:2::1", "6-20010db800010002"),
        ("::1", "6-0"), ("0.0.0.0", "4-0"),
    ])
    func aBucketNamesKindAndNetwork(text: String, bucket: String) throws {
        #expect(try self.address(text).bucket == bucket)
    }

    /// There is one for every idle connection.
    @Test func aNetworkIsSmall() {
        #expect(MemoryLayout<NetworkAddress.Network>.size <= 9)
    }

    @Test func mappedIPv4IsIPv4() throws {
        #expect(try self.address("::ffff:1.2.3.4") == self.address("1.2.3.4"))
        #expect(try self.address("::ffff:1.2.3.4") != self.address("1.2.3.5"))
        #expect(try self.address("::1.2.3.4") != self.address("1.2.3.4"))
        #expect(try self.address("::1") != self.address("0.0.0.1"))
        // The same number in both families.
        #expect(try self.address("::") != self.address("0.0.0.0"))
    }

    @Test(arguments: [
        "", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4 ", "[::1]", "::g", "fe80::1%eth0", "1.2.3.4\u{0}5",
    ])
    func namesAreNoAddresses(text: String) {
        #expect(NetworkAddress(text) == nil)
    }
}
