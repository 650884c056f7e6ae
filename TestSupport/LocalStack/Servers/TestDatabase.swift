/// A database for one test. All of a process stand in one server, and share nothing but its roles.
package struct TestDatabase: Sendable {
    private let name: String
    private let host: PostgresServer
    private let isAlone: Bool

    /// The server of a test that asked for one of its own: it may be killed, frozen, given a standby or other settings.
    package var server: PostgresServer {
        precondition(self.isAlone, "other tests use this server")
        return self.host
    }

    package func url(user: String = "postgres") -> String { self.host.url(database: self.name, user: user) }

    /// As `PostgresServer.run`.
    @discardableResult
    package func run(_ sql: String) async throws -> String { try await self.host.run(sql, database: self.name) }

    /// Gives `body` a database that nobody has used, and drops it afterwards.
    /// - Parameters:
    ///   - template: names what `prepare` makes. The first of a name prepares; the others get copies.
    ///   - alone: in a server of its own, which has its settings and crashes for itself.
    package static func with(
        _ template: String, alone: Bool = false,
        prepare: @escaping @Sendable (TestDatabase) async throws -> Void = { _ in },
        _ body: (TestDatabase) async throws -> Void
    ) async throws {
        let database =
            if alone {
                TestDatabase(name: "postgres", host: try await .temporary(), isAlone: true)
            } else {
                try await Shared.instance.copy(of: template, prepare)
            }
        do {
            if alone { try await prepare(database) }
            try await body(database)
        } catch {
            try? await database.drop()
            throw error
        }
        try await database.drop()
    }

    private func drop() async throws {
        if self.isAlone { return await self.host.stop() }
        try await self.host.run("DROP DATABASE \(self.name) WITH (FORCE)")
    }

    /// The one server, and what databases are copied from.
    private actor Shared {
        static let instance = Shared()

        /// Fifty tests at a time with twenty connections each. `make test` runs six.
        private static let connectionsMax = 1_000

        /// Tasks without a parent: the first test that needs a thing begins it, and it is not that test's alone.
        private let server = Task {
            try await PostgresServer.forThisProcess(settings: [
                // Only a machine that loses its power shows the difference. Each new database would be some 300 files to sync.
                "fsync=off",
                "max_connections=\(connectionsMax)",
                // It begins a minute after a server does, and no test shall depend on when that was.
                "autovacuum=off",
            ])
        }
        private var templates: [String: Task<Void, any Error>] = [:]
        private var newest: Task<Void, any Error>?
        private var copies = 0

        func copy(
            of template: String, _ prepare: @escaping @Sendable (TestDatabase) async throws -> Void
        ) async throws -> TestDatabase {
            let host = try await self.server.value
            try await self.template(template, in: host, prepare)
            self.copies += 1
            let name = "\(template)_\(self.copies)"
            // The other strategy writes each page into the log of transactions, which costs ten times as much.
            try await host.run("CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY file_copy")
            return TestDatabase(name: name, host: host, isAlone: false)
        }

        /// Templates are prepared one after the other, because two that change one role at once disturb each other.
        private func template(
            _ name: String, in host: PostgresServer, _ prepare: @escaping @Sendable (TestDatabase) async throws -> Void
        ) async throws {
            if let made = self.templates[name] { return try await made.value }
            let making = Task { [newest] in
                _ = await newest?.result
                try await host.run("CREATE DATABASE \(name) STRATEGY file_copy")
                try await prepare(TestDatabase(name: name, host: host, isAlone: false))
                // One with a connection cannot be copied.
                try await host.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
            }
            self.templates[name] = making
            self.newest = making
            try await making.value
        }
    }
}
