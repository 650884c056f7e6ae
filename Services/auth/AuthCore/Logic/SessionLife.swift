/// How long the cache may hold sessions. When they end is the database's to say (`SessionTable`).
package enum SessionLife {
    /// How long the cache may hold a session that lives for so much longer.
    /// - Returns: nil if it has ended.
    package static func cacheLife(left: Duration) -> Duration? {
        left > .zero ? min(left, AuthLimits.cacheLifeMax) : nil
    }
}
