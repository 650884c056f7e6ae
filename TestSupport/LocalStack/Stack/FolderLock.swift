import Foundation

/// Keeps a second launcher out of a data folder, for as long as this value or this process lives.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// - Throws: `LaunchError.folderInUse`, or `.file` when the lock file cannot be made.
    init(_ folder: String) throws(LaunchError) {
        let file = folder + "/lock"
        self.descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { throw .file(file, reason: String(cString: strerror(errno))) }
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(self.descriptor)
            throw .folderInUse(folder)
        }
    }

    deinit { close(self.descriptor) }
}
