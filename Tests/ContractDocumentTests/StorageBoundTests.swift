import Foundation
import Testing

/// `docs/storage-bounds.md` is written by hand; the tables that it must speak of are known.
@Suite struct StorageBoundTests {
    private static let page = "docs/storage-bounds.md"

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Folder.root.appending(path: path), encoding: .utf8)
    }

    /// The tables that the services' migrations create. Partitions are rows of their table.
    static func tables(in migration: String) -> [String] {
        let code = migration.replacing(#/--[^\n]*/#, with: "")
        return code.matches(
            of: #/CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?([a-z_]+\.[a-z_0-9]+)(?!\S)(?!\s+PARTITION OF)/#
        )
        .map { String($0.1) }
    }

    /// Cells of the rows whose first one is code, by what stands there.
    static func rows(of page: String) -> [String: [String]] {
        var rows: [String: [String]] = [:]
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            for name in cells[0].matches(of: #/`([a-z_]+\.[a-z_0-9]+)`/#) {
                rows[String(name.1)] = Array(cells.dropFirst())
            }
        }
        return rows
    }

    @Test func everyTableHasARow() throws {
        let files = try #require(FileManager.default.enumerator(atPath: Folder.root.appending(path: "Services").path()))
            .compactMap { $0 as? String }.filter { $0.contains("/Migrations/") && $0.hasSuffix(".sql") }
        let tables = Set(try files.flatMap { Self.tables(in: try Self.text("Services/\($0)")) })
        try #require(tables.count >= 40 && tables.contains("calls.room_misses"))
        let rows = Self.rows(of: try Self.text(Self.page))
        for table in tables.sorted() {
            guard let cells = rows[table] else {
                Issue.record("\(Self.page) does not say how much of \(table) somebody can fill")
                continue
            }
            #expect(cells.count == 5 && !cells.contains(""), "\(table): an empty cell, or one too few")
        }
    }

    /// A test that a row names is there. A bound that nothing tests says so.
    @Test func theTestsAreThere() throws {
        let files = try #require(FileManager.default.enumerator(atPath: Folder.root.appending(path: "Tests").path()))
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
        let sources = try files.map { try Self.text("Tests/\($0)") }.joined()
        let page = try Self.text(Self.page)
        let named = page.matches(of: #/`([A-Za-z]+Tests|[A-Z][A-Za-z]*)\.([a-z][A-Za-z0-9]+)`/#)
        try #require(named.count >= 30)
        for name in named where name.1.hasSuffix("Tests") {
            #expect(sources.contains("func \(name.2)("), "\(Self.page): there is no test \(name.1).\(name.2)")
        }
    }

    @Test func tablesAreFound() {
        let found = Self.tables(
            in: """
                -- CREATE TABLE auth.old (
                CREATE TABLE auth.first (
                    id uuid
                );
                CREATE UNLOGGED TABLE calls.second (
                CREATE TABLE router.part PARTITION OF router.whole (PRIMARY KEY (id))
                EXECUTE format('CREATE TABLE %s (LIKE router.whole)');
                """)
        #expect(found == ["auth.first", "calls.second"])
    }
}
