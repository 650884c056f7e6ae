import LocalStack
import Logging
import Store

let quiet = Logger(label: "store-tests", factory: { _ in SwiftLogNoOpLogHandler() })

extension TestDatabase {
    var configuration: PostgresConfiguration {
        PostgresConfiguration(
            url: self.url(), applicationName: "store-tests", statementTimeout: .seconds(20),
            sessionSettings: ["plan_cache_mode": "force_generic_plan"])
    }

    func connected() async throws(StoreError) -> PostgresConnection {
        let connection = PostgresConnection(self.configuration, logger: quiet)
        try await connection.connect()
        return connection
    }
}

/// Runs a test against a database of its own.
/// - Parameter alone: in a server of its own, which may be killed.
func withDatabase(alone: Bool = false, _ body: (TestDatabase) async throws -> Void) async throws {
    try await TestDatabase.with("store", alone: alone, body)
}

/// Runs a test against a server of its own.
func withPostgres(_ body: (PostgresServer) async throws -> Void) async throws {
    let server = try await PostgresServer.temporary()
    do {
        try await body(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}

/// The error that `body` throws; nil if it returns.
func failure(_ body: @Sendable () async throws(StoreError) -> Void) async -> StoreError? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}
