import Foundation
import LocalStack
import Testing

/// Rules of style that a machine can check.
@MainActor @Suite struct StyleTests {
    /// A name that nobody placed there, such as the output of a compiler, is committed by accident.
    @Test func theTopLevelHasTheseNamesAlone() throws {
        let names = [
            ".ci", ".containerignore", ".dockerignore", ".editorconfig", ".gitignore", ".swift-format", "CHANGELOG.md",
            "CONTRIBUTING.md", "Clients", "Makefile", "Package.swift", "README.md", "SECURITY.md", "Services", "Shared",
            "TestSupport", "Tests", "Tools", "compose.ha.yaml", "compose.yaml", "deploy", "docs", "llms.txt",
        ]
        // Only tracked names count: a checkout also holds folders of builds and data.
        let git = try Run("/usr/bin/env", "git", "-C", SourceTree.root.path, "ls-files", "-z")
        try #require(git.status == 0)
        let found = Set(
            git.output.split(separator: "\0").map { $0.prefix { $0 != "/" } }.map(
                String.init))
        #expect(found.subtracting(names).isEmpty, "neither sources nor documents of this project")
        #expect(Set(names).subtracting(found).isEmpty, "the list names a file that does not exist")
    }

    @Test func noPlaceIsAnAttic() {
        let words = ["Utils", "Util", "Utilities", "Helpers", "Helper", "Common", "Manager", "Managers", "Misc"]
        for file in SourceTree.files {
            for place in file.path.split(separator: "/") {
                let name = place.hasSuffix(".swift") ? String(place.dropLast(6)) : String(place)
                #expect(!words.contains { name == $0 || name.hasSuffix($0) }, "\(file.path)")
            }
        }
    }

    /// The exception is code that hosts link: `Clients/WhisperCore`, and its functions for C.
    @Test func nothingIsPublic() {
        let pattern =
            #/\b(?:public|open)\s+(?:private\(set\)\s+)?(?:final\s+|static\s+|nonisolated\s+|mutating\s+|override\s+|indirect\s+)*(?:class|struct|enum|actor|protocol|func|var|let|init|subscript|typealias|extension|import)\b/#
        for file in SourceTree.files where !["WhisperCore", "WhisperCoreC"].contains(file.target) {
            for (line, text) in file.code {
                guard text.has("public") || text.has("open") else { continue }
                #expect(text.firstMatch(of: pattern) == nil, "\(file.path):\(line): package is the widest there is")
            }
        }
    }

    /// A trap takes all clients of a process down: each stands under a comment that says why it cannot happen.
    @Test func everyTrapSaysWhy() {
        for file in SourceTree.files where file.path.hasPrefix("Services/") || file.path.hasPrefix("Shared/") {
            for (line, text) in file.code where text.has("try!") || text.has("fatalError(") {
                let above = line >= 2 ? file.lines[line - 2].drop { $0 == " " } : ""
                #expect(above.hasPrefix("//"), "\(file.path):\(line): the line above says why this cannot fail")
            }
        }
    }

    /// A limit counts the time in which other tests hold the threads. It finds a test that hangs, and nothing else.
    @Test func everyTimeLimitIsLong() {
        for file in SourceTree.files where file.isTest {
            for (line, text) in file.code {
                guard text.has("timeLimit"),
                    let minutes = text.firstMatch(of: #/timeLimit\(\.minutes\((\d+)\)\)/#).flatMap({ Int($0.1) })
                else {
                    continue
                }
                #expect(minutes >= 20, "\(file.path):\(line): a busy machine needs more than \(minutes) min")
            }
        }
    }

    @Test func everyLogicFolderIsFreeOfInputAndOutput() {
        let pattern = #/\bawait\b|\basync\b|\bTask\s*\{|\.now\b|\bDate\(\)|\.random\(/#
        let folders = ["Services/", "Clients/WhisperClient/Live/", "Clients/WhisperClient/Nearby/"]
        for file in SourceTree.files
        where folders.contains(where: { file.path.hasPrefix($0) }) && file.path.contains("/Logic/") {
            for (line, text) in file.code {
                #expect(
                    text.firstMatch(of: pattern) == nil, "\(file.path):\(line): time and chance are arguments of Logic")
            }
        }
    }

    /// `JSONWriter` alone knows how JSON is written. Samples are of the contract and its documents.
    @Test func noServiceWritesJSONByHand() {
        let isFree = ["Shared/Contract/", "Shared/ContractSchema/"]
        for file in SourceTree.files
        where (file.path.hasPrefix("Services/") || file.path.hasPrefix("Shared/"))
            && !isFree.contains(where: { file.path.hasPrefix($0) })
        {
            for (index, line) in file.lines.enumerated() where !line.isComment {
                #expect(!line.has("{\"") && !line.has("{\\\""), "\(file.path):\(index + 1): JSONWriter writes JSON")
            }
        }
    }

    /// A file that is in no list is never applied, and nothing says so.
    @Test func everyMigrationIsInTheListOfItsCore() throws {
        let services = SourceTree.root.appending(path: "Services").path
        let files = try #require(FileManager.default.enumerator(atPath: services)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".sql") }
        try #require(files.count > 30)
        for file in files {
            let parts = file.split(separator: "/")
            let name = try #require(parts.last)
            let number = try #require(name.split(separator: "_").first.flatMap { Int($0) })
            // As the package manager names it, in whose code the file is embedded.
            let step = "version: \(number), name: "
            let resource = "PackageResources._\(name.dropFirst().replacing(".", with: "_"))"
            let lists = SourceTree.files.filter { $0.path.hasPrefix("Services/\(parts[0])/\(parts[1])/") }
            #expect(
                lists.contains { $0.lines.contains { $0.has(step) && $0.has("\(resource))") } },
                "Services/\(file) is in no list of migrations")
        }
    }

    @Test func codeIsSeenWithoutCommentsAndText() {
        // Put together, so that this file is not found itself.
        let words = "pub" + "lic func"
        let lines = [
            "// \(words) a()", "let a = \"\(words)\" // \(words)", "\(words) b()", "let c = \"\"\"", words, "\"\"\"",
        ]
        let file = SourceTree.File(path: "x.swift", lines: lines)
        #expect(file.code.map(\.line) == [2, 3, 4])
        #expect(file.code.filter { $0.text.contains(words) }.map(\.line) == [3])
    }
}
