import Contract
import GRDB
import Synchronization

@testable import WhisperClient

extension ClientStore {
    /// One message alone.
    /// - Returns: whether it was new.
    func keep(_ message: Message) throws -> Bool {
        try !self.keep([.message(message)], at: Timestamp(milliseconds: 7)).isEmpty
    }

    func quarantine(_ frame: [UInt8], id: UUIDText, _ suspicion: Suspicion) throws {
        _ = try self.keep([.suspicious(frame, id: id, suspicion)], at: Timestamp(milliseconds: 7))
    }
}

/// Counts the transactions that change a store: each costs a wait for the disk.
final class CommitCounter: TransactionObserver, Sendable {
    private let state = Mutex((hasChanges: false, count: 0))

    /// From now on.
    init(_ store: ClientStore) {
        store.database.add(transactionObserver: self, extent: .observerLifetime)
    }

    var count: Int { self.state.withLock { $0.count } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) { self.state.withLock { $0.hasChanges = true } }
    func databaseDidRollback(_ db: Database) { self.state.withLock { $0.hasChanges = false } }
    func databaseDidCommit(_ db: Database) {
        self.state.withLock { state in
            if state.hasChanges { state.count += 1 }
            state.hasChanges = false
        }
    }
}
