import Foundation
import LocalStack
import Testing

/// The gateway cannot reach Postgres: its executable does not even carry the library.
@MainActor @Suite struct LinkTests {
    /// All products of a build stand together.
    nonisolated private static let programs = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()
    nonisolated private static let isCI = ProcessInfo.processInfo.environment["CI"] != nil

    nonisolated private static func isBuilt(_ name: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: Self.programs.appending(path: name).path)
    }

    /// The shared libraries that an executable names, directly and through each other.
    private static func libraries(of name: String) throws -> [String] {
        let run = try Run("/usr/bin/ldd", Self.programs.appending(path: name).path)
        #expect(run.status == 0)
        return run.output.split(separator: "\n").map { String($0) }
    }

    @Test(.enabled(if: isCI || isBuilt("whisper-gateway"), "the gateway is not built"))
    func theGatewayDoesNotLinkPostgres() throws {
        try #require(Self.isBuilt("whisper-gateway"), "in CI the gateway must have been built before the tests")
        let libraries = try Self.libraries(of: "whisper-gateway")
        #expect(!libraries.contains { $0.contains("libpq") })
        // A library that it does link is listed: the check can fail.
        #expect(libraries.contains { $0.contains("libhiredis") })
    }

    @Test(.enabled(if: isBuilt("whisper-router"), "the router is not built"))
    func theRouterDoesLinkPostgres() throws {
        #expect(try Self.libraries(of: "whisper-router").contains { $0.contains("libpq") })
    }

    /// All of Foundation would be 9 MiB more in the memory of each process.
    @Test(.enabled(if: isBuilt("whisper"), "the terminal client is not built"))
    func theTerminalClientLoadsTheEssentialsOfFoundation() throws {
        let libraries = try Self.libraries(of: "whisper")
        #expect(libraries.contains { $0.contains("libFoundationEssentials.so") })
        #expect(!libraries.contains { $0.contains("libFoundation.so") || $0.contains("FoundationICU") })
    }
}
