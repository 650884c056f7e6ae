package import Contract

/// Where the edge gets the time from. Tests hand in their own.
package typealias WallClock = @Sendable () -> Timestamp
