import Foundation

/// The real load balancer in front of one stack.
package actor HAProxyServer {
    private let folder: String
    private let log: String
    private let ports: StackPorts
    private let limits: AddressLimits
    private let threads: Int
    private var process: ChildProcess?

    /// - Parameters:
    ///   - folder: gets the generated `haproxy.cfg`.
    ///   - limits: of each client's address.
    ///   - threads: 1...64; as many as this process has cores when nil.
    package init(
        folder: String, ports: StackPorts, limits: AddressLimits = .standard, threads: Int? = nil, log: String
    ) {
        self.folder = folder
        self.ports = ports
        self.limits = limits
        self.threads = threads ?? min(Self.threadsMax, ProcessInfo.processInfo.activeProcessorCount)
        self.log = log
    }

    /// The text of `haproxy.cfg`.
    package nonisolated var configuration: String {
        HAProxyConfiguration(
            ports: self.ports, connectionsMax: Self.connectionsMax, limits: self.limits, threads: self.threads
        ).text
    }

    package var child: ChildProcess? { self.process }

    /// Returns when it answers on both ports.
    package func start() async throws {
        if let process, process.isRunning { return }
        for port in [self.ports.public, self.ports.ops] where !LoopbackPort.isFree(port) {
            throw LaunchError.portTaken(port)
        }
        let file = self.folder + "/haproxy.cfg"
        do {
            try makeFolder(self.folder)
            try self.configuration.write(toFile: file, atomically: true, encoding: .utf8)
        } catch {
            throw LaunchError.file(file, reason: error.localizedDescription)
        }
        // -db: stay in the foreground.
        let command = Command("/usr/sbin/haproxy", ["-db", "-f", file], folder: self.folder, log: self.log)
        let process = try await ChildProcess.start(command, name: "haproxy")
        self.process = process
        try await process.becomeReady {
            await LoopbackRequest.get("/health", port: self.ports.ops)?.status == 200
                && !LoopbackPort.isFree(self.ports.public)
        }
    }

    /// Closes all connections and ends.
    package func stop() async {
        await self.process?.stop(timeout: .seconds(5))
        self.process = nil
    }

    /// SIGKILL; returns when it is gone.
    package func kill() async {
        await self.process?.kill()
    }

    package func signal(_ signal: ProcessSignal) {
        self.process?.signal(signal)
    }

    /// HAProxy's own bound.
    package static let threadsMax = 64
    /// Bytes for one client, as deploy/haproxy/start counts them.
    private static let clientBytes = 48 * 1_024
    /// The part of this machine's memory that clients may take: others of the stack want theirs.
    private static let memoryPart = 4

    /// As many as memory and the descriptors of HAProxy allow: HAProxy raises its own limit as far as the system lets
    /// it.
    private static var connectionsMax: Int {
        descriptorsMax()
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let files = Int(min(limit.rlim_max, rlim_t(filesMax)))
        let spare = 512 + 2 * HAProxyConfiguration.opsConnections
        let memory = Int(ProcessInfo.processInfo.physicalMemory) / Self.memoryPart / Self.clientBytes
        return max(100, min(memory, (files - spare) / 2))
    }

    /// Most files of one process, unless the kernel has been told otherwise (fs.nr_open).
    private static let filesMax = 1_048_576
}

/// Raises this process's limit of open files as far as the system lets it (65,536 is plenty), for itself and for its
/// children.
/// - Returns: the limit now in force.
@discardableResult
func descriptorsMax() -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let wanted = min(limit.rlim_max, 65_536)
    if limit.rlim_cur < wanted {
        limit.rlim_cur = wanted
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
    return Int(min(limit.rlim_cur, 65_536))
}
