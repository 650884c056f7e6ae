import Foundation

/// A real Prometheus that scrapes every process of one stack, and its balancer, as the deployment's does.
package actor PrometheusServer {
    package nonisolated let port = LoopbackPort.free()
    private nonisolated let folder: String
    private nonisolated let configuration: String
    private nonisolated let rules: String
    private var process: ChildProcess?

    /// Whether this machine has one.
    package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: Self.program) }
    private static let program = "/usr/bin/prometheus"

    /// - Parameter folder: made if it is not there.
    package init(folder: String, scraping stack: LocalStack) {
        self.folder = folder
        self.configuration = Self.configuration(stack)
        self.rules = "{}"
    }

    /// One that scrapes nobody.
    /// - Parameter rules: the content of a file of rules.
    package init(folder: String, rules: String) {
        self.folder = folder
        self.configuration = "global: { evaluation_interval: 100ms }\nrule_files: [rules.yml]\n"
        self.rules = rules
    }

    /// Returns when it answers.
    package func start() async throws {
        try makeFolder(self.folder)
        let file = self.folder + "/prometheus.yml"
        do {
            try self.configuration.write(toFile: file, atomically: true, encoding: .utf8)
            try self.rules.write(toFile: self.folder + "/rules.yml", atomically: true, encoding: .utf8)
        } catch {
            throw LaunchError.file(file, reason: error.localizedDescription)
        }
        let arguments = [
            "--config.file=\(file)", "--storage.tsdb.path=\(self.folder)/data",
            "--web.listen-address=127.0.0.1:\(self.port)",
        ]
        let process = try await ChildProcess.start(
            Command(Self.program, arguments, folder: self.folder, log: self.folder + "/prometheus.log"),
            name: "prometheus")
        self.process = process
        try await process.becomeReady { await LoopbackRequest.get("/-/ready", port: self.port)?.status == 200 }
    }

    package func stop() async {
        await self.process?.stop(timeout: .seconds(5))
        self.process = nil
    }

    /// `GET path` of its HTTP API, with these query parameters.
    /// - Returns: the body, JSON; nil when nobody answers.
    package nonisolated func ask(_ path: String, _ parameters: [String: String] = [:]) async -> String? {
        var unreserved = CharacterSet.alphanumerics
        unreserved.insert(charactersIn: "-._~")
        let query = parameters.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")" }
        // HTTP/1.0: the answer comes in one piece.
        let request = "GET \(path)?\(query.joined(separator: "&")) HTTP/1.0\r\n\r\n"
        let answer = await LoopbackRequest.answer(from: self.port, to: request, isWhole: { _ in false })
        return answer?.range(of: "\r\n\r\n").map { String(answer![$0.upperBound...]) }
    }

    /// One job for each service, as in deploy/prometheus/prometheus.yml, where a name server knows the instances.
    private static func configuration(_ stack: LocalStack) -> String {
        let services = ServiceName.allCases.map { service in
            (service.rawValue, (stack.ports.services[service] ?? []).map(\.ops))
        }
        let jobs = (services + [("haproxy", [stack.ports.ops])]).filter { !$0.1.isEmpty }.map { name, ports in
            let targets = ports.map { "\"127.0.0.1:\($0)\"" }.joined(separator: ", ")
            return "  - job_name: \(name)\n    static_configs: [{ targets: [\(targets)] }]"
        }
        return "global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:\n" + jobs.joined(separator: "\n")
            + "\n"
    }
}
