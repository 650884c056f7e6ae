import LocalStack

/// Postgres's own counters of reads and writes until now. A session adds its counts to them about once a second.
struct StoreReading: Sendable {
    /// Pages that were not in its buffers.
    var pagesRead: Double
    /// Pages written whole to its log, the first time that each changes after a checkpoint.
    var pageImages: Double
    var logBytes: Double

    init(_ stack: LocalStack) async throws {
        let counters = try await stack.postgres.run(
            "SELECT blks_read, wal_fpi, wal_bytes FROM pg_stat_wal, pg_stat_database WHERE datname = 'whisper'",
            database: "whisper")
        let numbers = counters.split(separator: "|").map { Double($0) ?? .nan }
        guard numbers.count == 3 else { throw Unreadable() }
        (self.pagesRead, self.pageImages, self.logBytes) = (numbers[0], numbers[1], numbers[2])
    }

    private struct Unreadable: Error {}

    /// For each of so many messages: pages read, pages written whole, kB of log.
    func since(_ earlier: StoreReading, each messages: Int) -> [Double] {
        let count = Double(max(1, messages))
        return [
            (self.pagesRead - earlier.pagesRead) / count, (self.pageImages - earlier.pageImages) / count,
            (self.logBytes - earlier.logBytes) / 1_000 / count,
        ]
    }

    static let columns = ["pages read", "pages whole", "kB of log"]
}
