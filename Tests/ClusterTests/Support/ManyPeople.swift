import TestKit

extension Cluster {
    /// How many at a time: others use the cluster too.
    private static let atOnce = 8

    /// So many people who have just logged in, through both gateways.
    static func phones(_ count: Int) async throws -> [Phone] {
        try await self.each(of: Array(0..<count)) { number in try await Cluster.phone(gateway: 1 + number % 2) }
    }

    /// Runs `body` for each item, a few at a time. The outcomes are in no order.
    @discardableResult
    static func each<Item: Sendable, Outcome: Sendable>(
        of items: [Item], _ body: @escaping @Sendable (Item) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            var outcomes: [Outcome] = []
            for (number, item) in items.enumerated() {
                if number >= Self.atOnce, let outcome = try await group.next() { outcomes.append(outcome) }
                group.addTask { try await body(item) }
            }
            for try await outcome in group { outcomes.append(outcome) }
            return outcomes
        }
    }
}
