import Foundation
import Glibc
import LocalStack
import TestKit
import Testing

/// The `whisper` program as it runs for a while: its standard input is a pipe that the test holds.
struct TerminalProcess {
    private let process: ChildProcess
    private let pipe: FileHandle
    private let log: String

    /// - Parameter arguments: the command first.
    static func start(_ folder: TemporaryFolder, _ profile: String, _ arguments: String...) async throws -> Self {
        try await self.start(folder, profile, arguments)
    }

    static func start(_ folder: TemporaryFolder, _ profile: String, _ arguments: [String]) async throws -> Self {
        let name = folder.path + "/\(newUUID())"
        let (pipe, log) = (name + ".in", name + ".out")
        try #require(mkfifo(pipe, 0o600) == 0)
        // For both directions: opening does not wait for the program.
        let handle = try #require(FileHandle(forUpdatingAtPath: pipe))
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let program = "\(Cluster.stack.configuration.programs)/whisper"
        let words = [program] + arguments + ["--profile", profile]
        let process = try await ChildProcess.start(
            Command(
                "/bin/sh", ["-c", "exec \"$0\" \"$@\" < '\(pipe)'"] + words,
                environment: ["WHISPER_HOME": folder.path + "/home", "XDG_RUNTIME_DIR": folder.path], log: log),
            name: "whisper \(arguments[0])")
        return Self(process: process, pipe: handle, log: log)
    }

    /// The process's output so far, line by line.
    var lines: [String] {
        (try? String(contentsOfFile: self.log, encoding: .utf8))?.split(separator: "\n").map { String($0) } ?? []
    }

    func types(_ line: String) { self.pipe.write(Data((line + "\n").utf8)) }

    /// The first line that contains a text, waited for.
    @discardableResult
    func prints(_ text: String, within timeout: Duration = .seconds(60)) async throws -> String {
        do {
            try await waitUntil("\"\(text)\" is printed", within: timeout, every: .milliseconds(20)) {
                self.lines.contains { $0.contains(text) }
            }
        } catch {
            Issue.record("\"\(text)\" is not in \(self.lines)")
            throw error
        }
        return self.lines.first { $0.contains(text) }!
    }

    /// The input ends.
    func endsInput() throws { try self.pipe.close() }

    /// Returns when it has ended by itself.
    /// - Returns: whether with status 0.
    func end() async -> Bool { await self.process.end() == .exited(0) }

    /// Ctrl-C.
    func interrupt() async -> Bool { await self.process.stop(with: .interrupt) == .exited(0) }

    func kill() async { await self.process.kill() }
}
