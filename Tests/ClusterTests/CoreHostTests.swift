import Foundation
import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Two hosts in Python, each with a core.
    @Suite struct CoreHosts {
        /// One of them is killed with events that it has not acknowledged.
        @Test func twoProcessesTalkAndNothingIsLostOrDoubled() async throws {
            let result = try await CoreScript.run("conversation")
            #expect(result["sent"]?.integer == 60)
            // Events that were not acknowledged came again.
            #expect(result["again"]?.integer ?? 0 > 0)
        }

        /// A process with a core is killed at random moments of each kind of work.
        ///
        /// `KILLS=300` plays more, `KINDS="rekey import"` some of them, and `SEED` other moments.
        @Test func nothingIsLostWithKilledProcesses() async throws {
            let names = ["KILLS", "KINDS", "SEED"]
            let environment = ProcessInfo.processInfo.environment.filter { names.contains($0.key) }
            let counts = try await CoreScript.run("kills", environment: environment).members
            #expect(!counts.isEmpty)
            for (kind, count) in counts { #expect(count["kills"]?.integer ?? 0 > 0, "\(kind)") }
        }

        /// Rooms as verbs: by code and by link, with WebRTC stacks that the script plays (contract §15).
        @Test func twoProcessesMeetInARoom() async throws {
            let result = try await CoreScript.run("meeting")
            #expect(result["number"]?.string?.count == 24 && result["connections"]?.integer == 3)
        }

        /// Live conversations as verbs (contract §14).
        @Test func oneProcessWhispersAndAnotherListens() async throws {
            #expect(try await CoreScript.run("whispering")["lines"]?.integer == 2)
        }

        /// Devices of one person (contract §14.4).
        @Test func threeProcessesShareAProfile() async throws {
            #expect(try await CoreScript.run("profiles")["members"]?.integer == 2)
        }

        /// Their profile fills itself: conversations, listeners and favorites of one are the other's, too.
        @Test func twoDevicesOfOnePersonAreAlike() async throws {
            #expect(try await CoreScript.run("devices")["listeners"]?.integer == 1)
        }

        @Test func twoProcessesSeeEachOtherTypeAndCall() async throws {
            let result = try await CoreScript.run("calls")
            #expect(result["reasons"]?.elements == [.string("ended"), .string("ended")])
            #expect(result["relays"]?.integer ?? 0 > 0)
        }

        /// Over the air without a server, and by the server without the air. A bare BlueChat phone is there, too.
        @Test func twoProcessesChatNearbyAndGoOnByTheServer() async throws {
            let counts = try await CoreScript.run("nearby")["messages"]?.elements
            #expect(counts?.compactMap(\.integer) == [30, 30])
        }

        /// Both sides are killed while the file is on the way (contract §9).
        @Test func twoProcessesExchangeAFile() async throws {
            let result = try await CoreScript.run("files")
            #expect(result["bytes"]?.integer == 5_000_000)
        }

        /// A daemon, and programs that speak JSON-RPC with it. Each of them is killed with events that it has not acknowledged.
        @Test func botsOfADaemonAnswerEachMessageOnce() async throws {
            let result = try await CoreScript.run("bots")
            #expect(result["again"]?.integer == 2 && result["echoed"]?.integer == 20)
            #expect(result["alerts"]?.integer == 2)
        }

        /// A webhook whose receiver is killed with an event in hand, and a stream whose reader comes back.
        @Test func programsOfADaemonMissNothingByHTTP() async throws {
            let result = try await CoreScript.run("hooks")
            #expect(result["webhook"]?.integer == 12 && result["stream"]?.integer == 12)
            #expect(result["again"]?.integer ?? 0 >= 2)
        }
    }
}

/// Scripts in Python with cores, in `Tests/ClusterTests/Core`.
enum CoreScript {
    /// - Returns: what the script prints last.
    static func run(
        _ script: String, on stack: LocalStack? = nil, environment: [String: String] = [:]
    ) async throws -> JSON {
        let folder = try TemporaryFolder(named: "core")
        defer { folder.remove() }
        let port = (stack ?? Cluster.stack).ports.public
        let output = try await Command(
            "/usr/bin/python3",
            [
                "\(CoreLibraryTests.here)/\(script).py", CoreLibraryTests.library, folder.path,
                "ws://127.0.0.1:\(port)",
            ], environment: environment
        ).output(name: script)
        let line = try #require(output.split(separator: "\n").last, "\(output)")
        print("· \(script) of cores: \(line)")
        return try JSON(parsing: Array(line.utf8))
    }
}
