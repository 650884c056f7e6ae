import Glibc

/// Files of a profile that are made, moved and removed as a whole.
enum StoreFiles {
    /// Suffix of a file that is not complete yet.
    static let partialSuffix = ".new"
    /// Suffix of a plain store that a sealed one has replaced, until it is erased.
    static let replacedSuffix = ".plain"

    /// The largest piece that is overwritten at once, in bytes.
    private static let eraseBytes = 65_536

    /// Makes an empty file that only its owner may read, unless one stands there. SQLite gives its log and its index
    /// the same mode. A file that an earlier release has left open to others is closed to them.
    static func makePrivate(_ path: String) throws(ClientStoreError) {
        // No descriptor of a file that is there is opened: closing it would end the locks of this process.
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            guard stat(path + suffix, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0
            else { continue }
            chmod(path + suffix, 0o600)
        }
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 || errno == EEXIST else {
            throw .failed("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        if file >= 0 { close(file) }
    }

    /// Removes a database with its log.
    static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    }

    /// Gives a whole file its name, and lets the disk see both. A log of whatever had the name goes.
    static func settle(_ partial: String, as path: String) throws(ClientStoreError) {
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        guard chmod(partial, 0o600) == 0, Self.sync(partial), rename(partial, path) == 0,
            Self.sync(Self.folder(of: path))
        else { throw .failed("cannot write \(path)") }
    }

    /// Overwrites a file with zeros and removes it. Copies that the disk has made of its blocks stay.
    /// - Returns: whether the file is gone.
    @discardableResult
    static func erase(_ path: String) -> Bool {
        let file = open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return errno == ENOENT }
        defer { close(file) }
        return Self.erase(descriptor: file) && unlink(path) == 0
    }

    /// The same for an open file, which may have no name any more.
    static func erase(descriptor file: Int32) -> Bool {
        let size = lseek(file, 0, SEEK_END)
        let zeros = [UInt8](repeating: 0, count: Self.eraseBytes)
        var place: off_t = 0
        while place < size {
            let count = pwrite(file, zeros, min(zeros.count, Int(size - place)), place)
            guard count > 0 else { return false }
            place += off_t(count)
        }
        return fsync(file) == 0
    }

    static func begins(_ path: String, with head: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return false }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: head.utf8.count)
        return read(file, &bytes, bytes.count) == bytes.count && bytes.elementsEqual(head.utf8)
    }

    /// Copies bytes to a new file that only its owner may read.
    static func copy(_ from: String, to path: String) throws(ClientStoreError) {
        let source = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else { throw .failed("cannot read \(from)") }
        defer { close(source) }
        let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw .failed("cannot write \(path)") }
        defer { close(target) }
        var bytes = [UInt8](repeating: 0, count: Self.eraseBytes)
        while true {
            let count = read(source, &bytes, bytes.count)
            guard count >= 0 else { throw .failed("cannot read \(from)") }
            if count == 0 { break }
            guard write(target, bytes, count) == count else { throw .failed("cannot write \(path)") }
        }
    }

    @discardableResult
    static func sync(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return fsync(file) == 0
    }

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
