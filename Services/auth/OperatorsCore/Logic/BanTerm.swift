package import Contract

/// How long a ban lasts, as the console offers it. The API takes any end.
package enum BanTerm: String, CaseIterable, Sendable {
    case hour, day, week, month, forever

    package var title: String {
        switch self {
        case .hour: "1 hour"
        case .day: "1 day"
        case .week: "7 days"
        case .month: "30 days"
        case .forever: "Permanently"
        }
    }

    /// - Returns: nil for never.
    package func end(from now: Timestamp) -> Timestamp? {
        switch self {
        case .hour: now + .seconds(3_600)
        case .day: now + .seconds(86_400)
        case .week: now + .seconds(7 * 86_400)
        case .month: now + .seconds(30 * 86_400)
        case .forever: nil
        }
    }
}
