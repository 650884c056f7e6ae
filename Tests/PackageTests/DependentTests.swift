import Foundation
import LocalStack
import TestKit
import Testing

/// The package as the dependency of an app.
@Suite struct DependentTests {
    /// Packages that an app without the trait `Server` resolves. A new one is a new line for everybody's app.
    private static let packages: Set = [
        "swift-atomics", "swift-collections", "swift-log", "swift-nio", "swift-nio-ssl", "swift-system",
    ]

    struct Manifest: Decodable {
        struct Target: Decodable {
            struct Setting: Decodable {
                struct Kind: Decodable { var unsafeFlags: Flags? }
                struct Flags: Decodable { var _0: [String] }
                var kind: Kind
            }
            struct Dependency: Decodable {
                var byName: [String?]?
                var product: [Part?]?

                /// Name, package, or an object that does not matter here.
                struct Part: Decodable {
                    var text: String?
                    init(from decoder: any Decoder) throws {
                        self.text = try? decoder.singleValueContainer().decode(String.self)
                    }
                }
                enum CodingKeys: CodingKey { case byName, product }
                init(from decoder: any Decoder) throws {
                    let values = try decoder.container(keyedBy: CodingKeys.self)
                    self.byName = try values.decodeIfPresent([Part?].self, forKey: .byName)?.map { $0?.text }
                    self.product = try values.decodeIfPresent([Part?].self, forKey: .product)
                }
            }
            var name: String
            var settings: [Setting]
            var dependencies: [Dependency]
        }
        struct Dependency: Decodable {
            struct Source: Decodable {
                struct Requirement: Decodable { var range: [Bounds]? }
                struct Bounds: Decodable { var lowerBound: String }
                var identity: String
                var requirement: Requirement
            }
            var sourceControl: [Source]?
        }
        var targets: [Target]
        var dependencies: [Dependency]
    }

    /// A dependency with `exact:` would be a conflict in apps, and SwiftPM refuses unsafe flags in one.
    @Test func theCoreNeedsNothingThatAnAppCannotShare() async throws {
        // The test's own process may hold the lock of the other one.
        let scratch = try TemporaryFolder(named: "manifest")
        defer { scratch.remove() }
        let text = try await Self.swift(
            "package", "--package-path", ReleaseTests.root.path, "--scratch-path", scratch.path, "dump-package")
        let manifest = try JSONDecoder().decode(Manifest.self, from: Data(text.utf8))
        let targets = Dictionary(uniqueKeysWithValues: manifest.targets.map { ($0.name, $0) })
        var (closure, packages, waiting) = (Set<String>(), Set<String>(), ["WhisperCore"])
        while let name = waiting.popLast() {
            guard closure.insert(name).inserted else { continue }
            let target = try #require(targets[name])
            #expect(target.settings.allSatisfy { $0.kind.unsafeFlags == nil }, "\(name)")
            for dependency in target.dependencies {
                if let name = dependency.byName?.first ?? nil { waiting.append(name) }
                if let product = dependency.product { packages.insert(product[1]?.text ?? "") }
            }
        }
        #expect(closure.isSuperset(of: ["WhisperCore", "WhisperClient", "Contract", "CSealedFile"]))
        #expect(packages.isSubset(of: Self.packages) && packages.contains("swift-nio"))
        for dependency in manifest.dependencies {
            let source = try #require(dependency.sourceControl?.first)
            #expect(source.requirement.range != nil, "\(source.identity) is no range")
        }
        // The reader of flags: the library for C has some.
        #expect(targets["WhisperCoreC"]?.settings.contains { $0.kind.unsafeFlags != nil } == true)
    }

    /// An empty package with the line of docs/first-app.md, against a bare clone with a tag: it resolves, and gets no package of
    /// servers. `make prove` builds it, too, and its program writes to somebody.
    @Test func anEmptyPackageGetsTheCoreByOneLine() async throws {
        let folder = try TemporaryFolder(named: "dependent")
        defer { folder.remove() }
        try await Self.publish(to: folder.path + "/whisper.git", from: folder.path + "/source")
        let app = folder.path + "/app"
        let page = try ExecutedPage(ReleaseTests.root.path + "/docs/first-app.md")
        #expect(page.lines <= ExecutedPage.linesMax)
        try page.write(to: app) {
            $0.replacing("https://code.example.org/whisper.git", with: "file://\(folder.path)/whisper.git")
        }
        _ = try await Self.swift("package", "--package-path", app, "resolve")
        struct Resolved: Decodable {
            struct Pin: Decodable { var identity: String }
            var pins: [Pin]
        }
        let resolved = try JSONDecoder().decode(
            Resolved.self, from: Data(contentsOf: URL(filePath: app + "/Package.resolved")))
        #expect(Set(resolved.pins.map(\.identity)) == Self.packages.union(["whisper"]))
        guard Prove.isAsked else { return }
        _ = try await Self.swift("build", "--package-path", app)
        let stack = try await LocalStack.start(StackConfiguration())
        do {
            try await Self.writes(app + "/.build/debug/App", in: folder.path, by: stack)
        } catch {
            await stack.stop()
            throw error
        }
        await stack.stop()
    }

    /// The app writes to somebody who reads with `whisper`.
    private static func writes(_ app: String, in folder: String, by stack: LocalStack) async throws {
        func whisper(_ words: String...) async throws -> String {
            try await Command(
                stack.configuration.programs + "/whisper", words, environment: ["WHISPER_HOME": folder + "/home"]
            ).output(name: "whisper \(words[0])")
        }
        let server = "ws://127.0.0.1:\(stack.ports.public)"
        let friend = try #require(
            try await whisper("init", "--server", server).firstMatch(of: /WSP-....-....-..../)?.output)
        let said = try await Command(app, [server, String(friend)], folder: folder).output(name: "App")
        #expect(said.hasPrefix("Write these down: "))
        #expect(try await whisper("inbox").contains("Hello from an app"))
    }

    /// The working tree as one commit with a tag, so that a change is tested before it is committed.
    private static func publish(to bare: String, from source: String) async throws {
        try await Self.copy(to: source)
        _ = try await Self.git("-C", source, "tag", "0.1.0")
        _ = try await Self.git("clone", "-q", "--bare", source, bare)
    }

    /// The working tree without `docs` as one commit.
    static func copy(to source: String) async throws {
        let names = try await Self.git("-C", ReleaseTests.root.path, "ls-files", "-coz", "--exclude-standard")
        try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
        for name in names.split(separator: "\0") where !name.hasPrefix("docs/") {
            let from = ReleaseTests.root.appending(path: String(name))
            // Removed, and not committed yet.
            guard FileManager.default.fileExists(atPath: from.path) else { continue }
            let to = URL(filePath: source).appending(path: String(name))
            try FileManager.default.createDirectory(
                at: to.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: from, to: to)
        }
        _ = try await Self.git("-C", source, "init", "-q")
        _ = try await Self.git("-C", source, "add", "-f", ".")
        _ = try await Self.git("-C", source, "-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "all")
    }

    private static func git(_ words: String...) async throws -> String {
        try await Command("/usr/bin/git", words).output(name: "git")
    }

    private static func swift(_ words: String...) async throws -> String {
        try await Command("/usr/bin/env", ["swift"] + words).output(name: "swift")
    }
}
