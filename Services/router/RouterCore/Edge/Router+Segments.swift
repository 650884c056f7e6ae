import Bus
import Contract
package import Store
import Telemetry

/// Empties young segments before their turn comes again (`009_segments.sql`).
extension Router {
    /// Looks which one is next, until cancelled.
    package func clearSegments(_ pool: PostgresPool) async throws {
        var pauses: [SegmentsTable.Parent: (until: ContinuousClock.Instant, failures: Int)] = [:]
        var last: Int64 = 0
        var isQuiet = false
        while true {
            let isClearing = self.clearings.values.contains { $0.segment != nil }
            try await self.bus.pause(
                for: isClearing
                    ? RouterLimits.clearingPause
                    : isQuiet ? RouterLimits.quietClearingInterval : RouterLimits.clearingInterval)
            do throws(StoreError) {
                let turns = try await pool.query(SegmentsTable.turns)
                let drawn = turns.reduce(0) { $0 + $1.last }
                isQuiet = drawn - last <= RouterLimits.quietNumbersMax
                last = drawn
                for turn in turns {
                    let action = self.clearings[turn.parent, default: SegmentClearing()]
                        .sees(turn.next, isUsed: turn.isUsed, owned: self.owned.keys)
                    guard action == .recycle, pauses[turn.parent].map({ .now >= $0.until }) ?? true else { continue }
                    let isEmpty = try await pool.query(SegmentsTable.recycle(turn.parent, segment: turn.next))
                    guard !isEmpty else {
                        pauses[turn.parent] = nil
                        continue
                    }
                    self.clearings[turn.parent]?.isNotEmpty(owned: self.owned.keys)
                    // Another router's rows, or a transaction that has read the table and stays open. All batches wait while the
                    // lock is waited for, so it is asked for more and more rarely.
                    let failures = (pauses[turn.parent]?.failures ?? 0) + 1
                    pauses[turn.parent] = (.now + RouterLimits.recycle.pause(after: failures), failures)
                }
            } catch {
                self.logger.warning("segments not cleared", [.error: "\(error)"])
            }
        }
    }

    /// Moves waiting rows of one run of partitions out of the segment that is emptied next.
    ///
    /// It runs between batches and on their connection, so that no receipt for these rows can be under way.
    func evacuateSegment() async throws(StoreError) {
        for (parent, clearing) in self.clearings {
            guard let (segment, run) = clearing.next else { continue }
            guard run.isWithin({ self.owned[$0] != nil }) else {
                self.clearings[parent]!.skip(run)
                continue
            }
            let range = run.identities
            do {
                let moved = try await self.store.query(
                    SegmentsTable.keep(parent, segment: segment, from: range.lowerBound, through: range.upperBound))
                self.clearings[parent]?.moved(from: run, isAll: moved < RouterLimits.keptAtOnceMax)
            } catch StoreError.conflict {
                // A confirmation was in the way. The step comes again, after another batch.
            } catch StoreError.refused(let state, let message) {
                self.logger.warning("segment not cleared", [.code: "\(state)", .error: "\(message)"])
                self.clearings[parent]?.skip(run)
            }
        }
    }
}
