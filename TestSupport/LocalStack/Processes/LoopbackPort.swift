import Foundation
import Synchronization

/// Finds ports of 127.0.0.1 that nobody uses, safe against other launchers looking at the same time.
///
/// Ports come from below the system's range for outgoing connections, so that a server which was killed finds its
/// port free when it starts again. Each is reserved for the life of this process by an abstract socket name, which
/// vanishes with it.
package enum LoopbackPort {
    private static let range = 10_000..<32_000
    private static let reservations = Mutex<[Int: Int32]>([:])

    /// A port that was free a moment ago and is reserved for this process.
    package static func free() -> Int {
        while true {
            let port = Int.random(in: self.range)
            if self.reserve(port), self.isFree(port) { return port }
        }
    }

    /// Whether a server could listen there now.
    ///
    /// Does not listen itself: a program being started at the same moment would hold on to the socket for an instant.
    package static func isFree(_ port: Int) -> Bool {
        let socket = loopbackSocket()
        defer { close(socket) }
        var yes: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        return withLoopbackAddress(port: port) { bind(socket, $0, $1) == 0 }
    }

    /// Whether somebody has the port for UDP, which is a port of its own. Read from the kernel's table: binding, to try, would
    /// take it from a server that is just starting.
    package static func takesDatagrams(_ port: Int) -> Bool {
        guard let table = try? String(contentsOfFile: "/proc/net/udp", encoding: .utf8) else { return false }
        let suffix = String(format: ":%04X", port)
        return table.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            return fields.count > 1 && fields[1].hasSuffix(suffix)
        }
    }

    private static func reserve(_ port: Int) -> Bool {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array("\0whisper-port-\(port)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = MemoryLayout<sa_family_t>.size + name.count
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, socklen_t(length)) == 0 }
        }
        guard bound else {
            close(socket)
            return false
        }
        self.reservations.withLock { $0[port] = socket }
        return true
    }
}

func loopbackSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
}

func withLoopbackAddress<R>(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}
