import CSQLite
import SQLite
import Testing

/// Random statements: a sealed database answers as a plain one does.
@Suite(.timeLimit(.minutes(20))) struct SameAnswersTests {
    /// Two connections to one database. A transaction of one keeps the other from writing.
    private struct Pair {
        let sealed: [DatabaseQueue]
        let plain: [DatabaseQueue]

        init(_ folder: SealedFolder, pragmas: String) throws {
            self.sealed = try (0..<2).map { _ in try folder.open(pragmas: pragmas) }
            self.plain = try (0..<2).map { _ in
                try SealedFolder.open("\(folder.path)/plain.db", pragmas: pragmas)
            }
        }

        func answers(_ connection: Int, _ sql: String) -> (sealed: String, plain: String) {
            (self.sealed[connection].answer(sql), self.plain[connection].answer(sql))
        }
    }

    private static let setup = [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)", "CREATE INDEX i ON t (b)",
        "CREATE VIRTUAL TABLE f USING fts5 (x)",
    ]

    private static func change(_ numbers: inout SeededNumbers) -> String {
        switch numbers.below(10) {
        case 0..<4:
            "INSERT INTO t (b, c) VALUES (\(numbers.below(1_000)), hex(zeroblob(\(numbers.below(9_000)))))"
        case 4: "UPDATE t SET c = c || 'x', b = b + 1 WHERE b % \(1 + numbers.below(20)) = 0"
        case 5: "UPDATE t SET c = substr(c, 1, 100)"
        case 6, 7: "DELETE FROM t WHERE b % \(2 + numbers.below(30)) = \(numbers.below(3))"
        case 8: "INSERT INTO f SELECT 'word' || b || ' ' || a FROM t LIMIT 50"
        default: "DELETE FROM f WHERE rowid % 3 = \(numbers.below(3))"
        }
    }

    private static func question(_ numbers: inout SeededNumbers) -> String {
        switch numbers.below(5) {
        case 0: "SELECT count(*), sum(length(c)), sum(b) FROM t WHERE b < \(numbers.below(1_000))"
        case 1: "SELECT rowid FROM f WHERE f MATCH 'word\(numbers.below(1_000))' ORDER BY rowid"
        case 2: "PRAGMA integrity_check"
        case 3: "SELECT a, b, substr(c, -20) FROM t ORDER BY length(c), a LIMIT 40"
        default: "PRAGMA page_count"
        }
    }

    private static func upkeep(_ numbers: inout SeededNumbers) -> String {
        switch numbers.below(8) {
        case 0: "VACUUM"
        case 1: "PRAGMA incremental_vacuum"
        case let number:
            "PRAGMA wal_checkpoint(\(["PASSIVE", "FULL", "RESTART", "TRUNCATE"][number % 4]))"
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aSealedDatabaseAnswersAsAPlainOne(seed: UInt64) throws {
        let folder = try SealedFolder()
        // Few pages in memory: transactions write pages into the WAL, and write them again.
        let pragmas =
            "PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 50; PRAGMA journal_size_limit = 100000;"
            + "PRAGMA auto_vacuum = \(seed % 3)"
        var pair = try Pair(folder, pragmas: pragmas)
        for sql in Self.setup { #expect(pair.answers(0, sql) == ("", "")) }
        var numbers = SeededNumbers(seed)
        var writer: Int?
        for step in 0..<1_200 {
            let connection = writer ?? numbers.below(2)
            var statements: [String]
            switch numbers.below(20) {
            case 0..<10: statements = [Self.change(&numbers)]
            case 10..<14: statements = [Self.question(&numbers)]
            case 14 where writer == nil:
                statements = ["BEGIN IMMEDIATE"]
                writer = connection
            case 14,
                15 where writer != nil:
                statements = [numbers.below(3) == 0 ? "ROLLBACK" : "COMMIT"]
                writer = nil
            case 16 where writer != nil:
                // Its journal outgrows what SQLite itself keeps in memory.
                statements = ["SAVEPOINT s", "UPDATE t SET c = c || 'zz'", "ROLLBACK TO s", "RELEASE s"]
            case 17, 18: statements = writer == nil ? [Self.upkeep(&numbers)] : []
            case 19 where writer == nil && numbers.below(4) == 0:
                pair = try Pair(folder, pragmas: pragmas)
                statements = []
            default: statements = []
            }
            for sql in statements {
                let (sealed, plain) = pair.answers(connection, sql)
                #expect(sealed == plain, "step \(step): \(sql)")
                if sealed != plain { return }
            }
        }
        if let writer { #expect(pair.answers(writer, "COMMIT") == ("", "")) }
        for sql in ["SELECT * FROM t", "SELECT * FROM f", "PRAGMA integrity_check"] {
            let (sealed, plain) = pair.answers(0, sql)
            #expect(sealed == plain && !sealed.hasPrefix("error"), "\(sql)")
        }
    }

    /// Each change of one connection is what the other reads next, before and after checkpoints.
    @Test func connectionsSeeEachOther() throws {
        let folder = try SealedFolder()
        let queues = try (0..<3).map { _ in try folder.open(pragmas: "PRAGMA wal_autocheckpoint = 5") }
        try queues[0].run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        for number in 1...120 {
            let filling = String(repeating: "\(number) ", count: number * 17)
            try queues[number % 3].run("INSERT INTO t VALUES (\(number), '\(filling)')")
            for queue in queues {
                #expect(
                    queue.answer("SELECT count(*), max(a), sum(length(b)) FROM t")
                        == queues[number % 3].answer("SELECT count(*), max(a), sum(length(b)) FROM t"))
                #expect(queue.answer("SELECT b FROM t WHERE a = \(number)") == "\"\(filling)\"")
            }
        }
    }

    /// Outside WAL mode SQLite leaves out pages that are free when their transaction ends, and reads them all for a copy.
    @Test(arguments: ["DELETE FROM t", "DELETE FROM t WHERE a < 250"]) func pagesThatWereNeverWrittenAreRead(
        deletion: String
    ) throws {
        let folder = try SealedFolder()
        let queue = try DatabaseQueue(path: folder.uri()) { try $0.execute(sql: "PRAGMA secure_delete = OFF") }
        try queue.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        try queue.run("BEGIN")
        for number in 0..<251 { try queue.run("INSERT INTO t VALUES (\(number), hex(zeroblob(1500)))") }
        try queue.run(deletion + "; COMMIT")
        let pages = Int(queue.answer("PRAGMA page_count"))!
        try #require(pages > 200)
        #expect(queue.answer("PRAGMA journal_mode = WAL") == "\"wal\"")
        let copy = try DatabaseQueue()
        try queue.unsafeRead { from in
            try copy.unsafeRead { to in
                let backup = sqlite3_backup_init(try to.handle, "main", try from.handle, "main")
                #expect(sqlite3_backup_step(backup, -1) == SQLITE_DONE)
                #expect(sqlite3_backup_finish(backup) == SQLITE_OK)
            }
        }
        #expect(copy.answer("SELECT * FROM t") == queue.answer("SELECT * FROM t"))
        #expect(queue.answer("PRAGMA integrity_check") == "\"ok\"")
        #expect((folder.bytes(folder.file).count - 128) / 4_136 == pages)
    }

    /// A copy under another key, as rekeying makes it.
    @Test func vacuumIntoMakesASealedCopy() throws {
        let (folder, other) = (try SealedFolder(), try SealedFolder(keyByte: 9))
        let queue = try folder.open()
        try queue.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        for number in 1...50 { try queue.run("INSERT INTO t VALUES (\(number), hex(zeroblob(\(number * 50))))") }
        try queue.run("VACUUM INTO '\(other.uri())'")
        let copy = try other.open()
        #expect(copy.answer("SELECT * FROM t") == queue.answer("SELECT * FROM t"))
        #expect(copy.answer("PRAGMA integrity_check") == "\"ok\"")
        #expect(copy.answer("PRAGMA journal_mode") == "\"wal\"")
        #expect(throws: DatabaseError.self) { try folder.open(other.file) }
    }
}
