import Foundation

/// A program, and everything it is started with. Plain data.
package struct Command: Sendable {
    /// Absolute path of the program.
    package var program: String
    package var arguments: [String]
    /// Added to `Command.basicEnvironment`; nothing else of the launcher's own environment is handed down.
    package var environment: [String: String]
    /// Current directory of the process; that of the launcher when nil.
    package var folder: String?
    /// A folder that the process gets as an open descriptor, and can reach as `Command.openFolder` even if its account
    /// may not pass the folders above.
    package var openFolder: String?
    /// The account to run as; only root can name another than its own.
    package var user: String?
    /// Where both output streams are appended.
    package var log: String
    /// A folder that is removed when the program and all that it started have ended, even if the launcher was killed before.
    /// The launcher's end then reaches the program as SIGQUIT.
    var folderToRemove: String?

    package init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], folder: String? = nil,
        openFolder: String? = nil, user: String? = nil, log: String = "/dev/null"
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.openFolder = openFolder
        self.user = user
        self.log = log
    }

    /// Where a process finds its `openFolder`.
    package static let openFolder = "/proc/self/fd/\(openFolderDescriptor)"
    static let openFolderDescriptor: Int32 = 3

    /// Variables that every program may need.
    package static let basicEnvironment: [String: String] = {
        let handedDown = [
            "PATH", "HOME", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SWIFT_BACKTRACE", "ASAN_OPTIONS", "TSAN_OPTIONS",
        ]
        var environment = ProcessInfo.processInfo.environment.filter { handedDown.contains($0.key) }
        environment["LC_ALL"] = "C.UTF-8"
        return environment
    }()

    /// Program and arguments behind `setpriv`, which has the kernel kill the process as soon as the thread that
    /// started it is gone, so that nothing outlives a launcher that was itself killed.
    var mortal: [String] {
        var words = ["/usr/bin/setpriv"]
        if let user { words += ["--reuid", user, "--regid", user, "--init-groups"] }
        let signal = self.folderToRemove == nil ? "KILL" : "QUIT"
        words += ["--pdeathsig", signal, "--", self.program] + self.arguments
        if let folderToRemove { words = ["/bin/bash", "-c", Self.removing, folderToRemove] + words }
        return words
    }

    /// Each process of the program holds one end of a pipe. The other ends with the last of them.
    private static let removing = #"exec 9> >(exec setsid sh -c 'cat; rm -rf "$0"' "$0") && exec "$@""#

    /// Runs the program to its end.
    /// - Throws: `LaunchError.ended` when its status is not 0.
    package func run(name: String) async throws {
        let process = try await ChildProcess.start(self, name: name)
        let status = await process.end()
        guard status == .exited(0) else {
            throw LaunchError.ended(name: name, status: status, log: tail(ofLog: self.log))
        }
    }

    /// Runs the program to its end and returns what it printed, on both streams.
    package func output(name: String) async throws -> String {
        let folder = try TemporaryFolder(named: "output")
        defer { folder.remove() }
        var command = self
        command.log = folder.path + "/output"
        try await command.run(name: name)
        return try String(contentsOfFile: command.log, encoding: .utf8)
    }
}

/// The last lines of a log, for an error message.
func tail(ofLog path: String, lines: Int = 20) -> String {
    guard let handle = FileHandle(forReadingAtPath: path) else { return "(no log)" }
    defer { try? handle.close() }
    let bytesMax: UInt64 = 16_384
    let size = (try? handle.seekToEnd()) ?? 0
    try? handle.seek(toOffset: size > bytesMax ? size - bytesMax : 0)
    let text = String(decoding: (try? handle.readToEnd()) ?? Data(), as: UTF8.self)
    let last = text.split(separator: "\n").suffix(lines)
    return last.isEmpty ? "(empty)" : last.joined(separator: "\n")
}
