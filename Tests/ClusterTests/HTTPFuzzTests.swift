import Foundation
import LocalStack
import TestKit
import Testing

/// schemathesis makes requests from docs/openapi.json, valid and invalid, sends them to a running cluster, and checks
/// the answers against the document. TestSupport/HTTPFuzz holds further checks.
@Suite(
    .cluster(.busy) { $0.logLevel = "trace" },
    .enabled(if: Fuzzer.isExpected, "needs deploy/install-python-tools.sh"))
struct FuzzedCluster {
    @Test func everyAnswerIsAsDocumented() async throws {
        try #require(
            Fuzzer.isInstalled,
            "the HTTP fuzzer is not installed: deploy/install-python-tools.sh needs PyPI, or .build/python-tools from earlier"
        )
        let book = SecretBook()
        let (caller, target) = (try await Cluster.phone(), try await Cluster.phone())
        let configuration = Cluster.stack.configuration
        let secrets = [caller.token, configuration.adminToken, configuration.viewerToken]
        for (name, token) in zip(["session token", "operators' token", "viewers' token"], secrets) {
            book.note(name, token)
        }
        // Things that can be asked about.
        let message = try await caller.text(target)
        let report = try await caller.ask("report", ["targetId": target.id, "reason": "abuse", "note": "a note"])
            .expecting("report_ack").payload
        let profile = newUUID()
        let joinHash = Keys.sha256(Keys.random(32)).base64
        let made = try await caller.http("PUT", "/profiles/\(profile)", Person.versions.with(["joinHash": joinHash]))
        #expect(made.status == 200)
        let known: Fields = [
            "whisperId": target.id, "messageId": message, "id": report["reportId"]?.string ?? "", "profileId": profile,
        ]

        let fuzzer = Fuzzer(secrets: secrets, known: known.json.text)
        async let clients = fuzzer.run(
            on: Cluster.stack.publicURL, token: caller.token,
            paths: "^/(users|backup|profiles|attachments|calls|mail|rooms|health|ready)")
        async let operators = fuzzer.run(
            on: Cluster.stack.opsURL, token: configuration.adminToken, paths: "^/(admin|health|ready|metrics)")
        for result in [try await clients, try await operators] {
            #expect(result.isClean, "\(result.output)")
            // That all is well means something only if something was asked.
            #expect(result.cases > 150, "\(result.output)")
        }

        // It lives, and whoever was not banned goes on.
        let other = try await Cluster.phone()
        _ = try await other.received(try await caller.text(other))
        for log in try FileManager.default.contentsOfDirectory(atPath: Cluster.stack.folder + "/log") {
            let text = try String(
                decoding: Data(contentsOf: URL(filePath: "\(Cluster.stack.folder)/log/\(log)")), as: UTF8.self)
            let leaks = book.leaks(in: text)
            #expect(leaks.isEmpty, "\(log) knows: \(leaks.prefix(3).joined(separator: "\n"))")
        }
    }
}

/// One run of schemathesis for each origin.
private struct Fuzzer {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    private static let program = "\(root)/.build/python-tools/bin/schemathesis"
    static let isInstalled = FileManager.default.fileExists(atPath: "\(root)/.build/python-tools/installed.lock")
    /// Continuous integration must not do without.
    static let isExpected = isInstalled || ProcessInfo.processInfo.environment["CI"] != nil

    /// The same requests every time.
    private static let seed = 20_260
    /// Requests made up for each operation, beside those at the edges of its schema.
    private static let examplesPerOperation = 40
    /// An answer that takes longer is a failure, in seconds.
    private static let answerMax = 10
    /// One run takes 75 s, and beside other clusters on a slow machine four times as long. Then it is killed.
    private static let secondsMax = 600

    let secrets: [String]
    let known: String

    struct Result {
        var isClean: Bool
        var output: String
        /// Requests made.
        var cases: Int
    }

    func run(on origin: String, token: String, paths: String) async throws -> Result {
        // Files that schemathesis writes beside its output are not kept.
        let folder = try TemporaryFolder(named: "fuzz")
        defer { folder.remove() }
        let command = Command(
            "/usr/bin/timeout",
            [
                "\(Self.secondsMax)", Self.program, "--config-file",
                "\(Self.root)/TestSupport/HTTPFuzz/schemathesis.toml", "run",
                "\(Self.root)/docs/openapi.json", "--url", origin, "--header", "Authorization: Bearer \(token)",
                "--include-path-regex", paths, "--phases", "examples,coverage,fuzzing", "--max-examples",
                "\(Self.examplesPerOperation)", "--seed", "\(Self.seed)", "--request-timeout", "\(Self.answerMax)",
                "--continue-on-failure", "--no-shrink", "--generation-database", "none", "--no-color",
                "--suppress-health-check", "all", "--warnings", "off",
            ],
            environment: [
                "SCHEMATHESIS_HOOKS": "contract_checks", "PYTHONPATH": "\(Self.root)/TestSupport/HTTPFuzz",
                "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "127.0.0.1", "WHISPER_FUZZ_SEED": "\(Self.seed)",
                "WHISPER_FUZZ_SECRETS": self.secrets.joined(separator: "\n"), "WHISPER_FUZZ_KNOWN": self.known,
            ], folder: folder.path, log: folder.path + "/output")
        let isClean = await (try ChildProcess.start(command, name: "schemathesis")).end() == .exited(0)
        let output = try String(contentsOfFile: command.log, encoding: .utf8)
        let cases = output.firstMatch(of: /([0-9]+) generated/).flatMap { Int($0.1) } ?? 0
        return Result(isClean: isClean, output: output, cases: cases)
    }
}
