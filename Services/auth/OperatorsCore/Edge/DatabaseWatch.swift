import Contract
import Logging
import Store
import Telemetry

/// Measures the size of the cluster's database, for the alert and the console. Postgres adds up file sizes and reads no file.
struct DatabaseWatch: Sendable {
    private let pool: PostgresPool
    private let metrics: OperatorMetrics
    private let logger: Logger

    /// - Parameter bytesMax: room for the database, in bytes.
    init(_ pool: PostgresPool, bytesMax: Int64, metrics: OperatorMetrics = OperatorMetrics(), logger: Logger) {
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
            try? await Task.sleep(for: OperatorsLimits.databaseMeasureEvery)
        }
    }
}
