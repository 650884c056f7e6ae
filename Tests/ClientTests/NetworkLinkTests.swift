import Testing

@testable import WhisperClient

@Suite struct NetworkLinkTests {
    /// NIO ends a debug build whose promise nobody keeps.
    @Test func aQuestionToNobodyIsAnswered() async throws {
        let link = try NetworkLink(try #require(ServerAddress("ws://127.0.0.1:1")))
        await #expect(throws: LinkError.unreachable("nobody listens at ws://127.0.0.1:1")) {
            try await link.get("/users/WSP-AAAA-AAAA-AAAA/keys", bearer: "")
        }
    }
}
