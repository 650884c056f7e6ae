import ClusterContract
import Contract

/// When a holder is asked for packets that are not in memory (contract §14.9, §19.7a). Early requests are postponed,
/// not dropped.
struct WantedPace {
    private static let snapshotPause = 1_000 / Int64(LiveLimits.wantedSnapshotsPerSecond)

    private struct Lines {
        var askedAt: Int64?
        var waiting: (from: Int, since: Timestamp)?
    }

    private var snapshotAskedAt: Int64?
    private var isSnapshotWanted = false
    private var lines: [PrincipalID: Lines] = [:]

    mutating func want(_ want: FeedWish.Want) {
        switch want {
        case .snapshot: self.isSnapshotWanted = true
        case .lines(let listener, let from, let since):
            guard self.lines[listener] != nil || self.lines.count < LiveFeedLimits.linesWantedMax else { return }
            var known = self.lines[listener] ?? Lines()
            // The later word tells better what it misses.
            known.waiting = (from, since)
            self.lines[listener] = known
        }
    }

    /// A snapshot has come: who waited for one has it.
    mutating func snapshotCame() { self.isSnapshotWanted = false }

    /// The listener has gone.
    mutating func gone(_ listener: PrincipalID) { self.lines[listener]?.waiting = nil }

    /// Requests that are due now.
    mutating func due(at now: Int64) -> [FeedWish.Want] {
        var due: [FeedWish.Want] = []
        if self.isSnapshotWanted, now >= self.snapshotDue ?? now {
            self.isSnapshotWanted = false
            self.snapshotAskedAt = now
            due.append(.snapshot)
        }
        for (listener, known) in self.lines {
            let isFree = known.askedAt.map { now >= $0 + LiveLimits.wantedLinesInterval.milliseconds } ?? true
            guard isFree else { continue }
            if let waiting = known.waiting {
                self.lines[listener] = Lines(askedAt: now)
                due.append(.lines(listener: listener, from: waiting.from, since: waiting.since))
            } else {
                self.lines[listener] = nil
            }
        }
        return due
    }

    private var snapshotDue: Int64? { self.snapshotAskedAt.map { $0 + Self.snapshotPause } }

    /// When something that was put off is due; `nil` if nothing is. In the past if it was not asked about yet.
    var nextDue: Int64? {
        var times = self.lines.values.filter { $0.waiting != nil }.map {
            $0.askedAt.map { $0 + LiveLimits.wantedLinesInterval.milliseconds } ?? .min
        }
        if self.isSnapshotWanted { times.append(self.snapshotDue ?? .min) }
        return times.min()
    }
}
