import Foundation
import LocalStack
import Testing

/// `deploy/lock-packages`, on packages of the test's own.
@MainActor @Suite struct PackageLockTests {
    @Test func thePackagesOfTheLockPass() throws {
        let project = try LockedProject(["alpha": "1.0.0", "beta": "2.1.0"])
        try project.lock(["alpha": "1.0.0", "beta": "2.1.0"])
        #expect(try project.check() == "")
    }

    /// A tag that was moved: the same version with other contents.
    @Test func anotherTreeIsRefusedByName() throws {
        let project = try LockedProject(["alpha": "1.0.0", "beta": "2.1.0"])
        try project.lock(["alpha": "1.0.0", "beta": "2.1.0"])
        try project.commit("changed", into: "beta")
        let errors = try project.check()
        #expect(errors.contains("locked:   beta 2.1.0") && errors.contains("resolved:  beta 2.1.0"), "\(errors)")
        #expect(!errors.contains("alpha"), "\(errors)")
    }

    @Test func anotherVersionOrPackageIsRefusedByName() throws {
        let project = try LockedProject(["alpha": "1.0.1", "beta": "2.1.0"])
        try project.lock(["alpha": "1.0.0"])
        let errors = try project.check()
        #expect(errors.contains("resolved:  alpha 1.0.1") && errors.contains("resolved:  beta 2.1.0"), "\(errors)")
    }

    /// A range begins with the version that is tested, which is the locked one.
    @Test func theLockHasEveryVersionOfTheManifest() throws {
        let manifest = try String(contentsOf: SourceTree.root.appending(path: "Package.swift"), encoding: .utf8)
        let lock = try String(contentsOf: SourceTree.root.appending(path: "deploy/packages.lock"), encoding: .utf8)
        let named = manifest.matches(of: #/tested\(\s*"https:.*\/([^"\/]+)", "([^"]+)"/#)
        try #require(named.count > 5)
        for package in named {
            #expect(lock.contains("\n\(package.1) \(package.2) "), "\(package.1): run `make lock`")
        }
    }

    /// Every list of Python packages has a lock beside it, whose packages have hashes.
    @Test func everyListOfPythonPackagesIsLocked() throws {
        let lists = ["TestSupport/HTTPFuzz", "Tests", "deploy/ha", "Clients/Python"].flatMap { folder in
            (FileManager.default.enumerator(atPath: SourceTree.root.appending(path: folder).path) ?? .init())
                .compactMap { $0 as? String }.filter { $0.hasSuffix("requirements.txt") }.map { "\(folder)/\($0)" }
        }
        try #require(lists.count > 5)
        for list in lists {
            let file = SourceTree.root.appending(path: list.replacing(".txt", with: ".lock"))
            let packages = try String(contentsOf: file, encoding: .utf8).replacing("\\\n", with: "").split(
                separator: "\n"
            )
            .filter { !$0.hasPrefix("#") && !$0.hasPrefix("--no-binary") }
            #expect(
                packages.allSatisfy { $0.contains("==") && $0.contains("--hash=sha256:") }, "\(list): run `make lock`")
            #expect(packages.count > 1, "\(list)")
        }
    }
}

/// A folder with the script, and with packages as SwiftPM leaves them there. Nothing can be resolved in it.
private struct LockedProject {
    private let folder: URL
    private let versions: [String: String]

    init(_ versions: [String: String]) throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "lock-\(UUID())")
        self.versions = versions
        let deploy = self.folder.appending(path: "deploy")
        try FileManager.default.createDirectory(at: deploy, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: SourceTree.root.appending(path: "deploy/lock-packages"), to: deploy.appending(path: "lock-packages"))
        for name in versions.keys {
            try FileManager.default.createDirectory(at: self.checkout(name), withIntermediateDirectories: true)
            _ = try self.run(["git", "-C", self.checkout(name).path, "init", "-q"])
            try self.commit("first", into: name)
        }
        let state = versions.sorted(by: <).map { name, version in
            #"{"state": {"#
                + "\n  \"version\" : \"\(version)\"\n },\n  \"subpath\" : \"\(name)\"\n}"
        }
        try state.joined(separator: ",\n").write(
            to: self.folder.appending(path: ".build/workspace-state.json"), atomically: true, encoding: .utf8)
    }

    func commit(_ text: String, into name: String) throws {
        let checkout = self.checkout(name)
        try text.write(to: checkout.appending(path: "source"), atomically: true, encoding: .utf8)
        _ = try self.run(["git", "-C", checkout.path, "add", "."])
        _ = try self.run(
            ["git", "-C", checkout.path, "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "-m", text])
    }

    /// Writes a lock of these packages, with the trees of now.
    func lock(_ versions: [String: String]) throws {
        let lines = try versions.map { name, version in
            let tree = try self.run(["git", "-C", self.checkout(name).path, "rev-parse", "HEAD^{tree}"])
            return "\(name) \(version) \(tree)"
        }
        try ("# comment\n" + lines.joined()).write(
            to: self.folder.appending(path: "deploy/packages.lock"), atomically: true, encoding: .utf8)
    }

    /// - Returns: what the script says; nothing if all is well. Removes the project.
    func check() throws -> String {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        return try self.run([self.folder.appending(path: "deploy/lock-packages").path, "check"])
    }

    private func checkout(_ name: String) -> URL { self.folder.appending(path: ".build/checkouts/\(name)") }

    private func run(_ words: [String]) throws -> String {
        try Run("/usr/bin/env", ["SWIFT=/bin/true"] + words).output
    }
}
