import Foundation
import LocalStack
import Store
import Testing

/// TLS to Postgres is libpq's, asked for in the conninfo string: `sslmode` and `sslrootcert`.
@Suite struct TLSTests {
    private func withSecurePostgres(
        named name: String,
        _ body: (_ server: PostgresServer, _ authority: String, _ stranger: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder(named: "postgres-tls")
        defer { folder.remove() }
        let authority = try await CertificateAuthority(named: "authority", in: folder.path)
        let stranger = try await CertificateAuthority(named: "stranger", in: folder.path)
        let own = try await authority.certificate(for: name)
        try await withPostgres { server in
            // The server reads its key as the user it runs as, and wants it for itself alone.
            let files = FileManager.default
            let owner = try #require(files.attributesOfItem(atPath: server.folder)[.ownerAccountID] as? NSNumber)
            for (from, to) in [(own.certificate, "server.crt"), (own.key, "server.key")] {
                let target = "\(server.folder)/\(to)"
                try files.copyItem(atPath: from, toPath: target)
                try files.setAttributes([.posixPermissions: 0o600, .ownerAccountID: owner], ofItemAtPath: target)
            }
            try await server.run("ALTER SYSTEM SET ssl = on")
            try await server.run("SELECT pg_reload_conf()")
            try await waitUntil("the server speaks TLS", within: .seconds(10)) {
                try await server.run("SHOW ssl") == "on"
            }
            try await body(server, authority.file, stranger.file)
        }
    }

    private func configuration(_ server: PostgresServer, authority: String) -> PostgresConfiguration {
        PostgresConfiguration(
            url:
                "host=127.0.0.1 port=\(server.port) dbname=postgres user=postgres sslmode=verify-full sslrootcert=\(authority)",
            applicationName: "store-tests")
    }

    @Test func aSessionIsEncrypted() async throws {
        try await self.withSecurePostgres(named: "IP:127.0.0.1") { server, authority, _ in
            let connection = PostgresConnection(self.configuration(server, authority: authority), logger: quiet)
            try await connection.connect()
            let rows = try await connection.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            #expect(try rows[0].decode(0, as: Bool.self))
            await connection.close()
        }
    }

    @Test func aServerOfAnotherAuthorityOrNameIsNotBelieved() async throws {
        for (name, trusted) in [("IP:127.0.0.1", false), ("DNS:elsewhere", true)] {
            try await self.withSecurePostgres(named: name) { server, authority, stranger in
                let connection = PostgresConnection(
                    self.configuration(server, authority: trusted ? authority : stranger), logger: quiet)
                await #expect(throws: StoreError.unavailable) { try await connection.connect() }
                await connection.close()
            }
        }
    }
}
