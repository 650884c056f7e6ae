/// The sleep of one loop of an actor until its next deadline. Code that brings the deadline nearer must wake it.
final class WakeTimer {
    private var nudge: AsyncStream<Void>.Continuation?
    /// Deadline of the sleep under way; `nil` without a deadline, or without a sleep.
    private var armedFor: ContinuousClock.Instant?

    /// Sleeps until the deadline, a wake or cancellation. For one loop at a time.
    func sleep(until deadline: ContinuousClock.Instant?, isolation: isolated (any Actor)? = #isolation) async {
        let (nudges, nudge) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.nudge = nudge
        self.armedFor = deadline
        await withTaskGroup(of: Void.self) { group in
            if let deadline {
                group.addTask { try? await Task.sleep(until: deadline, clock: .continuous) }
            }
            group.addTask { for await _ in nudges { return } }
            await group.next()
            group.cancelAll()
        }
        self.armedFor = nil
    }

    /// Ends the sleep under way.
    func wake() { self.nudge?.yield() }

    /// To be called after anything that may have brought the deadline nearer.
    func wake(ifBefore deadline: ContinuousClock.Instant?) {
        guard let deadline, self.armedFor.map({ deadline < $0 }) ?? true else { return }
        self.wake()
    }

    /// To be called after what ends a wait, where nothing else goes on. Else the thread would wake for nothing at the old deadline.
    func wake(ifAfter deadline: ContinuousClock.Instant?) {
        guard let armedFor, let deadline, deadline > armedFor else { return }
        self.wake()
    }
}
