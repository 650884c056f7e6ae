package import Logging
package import Store
import Telemetry

/// Counts what all identities without a peer keep (contract §13b), for the statements that store to judge by, and for operators.
/// A count may take seconds where many keep lines. So it has nothing to do with the connection that commits.
package struct StrangerCount: Sendable {
    private let pool: PostgresPool
    private let bytesMax: Int
    private let meters: [StrangerStore: StrangerMeter] = [
        .lines: StrangerMeter(.lines), .shares: StrangerMeter(.shares),
    ]
    private let logger: Logger

    package init(pool: PostgresPool, bounds: KeptBounds, logger: Logger) {
        self.pool = pool
        self.bytesMax = bounds.strangersBytesMax
        self.logger = logger
    }

    /// Counts until its task is cancelled. After a count that fails the one before stands.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                _ = try await self.pool.query(StrangerBytesTable.count(max: self.bytesMax))
                for (store, bytes) in try await self.pool.query(StrangerBytesTable.read()) {
                    self.meters[store]?.set(bytes, of: self.bytesMax)
                }
            } catch {
                self.logger.warning("what strangers keep was not counted", [.error: "\(error)"])
            }
            try? await Task.sleep(for: ConversationLimits.strangersCountedEvery)
        }
    }
}
