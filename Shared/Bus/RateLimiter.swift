package import ClusterContract
package import Contract
import Synchronization

/// Counts what all processes of the cluster do for one subject, in Redis; while Redis is away each process counts for itself,
/// or nobody may, as the rate says (contract §11).
package final class RateLimiter: Sendable {
    /// Subjects counted in this process while Redis is away. When more come those at rest are forgotten; if none is, all.
    package static let countedMax = 100_000

    private struct Subject: Hashable {
        var action: String
        var key: String
    }

    private let bus: any KeyBus
    private let rates: RateTable
    private let paces = Mutex<[Subject: Pace]>([:])

    package init(bus: any KeyBus, rates: RateTable) {
        self.bus = bus
        self.rates = rates
    }

    /// Counts one use.
    /// - Parameter key: an identity, or an address, as text.
    /// - Returns: `nil` if it is allowed, else the milliseconds to wait.
    package func admit(_ rate: Rate, _ key: String) async -> Int64? {
        let allowance = self.rates.allowance(of: rate)
        do throws(BusError) {
            return try await self.bus.admit(Keyspace.rateLimit(rate, key), allowance)
        } catch {
            return rate.failsClosed ? Int64(Pace.minute) : self.admitHere(rate, key, allowance)
        }
    }

    /// A use that `admit` counted did not take place. While Redis is away it stays counted.
    package func giveBack(_ rate: Rate, _ key: String) async {
        let allowance = self.rates.allowance(of: rate)
        _ = try? await self.bus.lease(
            Keyspace.rateLimit(rate, key), RateRequest(allowance, uses: 0, uncounted: -allowance.step))
    }

    private func admitHere(_ rate: Rate, _ key: String, _ allowance: Allowance) -> Int64? {
        let now = Timestamp.now
        return self.paces.withLock { paces in
            let subject = Subject(action: rate.action, key: key)
            if paces[subject] == nil, paces.count >= Self.countedMax {
                paces = paces.filter { !$0.value.isRested(at: now) }
                if paces.count >= Self.countedMax { paces = [:] }
            }
            return paces[subject, default: Pace()].admit(allowance, at: now)
        }
    }
}
