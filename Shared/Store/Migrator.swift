package import Logging

/// One step of a schema, as it stands in a file of its owner's `Migrations` folder.
package struct Migration: Sendable {
    /// Steps are applied in ascending order. Never given to another step.
    package let version: Int32
    package let name: String
    /// UTF-8, without BEGIN and COMMIT.
    package let sql: [UInt8]

    package init(version: Int32, name: String, sql: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = sql
    }
}

package enum MigrationError: Error, Equatable {
    /// Two steps have the same version. Nothing was changed.
    case repeated(version: Int32)
    /// A step that has been applied reads differently now. Nothing was changed: write a new step instead.
    case changed(version: Int32)
    /// The step did not apply; those before it did. Running again goes on from here.
    case failed(version: Int32, StoreError)
    /// The database could not be reached or prepared.
    case store(StoreError)
}

/// Brings one schema to the state that this release needs, and keeps book in `<schema>.migrations`.
/// Running it again, or in several processes at once, is harmless.
package struct Migrator: Sendable {
    private let schema: String
    private let migrations: [Migration]

    /// - Parameter schema: the owner's schema, made if it does not exist; a plain lower-case name.
    package init(schema: StaticString, migrations: [Migration]) {
        self.schema = schema.description
        precondition(
            self.schema.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "_")
            })
        self.migrations = migrations.sorted { $0.version < $1.version }
    }

    /// Applies what is missing, each step in a transaction of its own, without a time limit.
    /// - Returns: the versions applied by this run.
    @discardableResult
    package func run(
        _ configuration: PostgresConfiguration, logger: Logger
    ) async throws(MigrationError) -> [Int32] {
        for (step, next) in zip(self.migrations, self.migrations.dropFirst()) where step.version == next.version {
            throw .repeated(version: step.version)
        }
        var configuration = configuration
        configuration.statementTimeout = .zero
        let connection = PostgresConnection(configuration, logger: logger)
        do {
            try await connection.connect()
            try await self.prepare(connection)
        } catch {
            throw .store(error)
        }
        var applied: [Int32] = []
        for migration in self.migrations {
            let outcome: Outcome
            do {
                outcome = try await self.apply(migration, on: connection)
            } catch {
                throw .failed(version: migration.version, error)
            }
            switch outcome {
            case .applied: applied.append(migration.version)
            case .alreadyThere: break
            case .changed: throw .changed(version: migration.version)
            }
        }
        await connection.close()
        return applied
    }

    private enum Outcome { case applied, alreadyThere, changed }

    /// An owner that may not create schemas finds its own made by somebody who may.
    private func prepare(_ connection: PostgresConnection) async throws(StoreError) {
        try await connection.transaction { transaction throws(StoreError) in
            try await self.lock(transaction)
            let exists = try await transaction.query("SELECT to_regnamespace(\(self.schema)) IS NOT NULL")
            if try exists[0].decode(0, as: Bool.self) == false {
                try await transaction.script("CREATE SCHEMA \(self.schema)")
            }
            try await transaction.script(
                """
                CREATE TABLE IF NOT EXISTS \(self.schema).migrations (
                    version int4 PRIMARY KEY,
                    name text NOT NULL,
                    checksum bytea NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now())
                """)
        }
    }

    private func apply(_ migration: Migration, on connection: PostgresConnection) async throws(StoreError) -> Outcome {
        try await connection.transaction { transaction throws(StoreError) in
            try await self.lock(transaction)
            // The book has no schema in its name below, so that the text of each statement is constant.
            try await transaction.execute("SELECT set_config('search_path', \(self.schema), true)")
            let known = try await transaction.query(
                "SELECT checksum = sha256(\(migration.sql)) FROM migrations WHERE version = \(migration.version)")
            if let row = known.first {
                return try row.decode(0, as: Bool.self) ? .alreadyThere : .changed
            }
            try await transaction.script(
                "SET LOCAL search_path TO DEFAULT;\n" + String(decoding: migration.sql, as: UTF8.self))
            try await transaction.execute("SELECT set_config('search_path', \(self.schema), true)")
            try await transaction.execute(
                """
                INSERT INTO migrations (version, name, checksum)
                VALUES (\(migration.version), \(migration.name), sha256(\(migration.sql)))
                """)
            return .applied
        }
    }

    /// One migrator per schema at a time, until the end of the transaction.
    private func lock(_ transaction: borrowing Transaction) async throws(StoreError) {
        let name = "migrations of \(self.schema)"
        try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended(\(name), 0))")
    }
}
