import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// By a key of its own each process sees that Redis has lost everything. A key that ends by itself would say so too: every
    /// hour everybody who is away and has mail would be woken again.
    @Suite struct Canaries {
        @Test func theyLiveAsLongAsSomebodyLooks() async throws {
            var keys: [String] = []
            try await waitUntil("gateways, routers and calls have written their keys", within: .seconds(60)) {
                keys = try #require(
                    try await self.ask("EVAL \"return table.concat(redis.call('KEYS','canary:*'),' ')\" 0", lines: 2)
                )
                .split(separator: " ").map(String.init)
                return keys.count >= 5
            }
            for key in keys { #expect(try await self.ask("PEXPIRE \(key) \(Self.short)") == ":1") }
            for key in keys {
                try await waitUntil("\(key) lives longer", within: .seconds(60), every: .milliseconds(100)) {
                    let life = try #require(try await self.ask("PTTL \(key)")?.dropFirst())
                    return try #require(Int(life)) > Self.short
                }
            }
        }

        /// Milliseconds. Longer than this test waits.
        private static let short = 120_000

        /// - Returns: the last line of the answer.
        private func ask(_ command: String, lines: Int = 1) async throws -> String? {
            await Cluster.stack.redis.answer(to: command + "\r\n", lines: lines)?.split(separator: "\r\n").last.map(
                String.init)
        }
    }
}
