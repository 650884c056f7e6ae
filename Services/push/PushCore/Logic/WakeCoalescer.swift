package import Bus
package import ClusterContract
package import Contract

/// One push for one identity, and the Jobs that it answers.
package struct Wakeup: Equatable, Sendable {
    package let recipient: WhisperID
    /// The id that the provider sees instead of a name: the first Job's.
    package let wakeID: UUIDText
    /// When that Job was queued.
    package let queuedAt: Timestamp
    package fileprivate(set) var jobs: [EntryID]
}

/// Decides when an identity is woken: at once, and then at most once per window, however many messages arrive.
///
/// The first Job opens a window and is answered by a push of its own. Jobs inside the window gather, because the device
/// may have fetched already when they came; one push at its end answers them all and opens the next window. While an identity's
/// push is still under way no other is due: Jobs gather on.
package struct WakeCoalescer {
    private struct Window {
        /// Jobs gathered since the last push. Nil: none.
        var gathered: Wakeup?
    }

    private let length: Duration
    private let windowsMax: Int
    private let jobsMax: Int
    private var windows: [WhisperID: Window] = [:]
    /// Ends of the open windows. All windows are equally long, so those opened earlier end earlier.
    private var ends: [(at: ContinuousClock.Instant, recipient: WhisperID)] = []
    /// Ends before this index are past.
    private var firstEnd = 0
    /// Jobs gathered and not yet answered by a push.
    package private(set) var jobsHeld = 0

    package init(
        window: Duration = PushLimits.window, windowsMax: Int = PushLimits.windowsMax,
        jobsMax: Int = PushLimits.jobsHeldMax
    ) {
        self.length = window
        self.windowsMax = windowsMax
        self.jobsMax = jobsMax
    }

    /// How many more Jobs may be taken from the bus.
    package var room: Int { max(0, self.jobsMax - self.jobsHeld) }

    /// When `due` has something to do next.
    package var nextEnd: ContinuousClock.Instant? {
        self.firstEnd < self.ends.count ? self.ends[self.firstEnd].at : nil
    }

    /// - Parameters:
    ///   - now: not before that of an earlier call.
    ///   - isUnderWay: the recipient's last push has not ended.
    /// - Returns: the push to send now, if the Job does not wait for another one.
    package mutating func received(
        _ wake: Wake, _ job: EntryID, at now: ContinuousClock.Instant, isUnderWay: Bool = false
    ) -> Wakeup? {
        let alone = Wakeup(
            recipient: wake.recipient, wakeID: wake.wakeID, queuedAt: wake.queuedAt, jobs: [job])
        if isUnderWay, self.windows[wake.recipient] == nil { self.open(for: wake.recipient, at: now) }
        guard self.windows[wake.recipient] != nil else {
            // More identities than windows: an extra push harms less than a missing one.
            if self.windows.count < self.windowsMax { self.open(for: wake.recipient, at: now) }
            return alone
        }
        self.jobsHeld += 1
        if self.windows[wake.recipient]?.gathered?.jobs.append(job) == nil {
            self.windows[wake.recipient]?.gathered = alone
        }
        return nil
    }

    /// The pushes whose window has ended.
    /// - Parameter isUnderWay: whether a recipient's last push has not ended; theirs stay for one window more.
    package mutating func due(
        at now: ContinuousClock.Instant, isUnderWay: (WhisperID) -> Bool = { _ in false }
    ) -> [Wakeup] {
        var due: [Wakeup] = []
        while let end = self.nextEnd, end <= now {
            let recipient = self.ends[self.firstEnd].recipient
            self.firstEnd += 1
            guard let wakeup = self.windows.removeValue(forKey: recipient)?.gathered else { continue }
            self.open(for: recipient, at: now)
            if isUnderWay(recipient) {
                self.windows[recipient]?.gathered = wakeup
                continue
            }
            self.jobsHeld -= wakeup.jobs.count
            due.append(wakeup)
        }
        self.forgetPastEnds()
        return due
    }

    /// Everything gathered, window or not: the process ends.
    package mutating func flush() -> [Wakeup] {
        let all = self.ends[self.firstEnd...].compactMap { self.windows[$0.recipient]?.gathered }
        self = WakeCoalescer(window: self.length, windowsMax: self.windowsMax, jobsMax: self.jobsMax)
        return all
    }

    private mutating func open(for recipient: WhisperID, at now: ContinuousClock.Instant) {
        self.windows[recipient] = Window()
        self.ends.append((now + self.length, recipient))
    }

    /// Half of the list at least is past when it is moved, so each end is moved once on average.
    private mutating func forgetPastEnds() {
        guard self.firstEnd > self.ends.count / 2 else { return }
        self.ends.removeFirst(self.firstEnd)
        self.firstEnd = 0
    }
}
