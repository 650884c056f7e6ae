package import Contract
import Synchronization

/// How many messages come, between looks of operators at one process.
package final class MessagePace: Sendable {
    package struct Pace: Equatable, Sendable {
        package var perMinute: Int64
        /// Time between the two looks.
        package var over: Duration
    }

    private struct Look {
        var stored: Int64
        var at: Timestamp
    }

    /// Looks follow each other at any distance, for there may be many operators. The earlier of these two is old enough.
    private let looks = Mutex<(earlier: Look, later: Look)?>(nil)
    private let apart: Duration

    /// - Parameter apart: least time between two looks that are compared.
    package init(apart: Duration = OperatorsLimits.consoleRefreshEvery) { self.apart = apart }

    /// - Parameter stored: messages that were ever stored.
    /// - Returns: `nil` for the first look, and soon after it.
    package func look(_ stored: Int64, at now: Timestamp) -> Pace? {
        self.looks.withLock { looks in
            let look = Look(stored: stored, at: now)
            guard var known = looks else {
                looks = (look, look)
                return nil
            }
            if now - known.later.at >= self.apart { known = (known.later, look) }
            looks = known
            let time = now - known.earlier.at
            let seconds = time.components.seconds
            guard time >= self.apart, seconds > 0 else { return nil }
            return Pace(perMinute: max(0, stored - known.earlier.stored) * 60 / seconds, over: time)
        }
    }
}
