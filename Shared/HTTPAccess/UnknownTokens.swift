package import Bus
package import ClusterContract
package import Contract
package import Hummingbird
import Synchronization

/// Bounds the work that tokens make that are nobody's: `Rates.unknownTokens` for each address (contract §13a). Beyond it an address
/// hears 429 before anything is looked up.
///
/// A use is taken before the look-up and given back if the token is somebody's, so that look-ups under way count too. That
/// is judged in this process, without asking anybody. A token that was nobody's is then counted for all processes, in Redis; when
/// they have used up the rate together, this one refuses as well. While Redis is away each process counts alone.
///
/// An address that has used up its rate is refused whatever token it shows, because telling is what costs. But tokens
/// that this process has lately seen to be somebody's pass: neighbours behind one address do not shut each other out.
package final class UnknownTokens: Sendable {
    private struct State {
        /// By the bucket of the address. Their time is that of `self.now`.
        var paces: [String: Pace] = [:]
        /// SHA-256 of tokens that were somebody's when they were last looked up.
        var known: Set<Bytes32> = []
    }

    private let bus: any KeyBus
    private let allowance: Allowance
    private let trustedProxies: TrustedProxies
    private let state = Mutex(State())
    private let start: ContinuousClock.Instant
    private let steadyNow: @Sendable () -> ContinuousClock.Instant

    package init(
        bus: any KeyBus, rates: RateTable, trustedProxies: TrustedProxies,
        steadyNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.start = steadyNow()
        self.steadyNow = steadyNow
        self.bus = bus
        self.allowance = rates.allowance(of: Rates.unknownTokens)
        self.trustedProxies = trustedProxies
    }

    /// Looks up what a token stands for.
    /// - Parameters:
    ///   - peer: where the request's connection comes from.
    ///   - lookUp: nil for a token that is nobody's.
    /// - Throws: 401 for such a token, 429 with `Retry-After` if the address has shown too many, or what `lookUp` throws.
    package func session<Found: Sendable>(
        of tokenHash: Bytes32, _ request: Request, from peer: NetworkAddress?,
        _ lookUp: () async throws(HTTPRefusal) -> Found?
    ) async throws(HTTPRefusal) -> Found {
        let address = self.address(of: request, from: peer)
        let isKnown = self.state.withLock { $0.known.contains(tokenHash) }
        if !isKnown, let wait = self.take(address) { throw .tooMany(retryAfterMilliseconds: wait) }
        let found: Found?
        do throws(HTTPRefusal) {
            found = try await lookUp()
        } catch {
            // Nobody knows whose it is: that is not the client's fault.
            if !isKnown { self.giveBack(address) }
            throw error
        }
        guard let found else {
            self.state.withLock { _ = $0.known.remove(tokenHash) }
            if isKnown { _ = self.take(address) }
            try await self.count(address)
            throw .notRegistered
        }
        if !isKnown {
            self.giveBack(address)
            self.remember(tokenHash)
        }
        return found
    }

    private func address(of request: Request, from peer: NetworkAddress?) -> String {
        guard let peer else { return "" }
        return self.trustedProxies.client(peer: peer, forwardedFor: request.headers[.init("X-Forwarded-For")!]).bucket
    }

    // MARK: In this process

    /// Milliseconds of the steady clock: whoever sets the time neither frees nor locks out anybody.
    private var now: Timestamp { Timestamp(milliseconds: (self.steadyNow() - self.start).milliseconds) }

    /// - Returns: nil if there was a use left, else the milliseconds until the next.
    private func take(_ address: String) -> Int64? {
        let now = self.now
        return self.state.withLock { state in
            if state.paces[address] == nil, state.paces.count >= HTTPAccessLimits.addressesCountedMax {
                state.paces = state.paces.filter { !$0.value.isRested(at: now) }
                if state.paces.count >= HTTPAccessLimits.addressesCountedMax { state.paces = [:] }
            }
            return state.paces[address, default: Pace()].admit(self.allowance, at: now)
        }
    }

    private func giveBack(_ address: String) {
        let now = self.now
        self.state.withLock { state in
            guard let pace = state.paces[address] else { return }
            let left = Pace(restedAt: max(0, pace.restedAt - self.allowance.step))
            state.paces[address] = left.isRested(at: now) ? nil : left
        }
    }

    private func remember(_ tokenHash: Bytes32) {
        self.state.withLock { state in
            if state.known.count >= HTTPAccessLimits.knownTokensMax { state.known = [] }
            state.known.insert(tokenHash)
        }
    }

    // MARK: In all of them

    /// Counts a token that was nobody's.
    /// - Throws: 429 if all processes together have seen too many from this address.
    private func count(_ address: String) async throws(HTTPRefusal) {
        let key = Keyspace.rateLimit(Rates.unknownTokens, address)
        guard let wait = (try? await self.bus.admit(key, self.allowance)) ?? nil else { return }
        let usedUp = Double(self.now.milliseconds + wait) + self.allowance.ahead - self.allowance.step
        self.state.withLock { state in
            // Whichever is fuller: this process may have counted look-ups that are under way.
            let own = state.paces[address] ?? Pace()
            state.paces[address] = Pace(restedAt: max(own.restedAt, usedUp))
        }
        throw .tooMany(retryAfterMilliseconds: wait)
    }
}

/// The bounds of what is remembered about those who ask.
package enum HTTPAccessLimits {
    /// Addresses with tokens that were nobody's. When more come those at rest are forgotten; if none is, all.
    package static let addressesCountedMax = 100_000
    /// Tokens that were somebody's; when more come all are forgotten, and looked up again. 32 bytes each.
    package static let knownTokensMax = 20_000
}
