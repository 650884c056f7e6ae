import ClusterContract
package import Contract
import Glibc
package import Store

/// Erases anew whom a restored database has again (contract §20.4), by the marks in a file. No service may run meanwhile: caches and
/// connections are not told.
///
/// Doing it twice, or again after an end in the midst, is harmless.
package struct Reapplication: Sendable {
    package struct Outcome: Equatable, Sendable {
        /// In the file.
        package var marks = 0
        /// Marks that the database did not have.
        package var added = 0
        /// Identities that had to be erased.
        package var erased = 0
    }

    private let pool: PostgresPool
    private let decision: ErasureDecision
    private let forget: @Sendable (PrincipalID, borrowing Transaction) async throws(StoreError) -> Void

    /// - Parameter forget: removes rows of another core that name an identity. It runs when the identity is locked.
    package init(
        pool: PostgresPool, clock: ServiceClock = .real,
        forget: @escaping @Sendable (PrincipalID, borrowing Transaction) async throws(StoreError) -> Void
    ) {
        self.pool = pool
        self.decision = ErasureDecision(pool: pool, clock: clock)
        self.forget = forget
    }

    /// - Throws: `MarksFault`: nothing was changed. `StoreError`: repeat it.
    package func run(_ path: String) async throws -> Outcome {
        let file = try MarksFile(path)
        let cluster = try await self.pool.query(Tombstones.cluster)
        var outcome = Outcome()
        // The whole file is read before anything is changed.
        try await file.read(of: cluster) { outcome.marks += $0.count }
        try await file.read(of: cluster) { portion in
            outcome.added += try await self.pool.query(Tombstones.add(portion))
        }
        outcome.erased = try await self.eraseMarked()
        return outcome
    }

    /// Every identity that has a tombstone: the tables have it from a time before its erasure.
    private func eraseMarked() async throws(StoreError) -> Int {
        var erased = 0
        var last: Int64 = -1
        while true {
            let page = try await self.pool.query(IdentityTable.page(after: last, limit: AuthLimits.marksPortion))
            guard let end = page.last else { return erased }
            let marks = page.map { Tombstones.marks(of: $0) }
            let held = Set(try await self.pool.query(Tombstones.held(of: marks.flatMap { $0 })))
            for (keys, marks) in zip(page, marks) where marks.contains(where: held.contains) {
                if try await self.erase(keys.whisperID) { erased += 1 }
            }
            last = Int64(end.whisperID.bits)
        }
    }

    /// As an operator's erasure. It does not count as one: operators may need theirs.
    private func erase(_ identity: WhisperID) async throws(StoreError) -> Bool {
        // The file does not say what the person wished. Withdrawn mail that is delivered could not be called back.
        let order = ErasureOrder(.identity(identity), sentMail: .withdraw, by: .person)
        return try await self.pool.persistently { transaction throws(StoreError) in
            try await self.decision.make(order, in: transaction) { transaction throws(StoreError) in
                try await self.forget(order.principal, transaction)
            } != nil
        }
    }
}

/// A file of marks. It stays the same file when another takes its name.
private struct MarksFile: ~Copyable {
    private let path: String
    private let file: UnsafeMutablePointer<FILE>

    init(_ path: String) throws(MarksFault) {
        guard let file = fopen(path, "re") else { throw .unreadable(path: path) }
        self.path = path
        self.file = file
    }

    deinit { fclose(self.file) }

    /// Reads it from its beginning, in portions.
    func read(of cluster: Int64, _ take: ([Tombstone]) async throws -> Void) async throws {
        rewind(self.file)
        var text = MarksText.Reader(of: cluster)
        var portion: [Tombstone] = []
        var line = [CChar](repeating: 0, count: MarksText.lineBytesMax + 1)
        while fgets(&line, Int32(line.count), self.file) != nil {
            let bytes = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            guard let tombstone = try text.take(bytes) else { continue }
            portion.append(tombstone)
            guard portion.count == AuthLimits.marksPortion else { continue }
            try await take(portion)
            portion = []
        }
        guard ferror(self.file) == 0 else { throw MarksFault.unreadable(path: self.path) }
        try text.finish()
        if !portion.isEmpty { try await take(portion) }
    }
}
