import CSQLite
import Contract

@testable import WhisperClient

extension ClientStore {
    /// One message alone.
    /// - Returns: whether it was new.
    func keep(_ message: Message) throws -> Bool {
        try !self.messages.keep([.message(message)], at: Timestamp(milliseconds: 7)).isEmpty
    }

    func quarantine(_ frame: [UInt8], id: UUIDText, _ suspicion: Suspicion) throws {
        _ = try self.messages.keep([.suspicious(frame, id: id, suspicion)], at: Timestamp(milliseconds: 7))
    }
}

/// Counts the transactions that change a store: each costs a wait for the disk.
final class CommitCounter {
    private let store: ClientStore
    private let connection: OpaquePointer
    private var changes: Int32
    /// From now on.
    private(set) var count = 0

    init(_ store: ClientStore) throws {
        self.store = store
        self.connection = try store.database.unsafeRead { try $0.handle }
        self.changes = sqlite3_total_changes(self.connection)
        sqlite3_commit_hook(
            self.connection,
            { counter in
                Unmanaged<CommitCounter>.fromOpaque(counter!).takeUnretainedValue().commit()
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { sqlite3_commit_hook(self.connection, nil, nil) }

    private func commit() {
        let changes = sqlite3_total_changes(self.connection)
        if changes != self.changes { self.count += 1 }
        self.changes = changes
    }
}
