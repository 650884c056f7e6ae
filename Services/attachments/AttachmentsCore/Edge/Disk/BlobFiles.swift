import Contract
import Glibc
import NIOCore

/// A failed operation on a file.
enum FileError: Error, Equatable {
    case missing
    /// `errno`, and the call that gave it.
    case failed(Int32, call: String)
}

/// A file under construction: nobody sees it before it is whole and on disk. Its calls block.
///
/// Used by one transfer at a time, which waits for each call.
final class UnfinishedFile: @unchecked Sendable {
    private let descriptor: Int32
    private let path: String
    private var isFinished = false

    /// - Parameter folder: of the same file system as the place it is to have.
    init(in folder: String, name: String) throws(FileError) {
        try makeFolder(folder)
        self.path = "\(folder)/\(name)"
        self.descriptor = open(self.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { throw .failed(errno, call: "open") }
    }

    deinit {
        close(self.descriptor)
        if !self.isFinished { unlink(self.path) }
    }

    func append(_ buffer: ByteBuffer) throws(FileError) {
        try buffer.withUnsafeReadableBytes { bytes throws(FileError) in
            var written = 0
            while written < bytes.count {
                let count = write(self.descriptor, bytes.baseAddress! + written, bytes.count - written)
                if count < 0 {
                    if errno == EINTR { continue }
                    throw .failed(errno, call: "write")
                }
                written += count
            }
        }
    }

    /// Moves it to its place, whatever stood there. After the return it is there, also after a loss of power.
    func finish(as place: String) throws(FileError) {
        guard fsync(self.descriptor) == 0 else { throw .failed(errno, call: "fsync") }
        let folder = parent(of: place)
        try makeFolder(folder)
        guard rename(self.path, place) == 0 else { throw .failed(errno, call: "rename") }
        self.isFinished = true
        try sync(folder: folder)
    }
}

/// A file that is read. Its calls block.
final class StoredFile: Sendable {
    private let descriptor: Int32
    let path: String
    let size: Int64
    /// A strong entity tag (RFC 9110 §8.8.3): another content has another one.
    let tag: String

    init(at path: String) throws(FileError) {
        self.path = path
        self.descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw errno == ENOENT ? .missing : .failed(errno, call: "open") }
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else {
            let error = errno
            close(self.descriptor)
            throw .failed(error, call: "fstat")
        }
        self.size = Int64(status.st_size)
        let time = status.st_mtim
        self.tag =
            "\"\(String(time.tv_sec, radix: 36))-\(String(time.tv_nsec, radix: 36))-\(String(status.st_ino, radix: 36))\""
    }

    deinit { close(self.descriptor) }

    /// - Returns: as many bytes; fewer only at the end of the file.
    func read(_ count: Int, at offset: Int64) throws(FileError) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        var error: Int32 = 0
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            var done = 0
            while done < count {
                let got = pread(self.descriptor, bytes.baseAddress! + done, count - done, off_t(offset) + off_t(done))
                if got < 0, errno == EINTR { continue }
                if got < 0 { error = errno }
                if got <= 0 { break }
                done += got
            }
            return done
        }
        guard error == 0 else { throw .failed(error, call: "pread") }
        return buffer
    }
}

/// Size and last change of a file; nil if there is none.
func fileStatus(_ path: String) throws(FileError) -> (size: Int64, modifiedAt: Timestamp)? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
        guard errno == ENOENT || errno == ENOTDIR else { throw .failed(errno, call: "lstat") }
        return nil
    }
    let time = Int64(status.st_mtim.tv_sec) * 1_000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
    return (Int64(status.st_size), Timestamp(milliseconds: time))
}

/// Names in a folder, in the order of their bytes; none if there is no such folder.
func names(in folder: String) throws(FileError) -> [String] {
    guard let stream = opendir(folder) else {
        guard errno == ENOENT else { throw .failed(errno, call: "opendir") }
        return []
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}

/// Nothing there is no error.
func removeFile(_ path: String) throws(FileError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw .failed(errno, call: "unlink") }
}

/// With the files in it.
func removeFolder(_ path: String) throws(FileError) {
    for name in try names(in: path) { try removeFile("\(path)/\(name)") }
    guard rmdir(path) == 0 || errno == ENOENT || errno == ENOTEMPTY else { throw .failed(errno, call: "rmdir") }
}

/// With those above it.
func makeFolder(_ path: String) throws(FileError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, path.contains("/") else { throw .failed(errno, call: "mkdir") }
    try makeFolder(parent(of: path))
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .failed(errno, call: "mkdir") }
}

func sync(folder: String) throws(FileError) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed(errno, call: "open") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .failed(errno, call: "fsync") }
}

private func parent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
}

/// The space of the file system that a folder is on, as far as this process may use it.
func fileSystemSpace(of folder: String) throws(FileError) -> StoreSpace {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { throw .failed(errno, call: "statvfs") }
    let block = Int64(status.f_frsize)
    return StoreSpace(free: Int64(status.f_bavail) * block, total: Int64(status.f_blocks) * block)
}
