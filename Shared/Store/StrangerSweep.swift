package import Logging
package import Telemetry

/// Rows that identities without a peer, or guests, keep in one table (contract §13b).
///
/// The statement that stores a row marks it as a stranger's, which costs no query. The sweep takes the mark from rows
/// of those who have a peer, and adds up the marked ones in a row of the schema's `stranger_bytes`. The statement that
/// stores compares with that row.
package protocol StrangerTable: Sendable {
    static var store: StrangerStore { get }
    /// Where `relieve` begins: before all keys.
    static var firstKey: String { get }

    /// Takes rows out of the sum: the mark from rows of those who have a peer, or rows that may go.
    /// - Parameter key: looks at rows behind it.
    /// - Returns: the last row that was looked at; nil if there are none left.
    func relieve(after key: String, limit: Int) async throws(StoreError) -> String?

    /// Adds up the marked rows, if nobody has done so within `age`.
    func recount(olderThan age: Duration) async throws(StoreError)

    /// - Returns: the sum, in bytes, as it was last counted.
    func counted() async throws(StoreError) -> Int64
}

/// Counts what strangers keep in a table, now and then. Any number of processes may do it: one of them counts.
package struct StrangerSweep<Table: StrangerTable>: Sendable {
    private let table: Table
    private let bytesMax: Int
    private let meter: StrangerMeter
    private let logger: Logger

    /// - Parameter bytesMax: what all strangers together may keep.
    package init(_ table: Table, bytesMax: Int, logger: Logger) {
        self.table = table
        self.bytesMax = bytesMax
        self.meter = StrangerMeter(Table.store)
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    package func run() async {
        var key = Table.firstKey
        while !Task.isCancelled {
            await self.sweep(from: &key)
            try? await Task.sleep(for: StrangerLimits.sweepEvery)
        }
    }

    /// Counts, and then looks at some marked rows: their peers count from the next sweep on.
    /// - Parameter key: where the last sweep has ended, and this one ends.
    package func sweep(from key: inout String, age: Duration = StrangerLimits.countAge) async {
        do throws(StoreError) {
            try await self.table.recount(olderThan: age)
            self.meter.set(try await self.table.counted(), of: self.bytesMax)
        } catch {
            // The sum stays as it was. Marks are taken all the same: fewer rows are left to count then.
            self.logger.warning("what strangers keep was not counted", [.error: "\(error)"])
        }
        do throws(StoreError) {
            for _ in 0..<StrangerLimits.pagesPerSweep {
                guard let last = try await self.table.relieve(after: key, limit: StrangerLimits.pageRows) else {
                    key = Table.firstKey
                    return
                }
                key = last
            }
        } catch {
            self.logger.warning("marks of strangers were not looked at", [.error: "\(error)"])
        }
    }
}

/// The bounds of `StrangerSweep`.
package enum StrangerLimits {
    /// Between two sweeps of one process, and the youngest sum that is counted again: no sum is older than a minute (contract §13b).
    package static let sweepEvery = Duration.seconds(50)
    package static let countAge = Duration.seconds(45)
    /// Rows whose owners' peers are looked at in one statement, and statements of one sweep.
    package static let pageRows = 1_000
    package static let pagesPerSweep = 30
    /// When somebody who was refused because of all strangers together may try again.
    package static let retryAfter = Duration.seconds(3_600)
}

/// The answer of a schema's `may_keep`.
package enum StrangerVerdict: Int16, Sendable {
    case may = 0
    /// More than somebody without a peer may keep.
    case tooMuch = 1
    /// All strangers together keep as much as they may.
    case noRoom = 2
}
