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

    /// A refused release says why, before anything is made.
    @Test func nothingIsReleasedThatIsNotToBe() async throws {
        let folder = try TemporaryFolder(named: "release")
        defer { folder.remove() }
        let clone = folder.path + "/source"
        func git(_ words: String...) async throws {
            let who = ["-c", "user.name=a", "-c", "user.email=a"]
            _ = try await Command("/usr/bin/git", who + ["-C", clone] + words).output(name: "git")
        }
        func change(_ path: String, _ text: String, to new: String) throws {
            let file = URL(filePath: "\(clone)/\(path)")
            let old = try String(contentsOf: file, encoding: .utf8)
            try #require(old.contains(text))
            try old.replacing(text, with: new).write(to: file, atomically: true, encoding: .utf8)
        }
        func refusal(_ version: String = Release.version) async throws -> String {
            // No executables: a release that is not refused ends there.
            let words = [version, "\(folder.path)/none", "\(folder.path)/dist"]
            let command = Command("\(clone)/deploy/make-release", words)
            let error = try await #require(throws: LaunchError.self) { try await command.output(name: "make-release") }
            return "\(error)"
        }
        try await DependentTests.copy(to: clone)
        // The commit of a release has the line.
        let changelog = URL(filePath: clone + "/CHANGELOG.md")
        let heading = try Regex("(?m)^## \\[\(Release.version)\\] - .*$")
        try String(contentsOf: changelog, encoding: .utf8).replacing(heading, with: "").write(
            to: changelog, atomically: true, encoding: .utf8)
        try await git("commit", "-qam", "no release", "--allow-empty")
        #expect(try await refusal("9.9.9").contains("Release.version is not 9.9.9"))
        #expect(try await refusal().contains("CHANGELOG.md has no line \"## [\(Release.version)] - DATE\""))
        let top = "## [Unreleased]\n"
        try change("CHANGELOG.md", top, to: "\(top)\n## [\(Release.version)] - 2026-12-01\n")
        #expect(try await refusal().contains("the tree has changes that are not committed"))
        try await git("commit", "-qam", "changelog")
        #expect(try await !refusal().contains("whispercore.h"))

        try await git("tag", "0.0.9")
        let header = "Clients/WhisperCoreC/include/whispercore.h"
        let function = "wsp_recv(wsp_handle handle, int32_t timeout_ms)"
        try change(header, function, to: "wsp_recv(wsp_handle handle)")
        try await git("commit", "-qam", "another form")
        #expect(try await refusal().contains("lacks what 0.0.9 had, and has the same WSP_ABI_VERSION: char*wsp_recv("))
        try change(header, "WSP_ABI_VERSION 1", to: "WSP_ABI_VERSION 2")
        try await git("commit", "-qam", "another number")
        #expect(try await !refusal().contains("whispercore.h"))
        try await git("tag", Release.version, "0.0.9")
        #expect(try await refusal().contains("the tag \(Release.version) has other contents"))
    }

    @Test func itHasThreeNumbers() {
        #expect(Release.version.wholeMatch(of: #/\d+\.\d+\.\d+/#) != nil)
    }
}
