import Foundation

/// The sources of this package, as text.
enum SourceTree {
    /// Where `Package.swift` stands: two folders above this file's.
    static let root = (0..<3).reduce(URL(filePath: #filePath).resolvingSymlinksInPath()) { url, _ in
        url.deletingLastPathComponent()
    }

    struct File: Sendable {
        /// Relative to the package.
        var path: String
        var lines: [String]
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
}

extension SourceTree.File {
    /// The target that the file belongs to, as `Package.swift` cuts the folders; `gateway` for `Services/gateway/main`.
    var target: String {
        let parts = self.path.split(separator: "/").map(String.init)
        if parts[0] == "Services" { return parts[2] == "main" ? parts[1] : parts[2] }
        return parts[1]
    }

    /// The service that the file belongs to; nil outside of `Services`.
    var service: String? {
        let parts = self.path.split(separator: "/").map(String.init)
        return parts[0] == "Services" ? parts[1] : nil
    }

    /// The modules that the file imports, with their line numbers. Any access level, attribute or kind of import.
    var imports: [(line: Int, module: String)] {
        let pattern =
            #/^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|public|internal|private|fileprivate)\s+)?import\s+(?:(?:struct|class|enum|protocol|typealias|func|var|let|actor)\s+)?(\w+)/#
        return self.lines.enumerated().compactMap { index, line in
            line.firstMatch(of: pattern).map { (index + 1, String($0.1)) }
        }
    }

    /// The lines of code: without what stands behind `//`, and without the text of strings.
    var code: [(line: Int, text: String)] {
        var isInText = false
        return self.lines.enumerated().compactMap { index, line in
            let marks = line.components(separatedBy: "\"\"\"").count - 1
            defer { if !marks.isMultiple(of: 2) { isInText.toggle() } }
            guard !isInText, !line.drop(while: { $0 == " " }).hasPrefix("//") else { return nil }
            let text = line.replacing(#/"(?:[^"\\]|\\.)*"/#, with: "\"\"").replacing(#/\s\/\/.*/#, with: "")
            return (index + 1, text)
        }
    }
}
