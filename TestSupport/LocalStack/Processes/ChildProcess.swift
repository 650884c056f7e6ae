import Foundation
package import Glibc
import Synchronization

/// One started program: its own process group, its output in a log file, and an end that cannot be missed.
///
/// The thread that starts a child also waits for it. It has to live as long as the child does: the kernel's "die with
/// your parent" (prctl(2), PR_SET_PDEATHSIG) means the parent's *thread*, and threads of a pool end when idle.
package final class ChildProcess: Sendable {
    package let name: String
    package let pid: pid_t
    package let log: String

    private enum Life {
        case running(waiters: [CheckedContinuation<ExitStatus, Never>])
        case ended(ExitStatus)
    }
    private let life = Mutex(Life.running(waiters: []))

    private init(name: String, pid: pid_t, log: String) {
        self.name = name
        self.pid = pid
        self.log = log
    }

    /// Starts the program; returns as soon as it has a process id.
    /// - Throws: `LaunchError.missing` or `.refused`.
    package static func start(_ command: Command, name: String) async throws -> ChildProcess {
        guard access(command.program, X_OK) == 0 else { throw LaunchError.missing(program: command.program) }
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                do throws(LaunchError) {
                    let pid = try spawn(command)
                    let process = ChildProcess(name: name, pid: pid, log: command.log)
                    continuation.resume(returning: process)
                    process.watch()
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            thread.name = "child"
            thread.stackSize = 256 * 1_024
            thread.start()
        }
    }

    /// Whether the process has not ended yet. A stopped one (SIGSTOP) still runs.
    package var isRunning: Bool { self.exitStatus == nil }

    package var exitStatus: ExitStatus? {
        self.life.withLock { if case .ended(let status) = $0 { status } else { nil } }
    }

    /// CPU time of this process and all that it has started, so far, in steps of 10 ms.
    package var cpu: Duration {
        ProcessUsage.cpu(of: [self.pid] + ProcessTable().descendants(of: self.pid))
    }

    /// Waits until the process has ended.
    @discardableResult
    package func end() async -> ExitStatus {
        await withCheckedContinuation { continuation in
            let status: ExitStatus? = self.life.withLock { life in
                switch life {
                case .running(let waiters):
                    life = .running(waiters: waiters + [continuation])
                    return nil
                case .ended(let status):
                    return status
                }
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// Sends a signal to the process alone. Ignored once it has ended: its id may belong to another by then.
    package func signal(_ signal: ProcessSignal) {
        self.life.withLock { life in
            if case .running = life { _ = Glibc.kill(self.pid, signal.number) }
        }
    }

    /// Asks with `signal`, and kills the whole group when the process still lives after `timeout`.
    /// - Returns: how it ended.
    @discardableResult
    package func stop(with signal: ProcessSignal = .terminate, timeout: Duration = .seconds(20)) async -> ExitStatus {
        self.signal(.resume)  // a stopped process hears nothing but SIGKILL
        self.signal(signal)
        // A task of its own, because stopping takes its time even when the caller has been cancelled.
        let killing = Task {
            try await Task.sleep(for: timeout)
            await self.kill()
        }
        defer { killing.cancel() }
        return await self.end()
    }

    /// Kills the process and its group with SIGKILL, and waits for its end.
    @discardableResult
    package func kill() async -> ExitStatus {
        self.life.withLock { life in
            if case .running = life { _ = Glibc.kill(-self.pid, SIGKILL) }
        }
        return await self.end()
    }

    /// Blocks the child's own thread until the end. The id is given back to the system under the lock,
    /// so that `signal` never reaches a stranger.
    private func watch() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(self.pid), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        let (status, waiters) = self.life.withLock { life -> (ExitStatus, [CheckedContinuation<ExitStatus, Never>]) in
            var raw: Int32 = 0
            while waitpid(self.pid, &raw, 0) == -1, errno == EINTR {}
            let status = ExitStatus(raw: raw)
            guard case .running(let waiters) = life else { return (status, []) }
            life = .ended(status)
            return (status, waiters)
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }
}

/// The signals that a launcher needs.
package enum ProcessSignal: Sendable {
    case terminate, interrupt, quit, hangup, kill
    /// Freezes the process: connections stay open, nothing answers.
    case pause
    case resume

    var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .quit: SIGQUIT
        case .hangup: SIGHUP
        case .kill: SIGKILL
        case .pause: SIGSTOP
        case .resume: SIGCONT
        }
    }
}

extension ExitStatus {
    /// From the status word of wait(2).
    fileprivate init(raw: Int32) {
        let signal = raw & 0x7f
        self = signal == 0 ? .exited((raw >> 8) & 0xff) : .signalled(signal)
    }
}

/// Starts the program in a process group of its own.
private func spawn(_ command: Command) throws(LaunchError) -> pid_t {
    let environment = Command.basicEnvironment.merging(command.environment) { $1 }
    return try Spawn.start(command.mortal, environment: environment, inOwnGroup: true) { files in
        posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(files, 1, command.log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(files, 1, 2)
        Spawn.closeOthers(files)
        if let folder = command.openFolder {
            posix_spawn_file_actions_addopen(files, Command.openFolderDescriptor, folder, O_RDONLY | O_DIRECTORY, 0)
        }
        if let folder = command.folder { Spawn.changeFolder(files, to: folder) }
    }
}
