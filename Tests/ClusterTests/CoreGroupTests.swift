import TestKit
import Testing

extension CalmCluster {
    @Suite struct CoreGroups {
        /// Three cores write to a group, read, answer, change, come back, are removed and leave.
        @Test func threeCoresMeetInAGroup() async throws {
            #expect(try await CoreScript.run("groups")["copies"]?.integer == 2)
        }
    }
}
