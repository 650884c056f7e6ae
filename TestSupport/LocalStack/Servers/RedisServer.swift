import Foundation

/// A real Redis on loopback that forgets everything when it ends: nothing in this cluster relies on its memory.
package actor RedisServer {
    package nonisolated let port: Int
    package nonisolated let folder: String
    private nonisolated let log: String
    private let temporary: TemporaryFolder?
    /// More of redis-server's command line.
    private let arguments: [String]
    private var process: ChildProcess?

    /// - Parameters:
    ///   - folder: made if it is not there.
    ///   - port: a free one when nil; kept over restarts.
    ///   - arguments: more of redis-server's command line.
    package init(folder: String, port: Int? = nil, log: String? = nil, arguments: [String] = []) {
        self.folder = folder
        self.port = port ?? LoopbackPort.free()
        self.log = log ?? folder + "/redis.log"
        self.temporary = nil
        self.arguments = arguments
    }

    /// For one test: in a temporary folder that `stop` removes.
    private init(_ temporary: TemporaryFolder, _ arguments: [String]) {
        self.folder = temporary.path
        self.port = LoopbackPort.free()
        self.log = temporary.path + "/redis.log"
        self.temporary = temporary
        self.arguments = arguments
    }

    /// A running server for one test.
    package static func temporary(arguments: [String] = []) async throws -> RedisServer {
        let server = RedisServer(try TemporaryFolder(named: "redis"), arguments)
        try await server.start()
        return server
    }

    package var child: ChildProcess? { self.process }

    /// Returns when it answers.
    package func start() async throws {
        if let process, process.isRunning { return }
        guard LoopbackPort.isFree(self.port) else { throw LaunchError.portTaken(self.port) }
        try makeFolder(self.folder)
        let process = try await ChildProcess.start(self.command, name: "redis")
        self.process = process
        try await process.becomeReady { await self.isReady() }
    }

    /// Ends it in order. A temporary folder is removed.
    package func stop() async {
        await self.process?.stop(timeout: .seconds(5))
        self.process = nil
        self.temporary?.remove()
    }

    /// SIGKILL; returns when it is gone. `start` brings it back, empty, on the same port.
    package func kill() async {
        await self.process?.kill()
    }

    package func restart() async throws {
        await self.kill()
        try await self.start()
    }

    package func signal(_ signal: ProcessSignal) {
        self.process?.signal(signal)
    }

    /// FLUSHALL: everything in it is gone, connections stay.
    package func flush() async throws {
        guard await self.answers("FLUSHALL", with: "+OK\r\n") else {
            throw LaunchError.notReady(name: "redis", after: .zero, log: tail(ofLog: self.log))
        }
    }

    /// Adds a rule for a user, as a line of an ACL file has it without the word `user`.
    package func setUser(_ rule: String) async throws {
        guard await self.answers("ACL SETUSER \(rule)", with: "+OK\r\n") else {
            throw LaunchError.notReady(name: "redis", after: .zero, log: "the rule was refused: \(rule)")
        }
    }

    /// Sends commands as they would be typed.
    /// - Returns: the answers as they stand on the wire, once there are `lines`.
    package func answer(to text: String, lines: Int) async -> String? {
        await LoopbackRequest.answer(from: self.port, to: text) {
            $0.split(separator: "\r\n").count >= lines && $0.hasSuffix("\r\n")
        }
    }

    private func isReady() async -> Bool {
        await self.answers("PING", with: "+PONG\r\n")
    }

    private func answers(_ command: String, with expected: String) async -> Bool {
        let answer = await LoopbackRequest.answer(from: self.port, to: command + "\r\n") { $0.hasSuffix("\r\n") }
        return answer == expected
    }

    private var command: Command {
        Command(
            "/usr/bin/redis-server",
            [
                "--bind", "127.0.0.1", "--port", "\(self.port)", "--daemonize", "no", "--dir", ".",
                "--save", "", "--appendonly", "no",
                "--maxmemory-policy", "noeviction",
                "--client-output-buffer-limit", "pubsub", "256mb", "64mb", "60",
            ] + self.arguments,
            folder: self.folder, log: self.log)
    }
}

extension ChildProcess {
    /// Waits until `isReady`; kills the process if that takes longer than `readyTimeout`.
    /// - Throws: `LaunchError.ended` or `.notReady`, with the end of the log.
    package nonisolated(nonsending) func becomeReady(
        _ isReady: nonisolated(nonsending) () async throws -> Bool
    ) async throws {
        do {
            try await waitUntil("\(self.name) is ready", within: readyTimeout) {
                if let status = self.exitStatus {
                    throw LaunchError.ended(name: self.name, status: status, log: tail(ofLog: self.log))
                }
                return try await isReady()
            }
        } catch is TimeUp {
            await self.kill()
            throw LaunchError.notReady(name: self.name, after: readyTimeout, log: tail(ofLog: self.log))
        }
    }
}
