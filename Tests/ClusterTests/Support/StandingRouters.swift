import LocalStack
import TestKit

extension Cluster {
    /// Jobs that `body` sends to routers are unread in Redis when it ends.
    static func whileRoutersStandStill(_ body: () async throws -> Void) async throws {
        let stack = Cluster.stack
        for number in [1, 2] { await stack.signal(.router(number), .pause) }
        let result: Result<Void, any Error>
        do {
            // Their last look for Jobs must be over, or they would have in their hands what comes.
            try await waitUntil("no router waits in Redis", within: .seconds(30)) {
                let clients = try await Command("/usr/bin/redis-cli", ["-p", "\(stack.ports.redis)", "CLIENT", "LIST"])
                    .output(name: "redis-cli")
                // Calls processes read their shares with XREAD too, so the login tells whose wait it is.
                return !clients.split(separator: "\n").contains {
                    $0.contains(" flags=b ") && $0.contains(" cmd=xread ") && $0.contains(" user=router ")
                }
            }
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        for number in [1, 2] { await stack.signal(.router(number), .resume) }
        try result.get()
    }

    /// The answer of Redis to a command that has a number for an answer.
    static func redis(_ command: String) async throws -> Int? {
        let answer = await Cluster.stack.redis.answer(to: command + "\r\n", lines: 1)
        return answer?.split(separator: "\r\n").first.flatMap { Int($0.dropFirst()) }
    }
}
