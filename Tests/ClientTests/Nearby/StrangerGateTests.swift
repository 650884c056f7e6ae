import Contract
import Testing

@testable import WhisperClient

@Suite struct StrangerGateTests {
    @Test func newStrangersAreBoundedForEachPeriod() {
        var gate = StrangerGate()
        let start = ContinuousClock.now
        let after = start + NearbyLimits.strangersPeriod
        let first = (0...NearbyLimits.strangersPerPeriodMax).filter { _ in gate.letsIn(at: start) }
        #expect(first.count == NearbyLimits.strangersPerPeriodMax)
        let (early, late) = (gate.letsIn(at: after - .seconds(1)), gate.letsIn(at: after))
        #expect(!early && late)
    }

    @Test func messagesAreCountedByTheirWriters() {
        var gate = StrangerGate()
        let taken = (0..<99).filter { _ in gate.takesMessage(of: bobID) }
        #expect(taken.count == NearbyLimits.strangerMessagesMax)
        let isCarolTaken = gate.takesMessage(of: carolID)
        #expect(isCarolTaken)
    }
}
