import Glibc

/// A file for its owner alone to read, of bytes that are no attachment. It never replaces another, and goes unless it is written whole.
package struct NewFile: ~Copyable {
    private let path: String
    private let file: Int32
    private var isWhole = false

    /// - Returns: `nil` if something stands at the path, or its folder cannot be written.
    package init?(at path: String) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return nil }
        (self.path, self.file) = (path, file)
    }

    deinit {
        close(self.file)
        if !self.isWhole { unlink(self.path) }
    }

    /// - Returns: whether all of it is there.
    package mutating func write(_ bytes: [UInt8]) -> Bool {
        self.isWhole = TransferFiles.write(bytes, to: self.file, at: 0) && fsync(self.file) == 0
        if self.isWhole { StoreFiles.sync(StoreFiles.folder(of: self.path)) }
        return self.isWhole
    }
}
