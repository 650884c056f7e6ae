import Foundation

/// The log of one process of a stack.
package enum StackLog {
    /// Its lines of level `error`: those that mean that a person must act. Each with the name of the log before it.
    package static func errors(in path: String) -> [String] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { $0.contains(#""level":"error""#) }
            .map { "\((path as NSString).lastPathComponent): \($0)" }
    }
}
