import ClusterContract
import Contract
import Store
import Telemetry

/// How much mail of senders without any peer waits in all mailboxes together, and what may (contract §13b).
struct StrangerMail {
    private let bytesMax: Int
    private var bytes: Int64 = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// For the statement that stores to judge by; `nil` while there is so much room that nobody has to be asked about: then nothing of
    /// this costs anything.
    var bound: Int? { self.bytes < Int64(self.bytesMax) / 2 ? nil : self.bytesMax }

    /// Learns what was counted last. One router counts anew if that is long ago.
    nonisolated(nonsending) static func measured(
        of bytesMax: Int, on pool: PostgresPool
    ) async throws(StoreError) -> StrangerMail {
        var mail = StrangerMail(bytesMax: bytesMax)
        let known = try await pool.query(StrangerBytesTable.read())
        mail.bytes = known?.bytes ?? 0
        guard known?.isOld ?? true, try await pool.query(StrangerBytesTable.claim()) == 1 else { return mail }
        // While all mail together takes less than half, its size stands for that of strangers.
        mail.bytes = try await pool.query(StrangerBytesTable.mailOnDisk())
        if mail.bound != nil {
            // Stands until the count has ended, and if it cannot: only strangers are refused by it.
            try await pool.execute(StrangerBytesTable.write(mail.bytes))
            var sum: Int64 = 0
            for run in PartitionRun.runs(of: Partition.all) {
                sum += try await pool.query(StrangerBytesTable.count(in: run))
            }
            mail.bytes = sum
        }
        try await pool.execute(StrangerBytesTable.write(mail.bytes))
        return mail
    }

    func show(in meter: StrangerMeter) { meter.set(self.bytes, of: self.bytesMax) }
}
