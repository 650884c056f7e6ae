import Contract
import Hummingbird
import Synchronization

/// Whether the process has been told to end.
final class DrainMark: Sendable {
    private let draining = Atomic<Bool>(false)

    var isDraining: Bool { self.draining.load(ordering: .relaxed) }
    func set() { self.draining.store(true, ordering: .relaxed) }
}

/// The operators' routes of every process.
struct OpsRoutes {
    let registry: PrometheusRegistry
    let checks: [Readiness]
    let drain: DrainMark

    func add(to router: Router<BasicRequestContext>) {
        router.get("health") { _, _ in
            Response.json(HealthOperations.body("ok", version: Release.version, revision: self.registry.revision))
        }
        router.get("ready") { _, _ in await self.ready() }
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: self.registry.exposition())))
        }
    }

    /// 503 while draining, or with the names of the checks that fail.
    private func ready() async -> Response {
        if self.drain.isDraining { return Self.status("draining", code: .serviceUnavailable) }
        let failing = await withTaskGroup { group in
            for check in self.checks {
                group.addTask { await check.ask() ? nil : check.name }
            }
            return await group.reduce(into: [String]()) { names, name in
                if let name { names.append(name) }
            }
        }
        if failing.isEmpty { return Self.status("ready") }
        return Self.status("unready", code: .serviceUnavailable, failing: failing.sorted())
    }

    private static func status(
        _ status: String, code: HTTPResponse.Status = .ok, failing: [String] = []
    ) -> Response {
        .json(HealthOperations.body(status, failing: failing), status: code)
    }
}
