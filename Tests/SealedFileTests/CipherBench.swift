import Foundation
import SQLite
import Testing

private let benchRows = ProcessInfo.processInfo.environment["STORE_BENCH"].flatMap(Int.init) ?? 0

/// The cost of the cipher: the same rows written and read in a plain and in a sealed database. `STORE_BENCH=100000`
/// gives the number of rows, and a release build the figures of docs/benchmarks.md.
@Suite(.serialized, .enabled(if: benchRows > 0)) struct CipherBench {
    private static let rounds = 3
    private static let rowsPerCommit = 100
    private static let textBytes = 200

    /// Microseconds of one operation.
    private struct Cost {
        var wall: Double
        var processor: Double

        init(of count: Int, _ body: () throws -> Void) rethrows {
            let (clock, processor) = (ContinuousClock(), Self.processorTime)
            let wall = try clock.measure(body)
            self.processor = (Self.processorTime - processor) / Double(count)
            self.wall = wall / .microseconds(1) / Double(count)
        }

        private static var processorTime: Double {
            var time = timespec()
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
        }

        var text: String { String(format: "%.2f µs (%.2f µs of processor)", self.wall, self.processor) }
    }

    @Test func whatTheCipherCosts() throws {
        for round in 1...Self.rounds {
            for isSealed in round % 2 == 0 ? [true, false] : [false, true] {
                let folder = try SealedFolder()
                let path = isSealed ? folder.uri() : folder.path + "/plain.db"
                let queue = try SealedFolder.open(path, pragmas: "PRAGMA synchronous = FULL")
                try queue.run(
                    "CREATE TABLE m (n INTEGER PRIMARY KEY, peer TEXT, body TEXT); CREATE INDEX p ON m (peer, n)")
                let inserting = try Cost(of: benchRows) { try self.insert(queue) }
                let reading = try Cost(of: benchRows) { try self.read(queue) }
                let scanning = Cost(of: benchRows) {
                    _ = queue.answer("SELECT sum(length(body)) FROM m NOT INDEXED")
                }
                print(
                    """
                    round \(round) \(isSealed ? "sealed" : "plain "): insert \(inserting.text), \
                    read by number \(reading.text), scan \(scanning.text)
                    """)
            }
        }
    }

    private func insert(_ queue: DatabaseQueue) throws {
        let body = String(repeating: "x", count: Self.textBytes)
        for first in stride(from: 0, to: benchRows, by: Self.rowsPerCommit) {
            try queue.write { database in
                let statement = try database.cachedStatement(sql: "INSERT INTO m VALUES (?, ?, ?)")
                for number in first..<min(first + Self.rowsPerCommit, benchRows) {
                    try statement.execute(arguments: [number, "peer \(number % 50)", body])
                }
            }
        }
    }

    /// In no order, so that most rows are on a page that is not in memory.
    private func read(_ queue: DatabaseQueue) throws {
        var numbers = SeededNumbers(1)
        try queue.read { database in
            for _ in 0..<benchRows {
                let body = try String.fetchOne(
                    database, sql: "SELECT body FROM m WHERE n = ?", arguments: [numbers.below(benchRows)])
                if body?.utf8.count != Self.textBytes { Issue.record("a row is missing") }
            }
        }
    }
}
