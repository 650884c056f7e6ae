package import Contract

/// How often each identity may ask over HTTP (contract §11). Counts for this process alone, and keeps one number for each
/// identity and kind of request: the time at which its minute would be unused again.
package struct RequestPace: Sendable {
    package enum Kind: CaseIterable, Sendable {
        case keys, backup

        var perMinute: Double {
            switch self {
            case .keys: 60
            case .backup: 20
            }
        }
    }

    private struct Key: Hashable {
        var kind: Kind
        var identity: WhisperID
    }

    private static let minute = 60_000.0
    private let scale: Double
    private let trackedMax: Int
    private var restedAt: [Key: Double] = [:]

    /// - Parameters:
    ///   - scale: multiplies every limit.
    ///   - trackedMax: entries kept. When more would be needed those at rest go; if that is none, all.
    package init(scale: Double, trackedMax: Int = AuthLimits.pacedMax) {
        self.scale = scale
        self.trackedMax = trackedMax
    }

    /// Counts one request if it is allowed now.
    /// - Returns: nil if it is, else the milliseconds until the next one is.
    package mutating func admit(_ kind: Kind, of identity: WhisperID, at now: Timestamp) -> Int64? {
        let key = Key(kind: kind, identity: identity)
        let now = Double(now.milliseconds)
        let step = Self.minute / (kind.perMinute * self.scale)
        let restedAt = max(self.restedAt[key] ?? now, now)
        let excess = restedAt + step - now - max(Self.minute, step)
        guard excess <= 0 else { return Int64(excess.rounded(.up)) }
        if self.restedAt[key] == nil, self.restedAt.count >= self.trackedMax {
            self.restedAt = self.restedAt.filter { $0.value > now }
            if self.restedAt.count >= self.trackedMax { self.restedAt = [:] }
        }
        self.restedAt[key] = restedAt + step
        return nil
    }
}
