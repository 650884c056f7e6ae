import Dispatch
import FoundationEssentials
import Glibc

/// A program that this one starts.
enum ChildProcess {
    /// This program, as one that starts it anew finds it.
    static let ownProgram = "/proc/self/exe"
    /// Files of this process that a program which it starts could have.
    private static let descriptorsMax = 65_536
    /// `POSIX_SPAWN_SETSID` of Linux.
    private static let newSession: Int16 = 0x80

    /// Starts a program that lives on for itself.
    /// - Returns: whether there is such a program.
    static func launch(_ words: [String]) -> Bool {
        guard let process = self.start(words) else { return false }
        DispatchQueue.global().async { waitpid(process, nil, 0) }
        return true
    }

    /// Starts a program in a session of its own. It has no file of this process but those given: a browser outlives its daemon, so it
    /// must not have the sockets at which the daemon listens.
    /// - Parameters:
    ///   - input: what it reads; nothing without it.
    ///   - output: what it writes to; nowhere without it.
    /// - Returns: its process; `nil` if there is no such program.
    static func start(_ words: [String], input: Int32? = nil, output: Int32? = nil) -> pid_t? {
        for descriptor in STDERR_FILENO + 1..<Int32(min(sysconf(Int32(_SC_OPEN_MAX)), Self.descriptorsMax)) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, given) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, nil)] {
            if let given {
                posix_spawn_file_actions_adddup2(&actions, given, number)
            } else {
                posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Self.newSession)
        var arguments = words.map { strdup($0) } + [nil]
        var environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var process = pid_t()
        guard posix_spawnp(&process, words[0], &actions, &attributes, &arguments, &environment) == 0 else { return nil }
        return process
    }
}
