import LocalStack
import TestKit

extension Cluster {
    /// What the body has said to routers waits in Redis when it ends, and no router has read it.
    static func whileRoutersStandStill(_ body: () async throws -> Void) async throws {
        let stack = Cluster.stack
        for number in [1, 2] { await stack.signal(.router(number), .pause) }
        // Their last look for Jobs must be over, or they would have in their hands what comes.
        try await waitUntil("no router waits in Redis", within: .seconds(30)) {
            let clients = try await Command("/usr/bin/redis-cli", ["-p", "\(stack.ports.redis)", "CLIENT", "LIST"])
                .output(name: "redis-cli")
            return !clients.split(separator: "\n").contains { $0.contains(" flags=b ") && $0.contains(" cmd=xread ") }
        }
        try await body()
        for number in [1, 2] { await stack.signal(.router(number), .resume) }
    }

    /// How much stands in a stream.
    static func depth(of stream: String) async throws -> String? {
        await Cluster.stack.redis.answer(to: "XLEN \(stream)\r\n", lines: 1)
    }
}
