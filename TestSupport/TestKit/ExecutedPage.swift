import Foundation

/// A page whose fenced blocks tests execute. A block `file=NAME` is written, and a block `run` is run.
package struct ExecutedPage: Sendable {
    /// Lines of such a page.
    package static let linesMax = 120

    private let blocks: [(mark: String, text: String)]
    package let lines: Int

    package init(_ path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        self.lines = text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        self.blocks = text.matches(of: #/(?ms)^```\w+ (run|file=\S+)\n(.*?)^```$/#).map {
            (String($0.1), String($0.2))
        }
    }

    /// The text of a file.
    package func file(_ name: String) -> String? { self.blocks.first { $0.mark == "file=\(name)" }?.text }

    /// The blocks to run, in the page's order.
    package var commands: [String] { self.blocks.filter { $0.mark == "run" }.map(\.text) }

    /// Writes the files, with a change that makes them fit this machine.
    package func write(to folder: String, _ change: (String) -> String = { $0 }) throws {
        for block in self.blocks where block.mark != "run" {
            let url = URL(filePath: folder).appending(path: block.mark.dropFirst("file=".count))
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try change(block.text).write(to: url, atomically: true, encoding: .utf8)
        }
    }
}
