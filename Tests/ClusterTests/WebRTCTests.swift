import Foundation
import LocalStack
import TestKit
import Testing

/// A cluster with a relay.
@Suite(.cluster { $0.hasRelay = true })
struct RelayedCluster {
    private static let here = URL(filePath: #filePath).deletingLastPathComponent()
    private static let python = here.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: ".build/webrtc/bin/python3").path
    private static let bytes = 262_144

    /// Two clients with a real WebRTC stack set up a data channel by our signalling, through our relay and no other way,
    /// and exchange bytes.
    @Test func twoPhonesTalkThroughTheRelay() async throws {
        let stack = Cluster.stack
        try #require(
            FileManager.default.isExecutableFile(atPath: Self.python), "deploy/install-python-tools.sh installs it")
        let output = try await Command(
            Self.python, [Self.here.appending(path: "WebRTC/call.py").path, stack.endpoint, "\(Self.bytes)"]
        ).output(name: "two phones")
        let line = try #require(output.split(separator: "\n").last)
        let result = try JSON(parsing: Array(line.utf8))
        #expect(result["bytes"]?.integer == Int64(Self.bytes))
        // Both ends of the path, as each side sees them.
        #expect(result["paths"]?.elements == Array(repeating: .string("relay"), count: 4))
        // The relay saw both, by the credentials that the cluster gave them.
        let log = try String(contentsOfFile: stack.relay.log, encoding: .utf8)
        for user in result["users"]?.elements ?? [] {
            let name = try #require(user.string)
            #expect(log.contains("user <\(name)>: incoming packet ALLOCATE processed, success"))
        }
        print("· two phones through the relay: \(line)")
    }

    @Test func theClusterSendsClientsToItsRelay() async throws {
        let turn = try await Cluster.phone().ask("get_turn_credentials").expecting("turn_credentials").payload
        #expect(turn["urls"]?.elements == Cluster.stack.relay.urls.map { .string($0) })
    }
}
