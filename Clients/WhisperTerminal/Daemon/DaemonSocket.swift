import Glibc
import TerminalText

/// A Unix socket that only this user may open, in a folder into which only this user may write.
struct DaemonSocket {
    let path: String
    private let descriptor: Int32
    /// The file, in case another one has come to its place.
    private let file: ino_t?

    /// Programs that wait to be let in.
    private static let backlog: Int32 = 8

    /// - Throws: a `Problem` if the folder is not safe, or the path is too long, taken, or cannot be made.
    init(at path: String) throws {
        guard let address = Self.address(of: path) else {
            throw Problem("The path of a socket has 1 to \(Self.pathBytesMax) bytes.")
        }
        try Self.checkFolder(of: path)
        try Self.removeOld(path, address)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // From its first moment on nobody else may open it.
        let mask = umask(0o177)
        let isBound = Self.with(address) { bind(descriptor, $0, $1) } == 0
        umask(mask)
        guard isBound, listen(descriptor, Self.backlog) == 0 else {
            let why = String(cString: strerror(errno))
            Glibc.close(descriptor)
            throw Problem("Cannot listen at \(path): \(why).")
        }
        self.path = path
        self.descriptor = descriptor
        self.file = Self.status(of: path)?.st_ino
    }

    /// - Returns: a connection with a daemon of this user; `nil` if none listens there.
    static func connected(to path: String) -> Int32? {
        guard let address = Self.address(of: path), Self.status(of: path) != nil else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard Self.with(address, { connect(descriptor, $0, $1) }) == 0, Self.user(of: descriptor) == geteuid() else {
            Glibc.close(descriptor)
            return nil
        }
        return descriptor
    }

    /// - Returns: the process of a daemon of this user; `nil` if none listens there.
    static func process(at path: String) -> pid_t? {
        guard let descriptor = Self.connected(to: path) else { return nil }
        defer { Glibc.close(descriptor) }
        return Self.credentials(of: descriptor)?.process
    }

    /// Waits for a program of this user.
    /// - Returns: `nil` once the socket is closed.
    func accept() -> Int32? {
        while true {
            let program = Glibc.accept(self.descriptor, nil, nil)
            guard program >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return nil
            }
            _ = fcntl(program, F_SETFD, FD_CLOEXEC)
            if Self.user(of: program) == geteuid() { return program }
            Glibc.close(program)
        }
    }

    func close() {
        if let file, Self.status(of: self.path)?.st_ino == file { unlink(self.path) }
        shutdown(self.descriptor, Int32(SHUT_RDWR))
        Glibc.close(self.descriptor)
    }

    // MARK: Parts

    private static let pathBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// - Returns: `nil` if the path is too long, or no path.
    private static func address(of path: String) -> sockaddr_un? {
        let bytes = Array(path.utf8)
        guard (1...Self.pathBytesMax).contains(bytes.count), !bytes.contains(0) else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return address
    }

    /// The folder is made if it is missing.
    private static func checkFolder(of path: String) throws {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = stat()
        if stat(folder, &status) != 0 {
            guard errno == ENOENT, mkdir(folder, 0o700) == 0, stat(folder, &status) == 0 else {
                throw Problem("Cannot use the folder \(folder): \(String(cString: strerror(errno))).")
            }
        }
        guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw Problem("The folder \(folder) must belong to you, and nobody else may write into it.")
        }
    }

    /// The socket of a daemon that was killed. One that somebody listens at stays.
    private static func removeOld(_ path: String, _ address: sockaddr_un) throws {
        guard let status = Self.status(of: path) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw Problem("\(path) exists already, and is no socket.") }
        // A daemon with a long queue must not make this one wait.
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        defer { Glibc.close(probe) }
        guard Self.with(address, { connect(probe, $0, $1) }) != 0, errno == ECONNREFUSED else {
            throw Problem("Another daemon listens at \(path).")
        }
        unlink(path)
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private static func with(
        _ address: sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func user(of program: Int32) -> uid_t? { Self.credentials(of: program)?.user }

    private static func credentials(of program: Int32) -> Credentials? {
        var credentials = Credentials()
        var size = socklen_t(MemoryLayout<Credentials>.size)
        guard getsockopt(program, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        return credentials
    }

    /// `struct ucred` of Linux.
    private struct Credentials {
        var process: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
    }
}
