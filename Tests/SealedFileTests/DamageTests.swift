import CSealedFile
import Foundation
import SQLite
import Testing

/// Files on the disk, and the result of damage to them.
@Suite(.timeLimit(.minutes(20))) struct DamageTests {
    private static let preamble = Int(SEALED_FILE_PREAMBLE_BYTES)
    private static let mainRecord = 4_136
    private static let walHeader = 72
    private static let walRecord = 4_160

    /// A main file and a WAL with several commits, as a crash leaves them.
    private struct Left {
        let folder: SealedFolder
        let main: [UInt8]
        let wal: [UInt8]
        /// A reader's view after each commit, from the checkpoint on.
        let states: [String]
        /// The writer, whose end would empty the WAL.
        let writer: DatabaseQueue
    }

    private static let dump = "SELECT a, b FROM t UNION ALL SELECT -a, b FROM u"

    private func left() throws -> Left {
        let folder = try SealedFolder()
        let writer = try folder.open(pragmas: "PRAGMA wal_autocheckpoint = 0")
        try writer.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE TABLE u (a INTEGER PRIMARY KEY, b TEXT)")
        for number in 1...6 { try writer.run(self.insert(number, into: "t")) }
        _ = writer.answer("PRAGMA wal_checkpoint(TRUNCATE)")
        var states = [writer.answer(Self.dump)]
        for number in 7...12 {
            try writer.run(self.insert(number, into: number % 2 == 0 ? "t" : "u"))
            states.append(writer.answer(Self.dump))
            guard number == 9 else { continue }
            try writer.run("DELETE FROM t WHERE a < 3")
            states.append(writer.answer(Self.dump))
        }
        try #require(Set(states).count == states.count)
        return Left(
            folder: folder, main: folder.bytes(folder.file), wal: folder.bytes(folder.wal), states: states,
            writer: writer)
    }

    /// A row that fills more than one page.
    private func insert(_ number: Int, into table: String) -> String {
        "INSERT INTO \(table) VALUES (\(number), '\(String(repeating: "row \(number) ", count: 900))')"
    }

    /// Rows that a new process reads of main file and WAL.
    private func reading(_ left: Left, main: [UInt8]? = nil, wal: [UInt8]? = nil) throws -> String {
        let file = left.folder.path + "/copy.db"
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) }
        try left.folder.write(main ?? left.main, to: file)
        try left.folder.write(wal ?? left.wal, to: file + "-wal")
        return self.reading(left.folder, file)
    }

    private func reading(_ folder: SealedFolder, _ file: String) -> String {
        do { return try folder.open(file).answer(Self.dump) } catch { return "error \(error)" }
    }

    private func flipped(_ bytes: [UInt8], _ place: Int) -> [UInt8] {
        var bytes = bytes
        bytes[place] ^= 1 << UInt8(place % 8)
        return bytes
    }

    @Test func whatIsLeftReadsAsItWas() throws {
        let left = try self.left()
        #expect((left.main.count - Self.preamble) % Self.mainRecord == 0)
        #expect((left.wal.count - Self.walHeader) % Self.walRecord == 0)
        #expect(try self.reading(left) == left.states.last)
        #expect(try self.reading(left, wal: []) == left.states.first)
    }

    /// With few pages in memory SQLite writes frames before their transaction ends, and completes their headers at its end.
    @Test func aLogOfALargeTransactionHasItsCommit() throws {
        let folder = try SealedFolder()
        let writer = try folder.open(pragmas: "PRAGMA cache_size = 5; PRAGMA wal_autocheckpoint = 0")
        try writer.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE TABLE u (a INTEGER PRIMARY KEY, b TEXT)")
        for round in 1...20 {
            try writer.run("BEGIN")
            for number in (1...5).map({ round * 5 + $0 }) {
                try writer.run(self.insert(number, into: "t") + "; DELETE FROM t WHERE a = \(number - 7)")
            }
            try writer.run(round % 4 == 0 ? "ROLLBACK" : "COMMIT")
            let copy = folder.path + "/\(round).db"
            try folder.write(folder.bytes(folder.file), to: copy)
            try folder.write(folder.bytes(folder.wal), to: copy + "-wal")
            let isSame = self.reading(folder, copy) == writer.answer(Self.dump)
            #expect(isSame, "round \(round)")
        }
    }

    /// A crash during a checkpoint tears a page of the main file. The log still has it, the first page also.
    @Test func aPageThatACheckpointHasTornIsReadFromTheLog() throws {
        let folder = try SealedFolder()
        let writer = try folder.open(pragmas: "PRAGMA wal_autocheckpoint = 0")
        try writer.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE TABLE u (a INTEGER PRIMARY KEY, b TEXT)")
        for number in 1...6 { try writer.run(self.insert(number, into: "t")) }
        _ = writer.answer("PRAGMA wal_checkpoint(TRUNCATE)")
        // It writes all pages anew.
        try writer.run("VACUUM")
        let left = Left(
            folder: folder, main: folder.bytes(folder.file), wal: folder.bytes(folder.wal),
            states: [writer.answer(Self.dump)], writer: writer)
        for start in stride(from: Self.preamble, to: left.main.count, by: Self.mainRecord) {
            for bytes in [10, 2_000, Self.mainRecord - 1] {
                var torn = left.main
                for place in start..<start + bytes { torn[place] ^= 0xFF }
                let isSame = try self.reading(left, main: torn) == left.states[0]
                #expect(isSame, "\(bytes) bytes from \(start)")
                // Without the log it is damage.
                #expect(try self.reading(left, main: torn, wal: []).hasPrefix("error"))
            }
        }
    }

    /// Nonce, text and tag of each record: a changed one ends the WAL, or is an error.
    @Test func aFlippedBitIsNeverReadAsContent() throws {
        let left = try self.left()
        var (errors, older) = (0, 0)
        func judge(_ reading: String, isWAL: Bool, _ place: Int) {
            if reading.hasPrefix("error") {
                errors += 1
            } else if reading != left.states.last {
                // Only the WAL has later states to lose.
                #expect(isWAL && left.states.contains(reading), "byte \(place) of the \(isWAL ? "WAL" : "main file")")
                older += 1
            }
        }
        for start in stride(from: Self.preamble, to: left.main.count, by: Self.mainRecord) {
            for offset in [0, 23, 24, 2_000, 4_119, 4_120, 4_135] {
                judge(
                    try self.reading(left, main: self.flipped(left.main, start + offset)), isWAL: false, start + offset)
            }
        }
        let mainErrors = errors
        for start in [0] + stride(from: Self.walHeader, to: left.wal.count, by: Self.walRecord) {
            for offset in [0, 23, 24, 47, 71] + (start == 0 ? [] : [2_000, 4_143, 4_144, 4_159]) {
                judge(try self.reading(left, wal: self.flipped(left.wal, start + offset)), isWAL: true, start + offset)
            }
        }
        #expect(mainErrors > 0 && errors == mainErrors)
        #expect(older == 5 + 9 * (left.wal.count - Self.walHeader) / Self.walRecord)
    }

    /// A record is bound to its place, its file and its role.
    @Test func aMovedRecordDoesNotOpen() throws {
        let left = try self.left()
        func record(_ bytes: [UInt8], _ number: Int) -> ArraySlice<UInt8> {
            bytes[(Self.preamble + number * Self.mainRecord)...].prefix(Self.mainRecord)
        }
        func replacing(_ number: Int, with other: ArraySlice<UInt8>) -> [UInt8] {
            var main = left.main
            main.replaceSubrange(
                (Self.preamble + number * Self.mainRecord)..<(Self.preamble + (number + 1) * Self.mainRecord),
                with: other)
            return main
        }
        let count = (left.main.count - Self.preamble) / Self.mainRecord
        // The last page of the main file belongs to a row that the WAL leaves alone.
        #expect(
            try self.reading(left, main: replacing(count - 1, with: record(left.main, count - 2))).hasPrefix("error"))
        #expect(
            try self.reading(left, main: replacing(count - 1, with: ArraySlice(repeating: 0, count: Self.mainRecord)))
                .hasPrefix("error"))
        let other = try self.left()
        #expect(
            try self.reading(left, main: replacing(count - 1, with: record(other.main, count - 1))).hasPrefix("error"))
        #expect(try self.reading(left, wal: other.wal) == left.states.first)
        // The same bytes as they were are no damage.
        #expect(
            try self.reading(left, main: replacing(count - 1, with: record(left.main, count - 1))) == left.states.last)
    }

    /// A log that was cut off anywhere reads as the commits before the cut.
    @Test func aTornLogIsAnOlderState() throws {
        let left = try self.left()
        var numbers = SeededNumbers(1)
        var seen: Set<Int> = []
        var last = -1
        for length in (0..<120).map({ _ in numbers.below(left.wal.count) }).sorted() + [left.wal.count] {
            let state = left.states.firstIndex(of: try self.reading(left, wal: Array(left.wal.prefix(length))))
            let index = try #require(state, "\(length) bytes")
            #expect(index >= last)
            (last, _) = (index, seen.insert(index))
        }
        #expect(seen.count == left.states.count)
        // As many bytes as before, but the disk has not seen the last of them.
        for length in [Self.walHeader + 10, left.wal.count - 100, left.wal.count - 5_000] {
            let torn = left.wal.prefix(length) + [UInt8](repeating: 0, count: left.wal.count - length)
            #expect(left.states.dropLast().contains(try self.reading(left, wal: Array(torn))))
        }
    }

    /// A page of a frame that the shared index names: the reader gets an error, not zeros.
    @Test func aFrameThatIsDamagedUnderAReaderIsAnError() throws {
        let left = try self.left()
        let reader = try left.folder.open(pragmas: "PRAGMA cache_size = 0")
        #expect(reader.answer(Self.dump) == left.states.last)
        for start in stride(from: Self.walHeader, to: left.wal.count, by: Self.walRecord) {
            let handle = try FileHandle(forUpdating: URL(filePath: left.folder.wal))
            func write(_ byte: UInt8) throws {
                try handle.seek(toOffset: UInt64(start + 2_000))
                try handle.write(contentsOf: [byte])
            }
            try write(left.wal[start + 2_000] ^ 4)
            let fresh = self.reading(left.folder, left.folder.file)
            #expect(fresh.hasPrefix("error") || fresh == left.states.last)
            try write(left.wal[start + 2_000])
        }
        // The last frame is in use for certain.
        let handle = try FileHandle(forUpdating: URL(filePath: left.folder.wal))
        try handle.seek(toOffset: UInt64(left.wal.count - 100))
        try handle.write(contentsOf: [left.wal[left.wal.count - 100] ^ 4])
        #expect(self.reading(left.folder, left.folder.file).hasPrefix("error"))
    }

    // MARK: Plain text

    private static let marker = "Meet me where the quince trees end, at nine."

    /// The text as a curious reader may find it.
    private static let spellings: [(name: String, bytes: [UInt8])] = {
        let plain = Array(marker.utf8)
        // Base64 of a middle piece, for each of the three ways that the text can fall.
        let base64 = (0..<3).map { shift in
            let encoded = Data([UInt8](repeating: 0x20, count: shift) + plain).base64EncodedString().utf8
            return ("base64 \(shift)", Array(encoded.dropFirst(4).dropLast(4)))
        }
        let hex = plain.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return [
            ("UTF-8", plain), ("UTF-16", plain.flatMap { [$0, 0] }), ("hex", Array(hex.utf8)),
            ("HEX", Array(hex.uppercased().utf8)),
            // A word alone, and what begins each plain database.
            ("word", Array("quince".utf8)), ("magic", Array("SQLite format 3".utf8)),
            ("schema", Array("CREATE TABLE".utf8)),
        ] + base64
    }()

    private func found(in folder: SealedFolder, only name: String) throws -> Set<String> {
        var found: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasPrefix(name) {
            let data = Data(folder.bytes(folder.path + "/" + file))
            for spelling in Self.spellings where data.range(of: Data(spelling.bytes)) != nil {
                found.insert(spelling.name)
            }
        }
        return found
    }

    @Test func noFileHasPlainText() throws {
        let folder = try SealedFolder()
        func fill(_ queue: DatabaseQueue) throws {
            try queue.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c BLOB); CREATE INDEX i ON t (b)")
            try queue.run("CREATE VIRTUAL TABLE f USING fts5 (x)")
            for (number, spelling) in Self.spellings.enumerated() {
                try queue.writeWithoutTransaction { database in
                    try database.execute(
                        sql: "INSERT INTO t (b, c) VALUES (?, ?)",
                        arguments: ["\(number) " + Self.marker, Array(spelling.bytes)])
                    try database.execute(sql: "INSERT INTO f VALUES (?)", arguments: [Self.marker])
                }
            }
            // A transaction that outgrows the memory of its connection, and is taken back in part.
            try queue.run("BEGIN")
            for _ in 0..<6 { try queue.run("INSERT INTO t (b, c) SELECT b, c FROM t") }
            try queue.run("SAVEPOINT s; UPDATE t SET b = b || b; ROLLBACK TO s; RELEASE s")
            try queue.run("COMMIT; DELETE FROM t WHERE a % 2 = 0")
        }
        let pragmas = "PRAGMA cache_size = 5; PRAGMA wal_autocheckpoint = 0"
        let sealed = try folder.open(pragmas: pragmas)
        try fill(sealed)
        let plain = try SealedFolder.open(folder.path + "/plain.db", pragmas: pragmas)
        try fill(plain)
        #expect(folder.bytes(folder.wal).count > 100_000)
        // The search finds what there is, in the log and in the main file.
        let all = Set(Self.spellings.map(\.name))
        #expect(try self.found(in: folder, only: "plain.db-wal") == all)
        #expect(try self.found(in: folder, only: "sealed") == [])
        for queue in [sealed, plain] { _ = queue.answer("PRAGMA wal_checkpoint(PASSIVE)") }
        #expect(try self.found(in: folder, only: "plain.db") == all)
        #expect(try self.found(in: folder, only: "sealed") == [])
        for queue in [sealed, plain] { _ = queue.answer("VACUUM") }
        #expect(try self.found(in: folder, only: "sealed") == [])
    }
}
