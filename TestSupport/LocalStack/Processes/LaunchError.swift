/// Why something on this machine could not be started. The text is for the person at the terminal.
package enum LaunchError: Error, Equatable, CustomStringConvertible {
    /// A program that must be installed is not. `make run` and `make test` install what is missing.
    case missing(program: String)
    /// The system refused to start the program.
    case refused(program: String, reason: String)
    /// The program ended when it should have gone on, or with a status that is not 0.
    case ended(name: String, status: ExitStatus, log: String)
    /// The program runs, but was not ready when the time was up. It has been killed.
    case notReady(name: String, after: Duration, log: String)
    /// Another process listens there.
    case portTaken(Int)
    /// Another launcher uses this data folder.
    case folderInUse(String)
    /// A file or folder could not be made, read or written.
    case file(String, reason: String)

    package var description: String {
        switch self {
        case .missing(let program):
            "\(program) is not installed"
        case .refused(let program, let reason):
            "\(program) cannot be started: \(reason)"
        case .ended(let name, let status, let log):
            "\(name) ended (\(status)). The end of its log:\n\(log)"
        case .notReady(let name, let time, let log):
            "\(name) was not ready after \(time). The end of its log:\n\(log)"
        case .portTaken(let port):
            "port \(port) is taken by another process"
        case .folderInUse(let folder):
            "another cluster runs in \(folder)"
        case .file(let path, let reason):
            "\(path): \(reason)"
        }
    }
}

/// How a process ended.
package enum ExitStatus: Hashable, Sendable, CustomStringConvertible {
    case exited(Int32)
    case signalled(Int32)

    package var description: String {
        switch self {
        case .exited(let code): "exit status \(code)"
        case .signalled(let number): "signal \(number)"
        }
    }
}
