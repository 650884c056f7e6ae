import ClusterContract
import Contract
import Store
import Testing

/// Relations between the bounds of the store.
@Suite struct LimitTests {
    @Test func aPoolIsBackWithinARequest() {
        #expect(StoreLimits.reconnect.first < StoreLimits.reconnect.longest)
        #expect(StoreLimits.reconnectLookPause < StoreLimits.reconnect.first)
        let connectTimeout = PostgresConfiguration(url: "", applicationName: "").connectTimeout
        #expect(connectTimeout * StoreLimits.hostsMax + StoreLimits.reconnect.longest < ClusterLimits.answerMax)
        // libpq counts no parts of a second.
        #expect(connectTimeout >= .seconds(2) && connectTimeout.components.attoseconds == 0)
        #expect(StoreLimits.borrowedMax < StoreLimits.reconnect.first)
    }
}
