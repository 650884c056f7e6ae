package import Bus
package import ClusterContract
package import Contract
package import Hummingbird

/// How often one address may ask what anybody may ask.
package struct AddressGate: Sendable {
    private let limiter: RateLimiter
    private let trustedProxies: TrustedProxies

    package init(bus: any Bus, rates: RateTable, trustedProxies: TrustedProxies) {
        self.limiter = RateLimiter(bus: bus, rates: rates)
        self.trustedProxies = trustedProxies
    }

    /// - Throws: 429 with `Retry-After`.
    package func admit(_ request: Request, from peer: NetworkAddress?, within rate: Rate) async throws(HTTPRefusal) {
        guard let peer else { throw .internalError }
        let address = self.trustedProxies.client(
            peer: peer, forwardedFor: request.headers[.init("X-Forwarded-For")!])
        if let wait = await self.limiter.admit(rate, address.bucket) {
            throw .tooMany(retryAfterMilliseconds: wait)
        }
    }
}
