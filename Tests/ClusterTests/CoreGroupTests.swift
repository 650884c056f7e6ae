import Foundation
import LocalStack
import TestKit
import Testing

extension CalmCluster {
    @Suite struct CoreGroups {
        /// Three cores write to a group, read, answer, change, come back, are removed and leave.
        @Test func threeCoresMeetInAGroup() async throws {
            let folder = try TemporaryFolder(named: "groups")
            defer { folder.remove() }
            let output = try await Command(
                "/usr/bin/python3",
                [
                    "\(CoreLibraryTests.here)/groups.py", CoreLibraryTests.library, folder.path,
                    "ws://127.0.0.1:\(Cluster.stack.ports.public)",
                ]
            ).output(name: "three cores")
            let line = try #require(output.split(separator: "\n").last, "\(output)")
            #expect(try JSON(parsing: Array(line.utf8))["copies"]?.integer == 2)
        }
    }
}
