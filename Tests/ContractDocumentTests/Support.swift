import Contract
import Foundation
import LocalStack
import Testing

/// The project's folders, seen from this file.
enum Folder {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    static let documents = Self.root.appending(path: "docs")
    static let independent = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Independent")
}

/// The system's Python, for validators and vectors that share no code with the project.
enum Python {
    private static let program = "/usr/bin/python3"

    /// Always true in CI, where a missing package is to be noticed.
    static func has(_ package: String) -> Bool {
        FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/\(package)/__init__.py")
            || ProcessInfo.processInfo.environment["CI"] != nil
    }

    /// - Returns: what the script printed.
    /// - Throws: `LaunchError.ended`, with the end of its output, if its status is not 0.
    static func run(_ script: String, _ arguments: [String]) async throws -> String {
        let path = Folder.independent.appending(path: script).path(percentEncoded: false)
        return try await Command(self.program, [path] + arguments).output(name: script)
    }
}

/// A file of `docs/vectors`.
func vectors<T: Decodable>(_ name: String, as: T.Type = T.self) throws -> T {
    let data = try Data(contentsOf: Folder.documents.appending(path: "vectors/\(name)"))
    return try JSONDecoder().decode(T.self, from: data)
}

func hex(_ text: String) -> [UInt8] {
    stride(from: 0, to: text.utf8.count, by: 2).map { start in
        UInt8(String(decoding: text.utf8.dropFirst(start).prefix(2), as: UTF8.self), radix: 16)!
    }
}

func base64(_ text: String) throws -> [UInt8] { try #require(Base64.decode(text)) }
