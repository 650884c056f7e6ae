import AuthCore
import Telemetry
import Testing

@Suite struct ProfileRuleTests {
    @Test func tagsAreWeakOnlyWhereThatIsEnough() {
        #expect(EntityTag.expectation("W/\"7\"") == .oneOf([]))
        #expect(EntityTag.expectation("W/\"7\"", isWeak: true) == .oneOf([7]))
        #expect(EntityTag.expectation("W/\"7\" , \"8\",W/9", isWeak: true) == .oneOf([7, 8]))
        #expect(EntityTag.expectation(" * ", isWeak: true) == .any)
        #expect(EntityTag.expectation("W/*", isWeak: true) == .oneOf([]))
    }

    @Test(
        arguments: [
            (400, .refused), (401, .refused), (403, .refused), (404, .missing), (412, .lostRace), (413, .tooLarge),
            (429, .refused), (500, .failed),
        ] as [(Int, ProfileDocumentResult)])
    func eachRefusalIsCountedAsWhatItIs(status: Int, result: ProfileDocumentResult) {
        #expect(ProfileDocumentResult(refusedWith: status) == result)
    }
}
