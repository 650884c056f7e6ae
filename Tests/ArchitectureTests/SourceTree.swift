import Foundation
import LocalStack

/// The sources of this package, as text.
///
/// Tests in this folder compute, or block until a program has ended. They are of the main actor, so that they hold none of the few
/// threads that all other tests share.
enum SourceTree {
    /// Where `Package.swift` stands: two folders above this file's.
    static let root = (0..<3).reduce(URL(filePath: #filePath).resolvingSymlinksInPath()) { url, _ in
        url.deletingLastPathComponent()
    }

    struct File: Sendable {
        /// Relative to the package.
        let path: String
        let lines: [String]
        /// The modules that the file imports, with their line numbers. Any access level, attribute or kind of import.
        let imports: [(line: Int, module: String)]
        /// The lines of code: without what stands behind `//`, and without the text of strings.
        let code: [(line: Int, text: String)]

        init(path: String, lines: [String]) {
            self.path = path
            self.lines = lines
            self.imports = Self.imports(in: lines)
            self.code = Self.code(in: lines)
        }
    }

    /// All Swift files, by path.
    static let files: [File] = ["Shared", "Services", "Clients", "Tools", "TestSupport", "Tests"].flatMap { folder in
        (FileManager.default.enumerator(atPath: Self.root.appending(path: folder).path) ?? .init())
            .compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }
            .sorted()
            .map { File(path: "\(folder)/\($0)", lines: Self.lines(of: "\(folder)/\($0)")) }
    }

    private static func lines(of path: String) -> [String] {
        let text = (try? String(contentsOf: Self.root.appending(path: path), encoding: .utf8)) ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Runs a script in the folder of the project.
    /// - Returns: its output.
    static func shell(_ script: String) throws -> String {
        try Run("/bin/sh", ["-c", script], in: Self.root.path, withErrors: false).output
    }
}

extension SourceTree.File {
    /// The target of the file in `Package.swift`, such as `gateway` for `Services/gateway/main` and `WebPages` for `Clients/Web`.
    var target: String {
        let parts = self.path.split(separator: "/").map(String.init)
        if parts[0] == "Services" { return parts[2] == "main" ? parts[1] : parts[2] }
        return parts[1] == "Web" ? "WebPages" : parts[1]
    }

    /// The service that the file belongs to; nil outside of `Services`.
    var service: String? {
        let parts = self.path.split(separator: "/").map(String.init)
        return parts[0] == "Services" ? parts[1] : nil
    }

    // A regular expression costs much more than a look for bytes. It sees lines only that have what it asks for. A literal is
    // parsed each time it is reached: these are parsed once, and nothing changes them.

    nonisolated(unsafe) private static let importPattern =
        #/^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|public|internal|private|fileprivate)\s+)?import\s+(?:(?:struct|class|enum|protocol|typealias|func|var|let|actor)\s+)?(\w+)/#
    nonisolated(unsafe) private static let stringPattern = #/"(?:[^"\\]|\\.)*"/#
    nonisolated(unsafe) private static let commentPattern = #/\s\/\/.*/#

    private static func imports(in lines: [String]) -> [(line: Int, module: String)] {
        return lines.enumerated().compactMap { index, line in
            guard line.has("import") else { return nil }
            return line.firstMatch(of: Self.importPattern).map { (index + 1, String($0.1)) }
        }
    }

    private static func code(in lines: [String]) -> [(line: Int, text: String)] {
        var isInText = false
        return lines.enumerated().compactMap { index, line in
            let marks = line.has("\"\"\"") ? line.components(separatedBy: "\"\"\"").count - 1 : 0
            defer { if !marks.isMultiple(of: 2) { isInText.toggle() } }
            guard !isInText, !line.isComment else { return nil }
            var text = line
            if text.has("\"") { text = text.replacing(Self.stringPattern, with: "\"\"") }
            if text.has("//") { text = text.replacing(Self.commentPattern, with: "") }
            return (index + 1, text)
        }
    }
}

extension String {
    /// Whether these bytes stand anywhere in it.
    func has(_ word: String) -> Bool { strstr(self, word) != nil }

    /// Whether it has nothing but a comment.
    var isComment: Bool { self.utf8.drop { $0 == UInt8(ascii: " ") }.starts(with: "//".utf8) }
}
