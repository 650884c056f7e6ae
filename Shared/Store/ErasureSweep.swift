package import Contract
package import Logging
import Telemetry

/// An erasure of which one part is not done (contract §20.4).
package struct OpenErasure: Hashable, Sendable {
    package var id: UUIDText
    package var principal: PrincipalID
    /// Mail and files that others have not fetched go too.
    package var withdraws: Bool
    /// No transaction from before the decision can write any more: what is found now is all that there is.
    package var isSettled: Bool
}

/// A part of an erasure that an `ErasureSweep` erases. `auth.erasure_parts` has these names, and `ledger`, which `LedgerWalk` enters.
package enum ErasurePart: String, CaseIterable, Sendable {
    case auth, router, calls, live, rooms, push, attachments
}

/// Rows that named a person.
package struct ErasedCount: Sendable {
    /// Rows that were removed, or name nobody now.
    package var removed: Int
    /// Rows that wait for another owner, or for a lock.
    package var waiting: Int

    package init(removed: Int, waiting: Int = 0) { (self.removed, self.waiting) = (removed, waiting) }
}

extension ErasedCount {
    /// The answer of an owner that keeps nothing of guests.
    package static let nothing = ErasedCount(removed: 0)
}

/// Rows about persons that one owner keeps, and how they go.
package protocol ErasedRows: Sendable {
    static var part: ErasurePart { get }

    /// Erases what names the person, a bounded number of rows. Doing it twice does no harm.
    /// - Returns: what it has found. Without any nothing names the person.
    func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount
}

/// Finds open erasures, and erases one owner's part of each.
///
/// A part is done after a pass that found nothing and began when the erasure was settled. A transaction from before the decision may
/// have written since the first pass.
package struct ErasureSweep<Rows: ErasedRows>: Sendable {
    private let rows: Rows
    private let pool: PostgresPool
    private let settledAfter: Duration
    private let metrics = ErasedMetrics()
    private let logger: Logger

    /// - Parameter settledAfter: see `ErasureLimits.settledAfter`. Tests take less.
    package init(
        _ rows: Rows, pool: PostgresPool, settledAfter: Duration = ErasureLimits.settledAfter, logger: Logger
    ) {
        self.rows = rows
        self.pool = pool
        self.settledAfter = settledAfter
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.sweep()
            } catch {
                self.logger.warning("erasures not swept", [.error: "\(error)"])
            }
            try? await Task.sleep(for: ErasureLimits.sweepEvery)
        }
    }

    /// One pass over all open erasures. A failure of one leaves the others their turn.
    /// - Throws: the first failure.
    package func sweep() async throws(StoreError) {
        var failure: StoreError?
        for erasure in try await self.pool.query(Self.open(settledAfter: self.settledAfter)) {
            do throws(StoreError) {
                try await self.erase(erasure)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func erase(_ erasure: OpenErasure) async throws(StoreError) {
        var found = ErasedCount(removed: 0)
        for _ in 0..<ErasureLimits.portionsPerSweep {
            found = try await self.rows.erase(erasure)
            self.metrics.rows.increment(by: found.removed)
            guard found.removed >= ErasureLimits.portion, !Task.isCancelled else { break }
        }
        guard found.removed + found.waiting == 0, erasure.isSettled else { return }
        try await self.pool.execute(
            "SELECT auth.finish_erasure(\(PostgresUUID(erasure.id)), \(Rows.part.rawValue))")
        self.logger.notice("erased", [.erasureId: "\(erasure.id)", .part: "\(Rows.part.rawValue)"])
    }

    private static func open(settledAfter: Duration) -> Statement<[OpenErasure]> {
        Statement(
            """
            SELECT erasure_id, whisper_id, guest_id, withdraws, decided_at <= \(StoreTime.now - settledAfter)
            FROM auth.erasures_unfinished
            WHERE NOT \(Rows.part.rawValue) = ANY (done)
            ORDER BY guest_id IS NOT NULL, is_guests_own, decided_at LIMIT \(Int64(ErasureLimits.openPerSweep))
            """,
            each: { row throws(StoreError) in
                let id = UUIDText(try row.next(PostgresUUID.self))
                let (identity, guest): (WhisperID?, GuestID?) = (try row.next(), try row.next())
                guard let principal = identity.map({ .identity($0) }) ?? guest.map({ PrincipalID.guest($0) }) else {
                    throw .undecodable(column: 1)
                }
                return OpenErasure(
                    id: id, principal: principal, withdraws: try row.next(), isSettled: try row.next())
            })
    }
}

/// The bounds of `ErasureSweep`.
package enum ErasureLimits {
    /// Between two sweeps of one process.
    package static let sweepEvery = Duration.seconds(5)
    /// No transaction lives longer. The erasing one may wait for three locks, each within `statement_timeout`, before its commit.
    package static let settledAfter = Duration.seconds(90)
    /// Rows of one table that one statement erases.
    package static let portion = 1_000
    package static let portionsPerSweep = 20
    /// Erasures that one sweep looks at: those of identities first, and the oldest among them.
    /// Strangers may be any number of guests: what these have asked for comes last.
    package static let openPerSweep = 100
}
