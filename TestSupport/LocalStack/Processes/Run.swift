import Glibc

/// A program that was run to its end. Foundation's `Process` has ended the process of all tests twice, which has more than a thousand
/// open files.
package struct Run {
    /// -1: a signal has ended it.
    package let status: Int32
    package let output: String

    package struct NotStarted: Error {}

    package init(_ program: String, _ arguments: String...) throws { try self.init(program, arguments) }

    /// - Parameters:
    ///   - input: a file that it reads.
    ///   - withErrors: whether the output has the standard error, too.
    package init(
        _ program: String, _ arguments: [String], in folder: String? = nil, reading input: String = "/dev/null",
        withErrors: Bool = true
    ) throws {
        func quoted(_ word: String) -> String { "'" + word.replacing("'", with: "'\\''") + "'" }
        let place = folder.map { "cd \(quoted($0)) && " } ?? ""
        let words = ([program] + arguments).map(quoted).joined(separator: " ")
        let line = "\(place)exec \(words) <\(quoted(input))\(withErrors ? " 2>&1" : "")"
        guard let pipe = popen(line, "re") else { throw NotStarted() }
        var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while case let count = fread(&part, 1, part.count, pipe), count > 0 { bytes += part[..<count] }
        let ended = pclose(pipe)
        self.status = ended & 0x7F == 0 ? ended >> 8 & 0xFF : -1
        self.output = String(decoding: bytes, as: UTF8.self)
    }
}
