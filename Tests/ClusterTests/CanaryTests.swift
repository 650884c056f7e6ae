import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// By a key of its own each process sees that Redis has lost everything. A key that ends by itself would say so too: every
    /// hour everybody who is away and has mail would be woken again.
    @Suite struct Canaries {
        @Test func theyLiveAsLongAsSomebodyLooks() async throws {
            let keys = try #require(
                try await self.ask("EVAL \"return table.concat(redis.call('KEYS','canary:*'),' ')\" 0", lines: 2)
            )
            .split(separator: " ").map(String.init)
            // Gateways, routers and calls.
            #expect(keys.count >= 5)
            for key in keys { #expect(try await self.ask("PEXPIRE \(key) \(Self.short)") == ":1") }
            for key in keys {
                try await waitUntil("\(key) lives longer", within: .seconds(20), every: .milliseconds(100)) {
                    let life = try #require(try await self.ask("PTTL \(key)")?.dropFirst())
                    return try #require(Int(life)) > Self.short
                }
            }
        }

        /// Milliseconds. Longer than this test waits.
        private static let short = 60_000

        /// - Returns: the last line of the answer.
        private func ask(_ command: String, lines: Int = 1) async throws -> String? {
            await Cluster.stack.redis.answer(to: command + "\r\n", lines: lines)?.split(separator: "\r\n").last.map(
                String.init)
        }
    }
}
