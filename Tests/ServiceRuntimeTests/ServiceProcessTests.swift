import Contract
import Foundation
import Logging
import Synchronization
import Telemetry
import Testing

@testable import ServiceRuntime

@Suite(.timeLimit(.minutes(20))) struct ServiceProcessTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs a process with the given parts, lets `body` talk to its ops listener, then expects it to end well.
    private func withProcess(
        _ composition: Composition, revision: String? = nil,
        _ body: (ServiceProcess, LoopbackClient) async throws -> Void
    ) async throws {
        let (ports, bound) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingOldest(1))
        let registry = PrometheusRegistry(service: "test", revision: revision)
        let process = ServiceProcess(
            composition, registry: registry, ops: ListenAddress(host: "127.0.0.1", port: 0), logger: self.quiet,
            opsListening: { bound.yield($0) })
        async let running: Void = process.run()
        var port: Int?
        for await first in ports {
            port = first
            break
        }
        try await body(process, LoopbackClient(port: try #require(port)))
        await process.shutDown()
        try await running
    }

    @Test func theOpsListenerAnswersHealthReadyAndMetrics() async throws {
        try await self.withProcess(Composition(parts: [])) { _, ops in
            #expect(try await ops.get("/health").body == "{\"status\":\"ok\",\"version\":\"\(Release.version)\"}")
            #expect(try await ops.get("/ready").status == 200)
            let metrics = try await ops.get("/metrics")
            #expect(metrics.contentType == "text/plain; version=0.0.4; charset=utf-8")
            #expect(metrics.body.contains("process_resident_memory_bytes{service=\"test\"} "))
            #expect(
                metrics.body.contains("whisper_build_info{service=\"test\",version=\"\(Release.version)\"} 1\n"))
        }
    }

    @Test func theOpsListenerNamesTheCommit() async throws {
        try await self.withProcess(Composition(parts: []), revision: "1c170bc") { _, ops in
            let (health, metrics) = (try await ops.get("/health").body, try await ops.get("/metrics").body)
            #expect(health == "{\"status\":\"ok\",\"version\":\"\(Release.version)\",\"revision\":\"1c170bc\"}")
            let labels = "service=\"test\",version=\"\(Release.version)\",revision=\"1c170bc\""
            #expect(metrics.contains("whisper_build_info{\(labels)} 1\n"))
        }
    }

    @Test func theProbeHearsWhatTheProcessSays() async throws {
        let isReady = Mutex(true)
        let composition = Composition(parts: [], readiness: [ReadinessCheck("redis") { isReady.withLock { $0 } }])
        try await self.withProcess(composition) { process, ops in
            for host in ["127.0.0.1", "0.0.0.0", "localhost"] {
                #expect(await asked(ListenAddress(host: host, port: ops.port)))
            }
            isReady.withLock { $0 = false }
            #expect(await !asked(ListenAddress(host: "127.0.0.1", port: ops.port)))
        }
        #expect(await !asked(ListenAddress(host: "127.0.0.1", port: 1)))

        /// The probe blocks, so it gets a thread of its own.
        func asked(_ address: ListenAddress) async -> Bool {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: ReadinessProbe(address: address).isReady()) }
            }
        }
    }

    @Test func failingChecksAreNamedAndHangingOnesDoNotHangTheAnswer() async throws {
        let never = Signal()
        let composition = Composition(
            parts: [],
            readiness: [
                ReadinessCheck("redis") { false }, ReadinessCheck("postgres") { true },
                ReadinessCheck("hanging") {
                    await never.wait()
                    return true
                },
            ])
        try await self.withProcess(composition) { _, ops in
            let answer = try await ops.get("/ready")
            #expect(answer.status == 503)
            #expect(answer.body == "{\"status\":\"unready\",\"failing\":[\"hanging\",\"redis\"]}")
        }
        never.give()
    }

    @Test func aYesIsBelievedForItsTimeAndANoIsNot() async throws {
        let asked = Mutex(0)
        let isThere = Mutex(false)
        let check = ReadinessCheck("postgres", keptFor: .seconds(3_600)) {
            asked.withLock { $0 += 1 }
            return isThere.withLock { $0 }
        }
        try await self.withProcess(Composition(parts: [], readiness: [check])) { _, ops in
            var statuses: [Int] = [try await ops.get("/ready").status, try await ops.get("/ready").status]
            isThere.withLock { $0 = true }
            for _ in 0..<3 { statuses.append(try await ops.get("/ready").status) }
            #expect(statuses == [503, 503, 200, 200, 200])
        }
        #expect(asked.withLock { $0 } == 3)
    }

    @Test func aYesThatIsNotKeptIsAskedForAgain() async throws {
        let isThere = Mutex(true)
        let check = ReadinessCheck("redis") { isThere.withLock { $0 } }
        try await self.withProcess(Composition(parts: [], readiness: [check])) { _, ops in
            let first = try await ops.get("/ready").status
            isThere.withLock { $0 = false }
            let second = try await ops.get("/ready").status
            #expect(first == 200)
            #expect(second == 503)
        }
    }

    @Test func readinessIsRefusedWhilePartsDrain() async throws {
        let (drainBegun, mayEnd) = (Signal(), Signal())
        let part = Part("work", run: Part.idle) {
            drainBegun.give()
            await mayEnd.wait()
        }
        try await self.withProcess(Composition(parts: [part])) { process, ops in
            #expect(try await ops.get("/ready").status == 200)
            await process.shutDown()
            await drainBegun.wait()
            let answer = try await ops.get("/ready")
            #expect(answer.status == 503)
            #expect(answer.body == "{\"status\":\"draining\"}")
            #expect(try await ops.get("/health").status == 200)
            mayEnd.give()
        }
    }

    @Test func partsDrainFromTheLastToTheFirst() async throws {
        let order = Mutex<[String]>([])
        let parts = ["bus", "core", "http"].map { name in
            Part(name, close: { order.withLock { $0.append(name) } })
        }
        try await self.withProcess(Composition(parts: parts)) { _, _ in }
        #expect(order.withLock { $0 } == ["http", "core", "bus"])
    }

    @Test func aLoopThatEndsBecauseItDrainsWaitsForItsDrain() async throws {
        let told = Signal()
        let drained = Mutex(false)
        let part = Part("work") {
            await told.wait()
        } drain: {
            told.give()
            await Task.yield()
            drained.withLock { $0 = !Task.isCancelled }
        }
        try await self.withProcess(Composition(parts: [part])) { _, _ in }
        #expect(drained.withLock { $0 })
    }

    @Test func aPartThatFailsEndsTheProcess() async throws {
        struct Broken: Error {}
        let process = ServiceProcess(
            Composition(parts: [Part("broken", run: { throw Broken() })]),
            registry: PrometheusRegistry(service: "test"),
            ops: ListenAddress(host: "127.0.0.1", port: 0), logger: self.quiet)
        await #expect(throws: Broken.self) { try await process.run() }
    }

    @Test func aPartThatEndsByItselfEndsTheProcess() async throws {
        let process = ServiceProcess(
            Composition(parts: [Part("short", run: {})]), registry: PrometheusRegistry(service: "test"),
            ops: ListenAddress(host: "127.0.0.1", port: 0), logger: self.quiet)
        await #expect(throws: (any Error).self) { try await process.run() }
    }
}
