import Foundation
import TerminalText

/// A file for its owner alone to read. It never replaces another, and goes unless it is written whole.
final class PrivateFile {
    private let path: String
    private let file: FileHandle
    private var isWhole = false

    init(at path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Problem(
                "\(path) cannot be made: \(String(cString: strerror(errno))). Name a file that is not there yet.")
        }
        self.path = path
        self.file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    deinit { if !self.isWhole { unlink(self.path) } }

    func write(_ document: Data) throws {
        try self.file.write(contentsOf: document)
        try self.file.synchronize()
        self.isWhole = true
    }
}
