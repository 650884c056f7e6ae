package import ClusterContract
import Contract
package import Participants

/// Everything the calls service is told from outside.
package struct CallsConfiguration: Sendable {
    /// How long a call rings (contract §7: 45 s).
    package var ringTime: Duration
    /// Between two checks who owns which calls, live conversations and rooms. `OwnerLimits.leaseInterval`, by default.
    package var leaseInterval: Duration
    package var turn: TurnConfiguration
    /// The rates of HTTP requests.
    package var rates: RateTable
    /// The proxies whose `X-Forwarded-For` is believed.
    package var trustedProxies: TrustedProxies

    package init(
        ringTime: Duration = Limits.callRingTime, leaseInterval: Duration = OwnerLimits.leaseInterval,
        turn: TurnConfiguration, rates: RateTable = RateTable(), trustedProxies: TrustedProxies = []
    ) {
        self.ringTime = ringTime
        self.leaseInterval = leaseInterval
        self.turn = turn
        self.rates = rates
        self.trustedProxies = trustedProxies
    }
}
