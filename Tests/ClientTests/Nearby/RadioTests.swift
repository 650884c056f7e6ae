import Contract
import Testing

@testable import WhisperClient

@Suite struct RadioTests {
    /// The table of BlueChat, and the one characteristic that is ours.
    @Test func theUUIDsAreBlueChats() {
        let suffix = "-95d8-4289-8bf3-504058b0bcb1"
        let all = [NearbyService.uuid] + NearbyService.characteristics
        #expect(all.map(\.description) == (0...4).map { "920d547\($0)" + suffix })
        #expect(UUIDText(ascii: "920D5472-95D8-4289-8BF3-504058B0BCB1".utf8) == NearbyService.toCentral)
    }

    /// The times follow from each other.
    @Test func theBoundsFit() {
        #expect(NearbyLimits.greetedWithin > NearbyLimits.connectedWithin + NearbyLimits.subscribedWithin)
        #expect(NearbyLimits.fragmentWithin > NearbyLimits.confirmedWithin)
        #expect(NearbyLimits.forgottenAfter > NearbyLimits.greetedWithin)
    }
}
