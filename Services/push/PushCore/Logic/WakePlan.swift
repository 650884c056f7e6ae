package import Contract
import Telemetry

/// When a recipient with waiting mail is pushed, and what follows from an answer. Pure: time and chance are arguments.
///
/// The first message after the device was last there is pushed at once. While nobody comes, further mail is pushed ever more
/// rarely (the budget), a bounded number of reminders goes out, and tries that fail are repeated with growing pauses until
/// a bound. Receipts, presence and typing never come here, and calls are not asked.
package enum WakePlan {
    /// Least time between the last push and the next one for new mail, by the number of pushes that nobody answered.
    /// Further ones keep the last pause.
    package static let restPauses: [Duration] = [.zero, .seconds(30), .seconds(120), .seconds(600), .seconds(1_800)]
    /// After the n-th push that nobody answered: when it is looked whether mail still waits, and pushed again. Then never.
    package static let reminderPauses: [Duration] = [.seconds(120), .seconds(900), .seconds(7_200)]
    /// Tries of one wake-up that may fail before it is given up, and the pauses between them. Together they last about as long
    /// as reminders do: a provider that is away for hours must not cost anybody the wake-up.
    package static let failuresMax = 64
    package static let retry = Backoff(first: .seconds(2), longest: .seconds(300))
    /// After a try for which there was no room, up to twice as long.
    package static let busyPause = Duration.seconds(5)
    /// Longest pause that a provider may ask for.
    package static let retryAfterMax = Duration.seconds(3_600)

    /// Past and next pushes to a recipient.
    package struct History: Equatable, Sendable {
        package var sentAt: Timestamp?
        package var unanswered: Int
        package var failures: Int
        package var dueAt: Timestamp?

        package init(sentAt: Timestamp? = nil, unanswered: Int = 0, failures: Int = 0, dueAt: Timestamp? = nil) {
            self.sentAt = sentAt
            self.unanswered = unanswered
            self.failures = failures
            self.dueAt = dueAt
        }
    }

    package enum Decision: Equatable, Sendable {
        case push
        /// Not yet; look again then.
        case hold(until: Timestamp)
    }

    /// New mail has come for somebody who is away.
    package static func decide(_ history: History, at now: Timestamp) -> Decision {
        // A provider that fails is not asked more often because more mail comes. No pause after a failure is longer than the
        // longest that a provider may ask for: a later time was written by a clock that was ahead, and holds nothing.
        if history.failures > 0, let due = history.dueAt, due > now, due <= now + Self.retryAfterMax {
            return .hold(until: due)
        }
        guard history.unanswered > 0, let sentAt = history.sentAt else { return .push }
        let allowed = sentAt + Self.restPauses[min(history.unanswered, Self.restPauses.count - 1)]
        // A clock that was set back must not hold pushes for long.
        if allowed <= now || sentAt > now { return .push }
        return .hold(until: min(allowed, history.dueAt ?? allowed))
    }

    /// The result of a try, to be stored.
    package struct Step: Equatable, Sendable {
        package var history: History
        /// The wake-up is given up.
        package var isDead = false
    }

    /// - Parameter chance: 0..<1, spreads the retries of many.
    package static func after(_ answer: PushAnswer, _ history: History, at now: Timestamp, chance: Double) -> Step {
        var next = history
        switch answer {
        case .sent:
            next.sentAt = now
            next.unanswered = min(history.unanswered + 1, Int(Int16.max))
            next.failures = 0
            let index = next.unanswered - 1
            next.dueAt = index < Self.reminderPauses.count ? now + Self.reminderPauses[index] : nil
            return Step(history: next)
        case .tokenGone:
            // Nothing to push to: when the device shows a new token it is there itself.
            next.failures = 0
            next.dueAt = nil
            return Step(history: next)
        case .refused:
            next.failures = 0
            next.dueAt = nil
            return Step(history: next, isDead: true)
        case .later(_, let after):
            next.failures = history.failures + 1
            guard next.failures < Self.failuresMax else {
                next.failures = 0
                next.dueAt = nil
                return Step(history: next, isDead: true)
            }
            next.dueAt = now + Self.pause(failures: next.failures, after: after, chance: chance)
            return Step(history: next)
        case .busy:
            // However often: a try that was none is no reason to give up.
            next.dueAt = now + Self.busyPause * (1 + chance)
            return Step(history: next)
        case .staleCredentials:
            return Self.after(.later(.credentials, after: nil), history, at: now, chance: chance)
        }
    }

    /// Doubles with each failure, is spread by half, and is not shorter than the provider asks.
    package static func pause(failures: Int, after: Duration?, chance: Double) -> Duration {
        max(Self.retry.pause(after: failures) * (0.5 + chance / 2), min(after ?? .zero, Self.retryAfterMax))
    }
}
