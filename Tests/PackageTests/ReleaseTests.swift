import Contract
import Foundation
import LocalStack
import Testing

/// `Release.version` is the only number: whatever shows a version has it from there, or is compared with it here.
@Suite struct ReleaseTests {
    static let root = (0..<3).reduce(URL(filePath: #filePath).resolvingSymlinksInPath()) { url, _ in
        url.deletingLastPathComponent()
    }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// Each executable of the manifest. `make test` leaves the load tool out.
    @Test func everyProgramSaysIt() async throws {
        let programs = try Self.text("Package.swift").matches(of: #/\.executable\(name: "([^"]+)"/#)
            .map { String($0.1) }
        try #require(programs.count == 13)
        for program in programs {
            let path = StackConfiguration().programs + "/" + program
            if program == "whisper-load", !FileManager.default.isExecutableFile(atPath: path) { continue }
            let answer = try await Command(path, ["--version"]).output(name: program)
            // A program of ArgumentParser says the text of its configuration alone.
            #expect(answer == "\(program) \(Release.version)\n")
        }
    }

    @Test func theChartHasIt() throws {
        let chart = try Self.text("deploy/chart/Chart.yaml").split(separator: "\n")
        #expect(chart.contains("version: \(Release.version)") && chart.contains("appVersion: \(Release.version)"))
    }

    /// Images of ours are asked for by it, in `compose.yaml` by name and in the chart as its `appVersion`.
    @Test func theImagesHaveIt() throws {
        let compose = try Self.text("compose.yaml")
        let tags = compose.matches(of: #/image: localhost/whisper/\w+:(\S+)/#).map { String($0.1) }
        #expect(tags.count == 10 && Set(tags) == ["${VERSION:-\(Release.version)}"])
        #expect(compose.contains(try Regex("#   VERSION +\(Release.version) ")))
        #expect(try Self.text("docs/operations.md").contains("| `VERSION` | \(Release.version) |"))
        #expect(try Self.text("deploy/chart/values.yaml").contains("\n  version: \"\"\n"))
    }

    @Test(arguments: ["core.json", "openapi.json", "asyncapi.json"])
    func theDocumentsHaveIt(name: String) throws {
        struct Document: Decodable {
            struct Info: Decodable { var version: String }
            var info: Info
        }
        let document = try JSONDecoder().decode(Document.self, from: Data(Self.text("docs/\(name)").utf8))
        #expect(document.info.version == Release.version)
    }

    /// The wheel's number is that of its module.
    @Test func thePythonModuleHasIt() throws {
        #expect(
            try Self.text("Clients/Python/whispercore/__init__.py").contains("__version__ = \"\(Release.version)\"\n"))
    }

    @Test func thePagesHaveIt() throws {
        #expect(try Self.text("docs/first-app.md").contains("whisper.git\", from: \"\(Release.version)\", traits: [])"))
        #expect(try Self.text("docs/first-bot.md").contains("whispercore-\(Release.version)-py3-none-"))
    }

    @Test func itHasThreeNumbers() {
        #expect(Release.version.wholeMatch(of: #/\d+\.\d+\.\d+/#) != nil)
    }
}
