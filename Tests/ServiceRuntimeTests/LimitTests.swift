import ServiceRuntime
import Testing

/// Relations between the bounds of a process and those of who runs it.
@Suite struct LimitTests {
    @Test func aProcessEndsBeforeItIsKilled() {
        #expect(RuntimeLimits.cancellationMax < RuntimeLimits.drainMax)
        #expect(RuntimeLimits.opsConnectionsMax < RuntimeLimits.httpConnectionsMax)
        #expect(RuntimeLimits.readinessCheckMax < RuntimeLimits.cancellationMax)
    }
}
