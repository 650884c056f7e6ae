import Synchronization

/// Asks work to end, and lets those who asked wait until it has.
package final class DrainLatch: Sendable {
    private let isAsked = Atomic<Bool>(false)
    private let ended = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingOldest(1))

    package init() {}

    package var isDraining: Bool { self.isAsked.load(ordering: .relaxed) }

    /// Asks without waiting.
    package func ask() { self.isAsked.store(true, ordering: .relaxed) }

    /// Returns when the work has ended, at once if it has already.
    package func untilEnded() async { for await _ in self.ended.stream {} }

    package func drain() async {
        self.ask()
        await self.untilEnded()
    }

    /// Called by the work when nothing of it is left.
    package func end() { self.ended.continuation.finish() }
}
