package import Contract

/// How long sessions live: alone, beside their successor, and in the cache.
package enum SessionLife {
    /// When a session that begins at `now` expires.
    package static func end(ofNew now: Timestamp) -> Timestamp { now + Limits.sessionTTL }

    /// When a session that is refreshed at `now` ends at the latest: earlier if it expires or its successor is used.
    package static func overlapEnd(at now: Timestamp) -> Timestamp { now + Limits.refreshOverlap }

    /// How long the cache may hold a session.
    /// - Returns: nil if it has ended.
    package static func cacheLife(of session: Session, at now: Timestamp) -> Duration? {
        let left = session.expiresAt.milliseconds - now.milliseconds
        return left > 0 ? min(.milliseconds(left), AuthLimits.cacheLifeMax) : nil
    }
}
