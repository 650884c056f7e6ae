import Foundation
import LocalStack
import TestKit
import Testing

extension CalmCluster {
    @Suite struct CoreHosts {
        /// Two hosts in Python. One of them is killed with events that it has not acknowledged.
        @Test func twoProcessesTalkAndNothingIsLostOrDoubled() async throws {
            let folder = try TemporaryFolder(named: "core")
            defer { folder.remove() }
            let output = try await Command(
                "/usr/bin/python3",
                [
                    "\(CoreLibraryTests.here)/conversation.py", CoreLibraryTests.library, folder.path,
                    "ws://127.0.0.1:\(Cluster.stack.ports.public)",
                ]
            ).output(name: "two cores")
            let line = try #require(output.split(separator: "\n").last, "\(output)")
            let result = try JSON(parsing: Array(line.utf8))
            #expect(result["sent"]?.integer == 60)
            // What was not acknowledged came again.
            #expect(result["again"]?.integer ?? 0 > 0)
            print("· two cores: \(line)")
        }
    }
}
