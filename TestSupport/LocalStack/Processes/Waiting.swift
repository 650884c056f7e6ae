/// Time given to a server or service to become ready before it counts as failed. Covers the crash recovery of a
/// database that was killed under load.
package let readyTimeout = Duration.seconds(60)

/// A condition did not come true in time.
package struct TimeUp: Error, CustomStringConvertible {
    package var what: String
    package var after: Duration

    package init(what: String, after: Duration) {
        self.what = what
        self.after = after
    }

    package var description: String { "not true after \(self.after): \(self.what)" }
}

/// Asks again and again until the condition holds. For the world outside of this process only, which tells nobody
/// when it changes.
/// - Throws: `TimeUp` naming `what`, or what `condition` throws.
nonisolated(nonsending) package func waitUntil(
    _ what: String, within timeout: Duration, every pause: Duration = .milliseconds(10),
    _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + timeout
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw TimeUp(what: what, after: timeout) }
        try await Task.sleep(for: pause)
    }
}
