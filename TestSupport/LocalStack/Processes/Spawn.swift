import Glibc

/// Starts programs with posix_spawn(3).
///
/// A program must not inherit the sockets of this process: SwiftNIO leaves them open at exec, and the peer of a connection that is
/// closed here would not notice it as long as the program runs.
enum Spawn {
    typealias Files = UnsafeMutablePointer<posix_spawn_file_actions_t>

    // Two calls of glibc (2.34 and 2.29) that its Swift module does not show.
    private static let addCloseFrom = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"), to: (@convention(c) (Files, Int32) -> Int32).self)
    private static let addChangeFolder = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addchdir_np"),
        to: (@convention(c) (Files, UnsafePointer<CChar>) -> Int32).self)

    /// Closes every descriptor but the standard ones.
    static func closeOthers(_ files: Files) { _ = Self.addCloseFrom(files, 3) }

    static func changeFolder(_ files: Files, to folder: String) { _ = Self.addChangeFolder(files, folder) }

    /// No signal mask and no signal handler is inherited.
    /// - Parameters:
    ///   - words: the program's path, then its arguments.
    ///   - open: says which files the program has. It calls `closeOthers`.
    /// - Throws: `LaunchError.refused`.
    static func start(
        _ words: [String], environment: [String: String], inOwnGroup: Bool = false, open: (Files) -> Void
    ) throws(LaunchError) -> pid_t {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        open(&files)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (inOwnGroup ? POSIX_SPAWN_SETPGROUP : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }

        var pid: pid_t = 0
        let result = posix_spawn(&pid, words[0], &files, &attributes, &arguments, &variables)
        guard result == 0 else { throw .refused(program: words[0], reason: String(cString: strerror(result))) }
        return pid
    }
}
