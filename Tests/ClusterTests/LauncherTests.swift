import Foundation
import LocalStack
import Testing

/// Promises on which everything else that starts servers relies.
@Suite struct LauncherTests {
    @Test func postgresIsDurableAndKeepsItsRowsOverAKill() async throws {
        let server = try await PostgresServer.temporary()
        #expect(
            try await server.run("SELECT current_setting('fsync'), current_setting('synchronous_commit')") == "on|on")
        try await server.run("CREATE TABLE kept (id int)")
        try await server.run("INSERT INTO kept VALUES (7)")
        let first = await server.child?.pid
        try await server.restart()
        #expect(await server.child?.pid != first)
        #expect(try await server.run("SELECT id FROM kept") == "7")
        await server.stop()
        #expect(LoopbackPort.isFree(server.port))
        #expect(!FileManager.default.fileExists(atPath: server.folder))
    }

    @Test func postgresStartsAgainAfterSomebodyElseKilledIt() async throws {
        let server = try await PostgresServer.temporary()
        let child = try #require(await server.child)
        child.signal(.kill)
        #expect(await child.end() == .signalled(9))
        try await server.start()
        #expect(try await server.run("SELECT 1") == "1")
        await server.stop()
    }

    @Test func redisComesBackEmptyOnItsPort() async throws {
        let server = try await RedisServer.temporary()
        #expect(try await redis(server, "SET", "a", "b") == "OK")
        try await server.restart()
        #expect(try await redis(server, "EXISTS", "a") == "0")
        #expect(try await redis(server, "SET", "a", "b") == "OK")
        try await server.flush()
        #expect(try await redis(server, "EXISTS", "a") == "0")
        await server.stop()
        #expect(LoopbackPort.isFree(server.port))
    }

    private func redis(_ server: RedisServer, _ words: String...) async throws -> String {
        try await Command("/usr/bin/redis-cli", ["-p", "\(server.port)"] + words).output(name: "redis-cli")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func aPortIsGivenOutOnce() {
        let ports = (0..<200).map { _ in LoopbackPort.free() }
        #expect(Set(ports).count == ports.count)
    }

    @Test func aChildThatIgnoresSIGTERMIsKilledAfterTheTimeout() async throws {
        let folder = try TemporaryFolder(named: "deaf")
        defer { folder.remove() }
        let log = folder.path + "/log"
        let deaf = Command("/bin/sh", ["-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], log: log)
        let child = try await ChildProcess.start(deaf, name: "deaf")
        try await waitUntil("it is deaf", within: .seconds(10)) {
            (try? String(contentsOfFile: log, encoding: .utf8)) == "deaf\n"
        }
        #expect(await child.stop(timeout: .milliseconds(50)) == .signalled(9))
    }

    @Test func stoppingTakesItsTimeInACancelledTask() async throws {
        let folder = try TemporaryFolder(named: "slow")
        defer { folder.remove() }
        let log = folder.path + "/log"
        let slow = Command(
            "/bin/sh", ["-c", "trap 'sleep 0.2; exit 3' TERM; echo ready; while :; do sleep 0.01; done"], log: log)
        let child = try await ChildProcess.start(slow, name: "slow")
        try await waitUntil("it is ready", within: .seconds(10)) {
            (try? String(contentsOfFile: log, encoding: .utf8)) == "ready\n"
        }
        // A task that cancels itself, to be cancelled for certain when it stops the child.
        let status = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await child.stop()
        }.value
        #expect(status == .exited(3))
    }

    @Test func aFailureCarriesTheEndOfTheLog() async throws {
        let folder = try TemporaryFolder(named: "failing")
        defer { folder.remove() }
        let log = folder.path + "/log"
        await #expect(throws: LaunchError.ended(name: "failing", status: .exited(2), log: "the reason")) {
            try await Command("/bin/sh", ["-c", "echo the reason; exit 2"], log: log).run(name: "failing")
        }
        await #expect(throws: LaunchError.missing(program: "/nowhere/program")) {
            try await Command("/nowhere/program").run(name: "missing")
        }
    }

    @Test func theBalancerAnswersInTheContractsWordsWhileNoServiceRuns() async throws {
        let folder = try TemporaryFolder(named: "balancer")
        let ports = StackPorts(StackConfiguration())
        let balancer = HAProxyServer(folder: folder.path, ports: ports, log: folder.path + "/haproxy.log")
        try await balancer.start()
        let answers: [(port: Int, path: String, status: Int, code: String)] = [
            (ports.public, "/ws", 503, "INTERNAL_ERROR"),
            (ports.public, "/users/WSP-2/keys", 503, "INTERNAL_ERROR"),
            (ports.public, "/metrics", 404, "NOT_FOUND"),
            (ports.public, "/admin/stats", 404, "NOT_FOUND"),
            (ports.ops, "/ready", 503, "INTERNAL_ERROR"),
            (ports.ops, "/ops/gateway/1/metrics", 503, "INTERNAL_ERROR"),
            (ports.ops, "/ops/gateway/3/metrics", 404, "NOT_FOUND"),
            (ports.ops, "/ops/gateway/1/secrets", 404, "NOT_FOUND"),
        ]
        // Servers count as up until the first check has failed.
        try await waitUntil("the balancer has looked", within: .seconds(20)) {
            await LoopbackRequest.get("/ready", port: ports.ops)?.status == 503
        }
        for (port, path, status, code) in answers {
            let answer = try #require(await LoopbackRequest.get(path, port: port), "\(path)")
            #expect(answer.status == status, "\(path)")
            #expect(answer.body.contains(#""error":"\#(code)""#), "\(path): \(answer.body)")
        }
        #expect(await LoopbackRequest.get("/health", port: ports.ops)?.status == 200)
        #expect(await LoopbackRequest.get("/metrics", port: ports.ops)?.body.contains("haproxy_process_") == true)
        await balancer.stop()
        #expect(LoopbackPort.isFree(ports.public))
        folder.remove()
    }
}
