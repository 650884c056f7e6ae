import Foundation
import Glibc

/// A program that was run to its end. Foundation's `Process` has ended the process of all tests twice, which has more than a thousand
/// open files.
package struct Run {
    /// -1: a signal has ended it.
    package let status: Int32
    package let output: String

    package init(_ program: String, _ arguments: String...) throws { try self.init(program, arguments) }

    /// - Parameters:
    ///   - input: a file that it reads.
    ///   - withErrors: whether the output has the standard error, too.
    /// - Throws: `LaunchError.refused` if the program cannot be started.
    package init(
        _ program: String, _ arguments: [String], in folder: String? = nil, reading input: String = "/dev/null",
        withErrors: Bool = true
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw LaunchError.refused(program: program, reason: String(cString: strerror(errno)))
        }
        defer { close(ends[0]) }
        let pid: pid_t
        do {
            defer { close(ends[1]) }
            pid = try Spawn.start([program] + arguments, environment: ProcessInfo.processInfo.environment) { files in
                if let folder { Spawn.changeFolder(files, to: folder) }
                posix_spawn_file_actions_addopen(files, 0, input, O_RDONLY, 0)
                posix_spawn_file_actions_adddup2(files, ends[1], 1)
                if withErrors { posix_spawn_file_actions_adddup2(files, 1, 2) }
                Spawn.closeOthers(files)
            }
        }
        var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while case let count = read(ends[0], &part, part.count), count != 0 {
            guard count > 0 || errno == EINTR else { break }
            bytes += part[..<max(count, 0)]
        }
        var ended: Int32 = 0
        while waitpid(pid, &ended, 0) == -1, errno == EINTR {}
        self.status = ended & 0x7F == 0 ? ended >> 8 & 0xFF : -1
        self.output = String(decoding: bytes, as: UTF8.self)
    }
}
