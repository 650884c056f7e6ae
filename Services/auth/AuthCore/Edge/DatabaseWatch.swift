import Contract
import Logging
import Store
import Telemetry

/// Measures how large the database of the whole cluster is, for those who watch it. Postgres adds up the sizes of its files for
/// that, and reads none.
struct DatabaseWatch: Sendable {
    private let pool: PostgresPool
    private let metrics: AuthMetrics
    private let logger: Logger

    /// - Parameter bytesMax: the room that it has.
    init(_ pool: PostgresPool, bytesMax: Int64, metrics: AuthMetrics, logger: Logger) {
        self.pool = pool
        self.metrics = metrics
        self.logger = logger
        metrics.databaseBytesMax.set(bytesMax)
    }

    /// Measures until its task is cancelled. While Postgres is away the last size stays.
    func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                let rows = try await self.pool.query("SELECT pg_database_size(current_database())")
                self.metrics.databaseBytes.set(try rows[0].decode(0, as: Int64.self))
            } catch {
                self.logger.warning("database not measured", [.error: "\(error)"])
            }
            try? await Task.sleep(for: AuthLimits.databaseLookEvery)
        }
    }
}
