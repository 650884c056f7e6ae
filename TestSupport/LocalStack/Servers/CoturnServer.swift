import Foundation

/// A real TURN server on loopback, with the deployment's own configuration and what has to differ here: its address, its
/// ports, and that it may relay to this machine.
package actor CoturnServer {
    package nonisolated let port: Int
    package nonisolated let folder: String
    package nonisolated let log: String
    private nonisolated let secret: String
    /// Whether clients may be relayed to 127.0.0.1. The deployment forbids it.
    private nonisolated let allowsLoopback: Bool
    private nonisolated let isForGuests: Bool
    private var process: ChildProcess?

    /// Relayed ports: those of compose.yaml, apart from what `LoopbackPort` gives out.
    private nonisolated var relayed: ClosedRange<Int> { self.isForGuests ? 57_344...61_439 : 49_152...57_343 }
    /// `deploy/coturn/start` has the same for guests.
    package static let guestQuota = 4
    package static let guestSuffix = "/guests"

    /// - Parameters:
    ///   - folder: made if it is not there.
    ///   - port: kept over restarts.
    ///   - secret: `static-auth-secret`, of the relay for guests without what stands behind it.
    package init(
        folder: String, port: Int, secret: String, isForGuests: Bool = false, allowsLoopback: Bool = true, log: String
    ) {
        self.folder = folder
        self.port = port
        self.isForGuests = isForGuests
        self.secret = isForGuests ? secret + Self.guestSuffix : secret
        self.allowsLoopback = allowsLoopback
        self.log = log
    }

    /// Whether this machine has one.
    package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: Self.program) }
    private static let program = "/usr/bin/turnserver"

    /// URLs that clients get.
    package nonisolated var urls: [String] {
        ["turn:127.0.0.1:\(self.port)?transport=udp", "turn:127.0.0.1:\(self.port)?transport=tcp"]
    }

    package var child: ChildProcess? { self.process }

    /// Returns when it takes connections and datagrams.
    package func start() async throws {
        if let process, process.isRunning { return }
        guard LoopbackPort.isFree(self.port) else { throw LaunchError.portTaken(self.port) }
        try makeFolder(self.folder)
        let file = self.folder + "/turnserver.conf"
        do {
            try self.configuration().write(toFile: file, atomically: true, encoding: .utf8)
            // It holds the secret: not in the arguments, which every process can read.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        } catch {
            throw LaunchError.file(file, reason: "\(error)")
        }
        let process = try await ChildProcess.start(
            Command(Self.program, ["-c", file], folder: self.folder, log: self.log), name: "coturn")
        self.process = process
        try await process.becomeReady { !LoopbackPort.isFree(self.port) && LoopbackPort.takesDatagrams(self.port) }
    }

    package func stop() async {
        await self.process?.stop(timeout: .seconds(3))
        self.process = nil
    }

    /// SIGKILL; returns when it is gone.
    package func kill() async { await self.process?.kill() }

    /// The deployment's file, and behind it what differs.
    private nonisolated func configuration() throws -> String {
        let deployed = try String(contentsOfFile: Self.deployedConfiguration, encoding: .utf8)
        var lines = [
            "static-auth-secret=\(self.secret)", "listening-ip=127.0.0.1", "relay-ip=127.0.0.1",
            "listening-port=\(self.port)", "min-port=\(self.relayed.lowerBound)", "max-port=\(self.relayed.upperBound)",
            "total-quota=\(self.relayed.count / 2)",
            "pidfile=\(self.folder)/turnserver.pid", "log-file=stdout", "simple-log", "verbose",
            "userdb=\(self.folder)/turndb",
            // Without a certificate; and 5349 is the same for all.
            "no-tls", "no-dtls",
        ]
        if self.isForGuests { lines.append("user-quota=\(Self.guestQuota)") }
        if self.allowsLoopback {
            lines += ["allow-loopback-peers", "allowed-peer-ip=127.0.0.1"]
        }
        return deployed + "\n" + lines.joined(separator: "\n") + "\n"
    }

    /// `deploy/coturn/turnserver.conf` of this source tree.
    package static let deployedConfiguration = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("deploy/coturn/turnserver.conf").path
}
