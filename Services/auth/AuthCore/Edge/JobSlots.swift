import Synchronization

/// Counts the Jobs under way, and lets their one taker wait until there is room, or until all are done.
final class JobSlots: Sendable {
    private struct State {
        var busy = 0
        /// The taker, and how few must be busy before it goes on.
        var waiting: (busyMax: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let limit: Int
    private let state = Mutex(State())

    init(_ limit: Int) { self.limit = limit }

    var busy: Int { self.state.withLock { $0.busy } }

    /// Room for further Jobs; at least one. Only the one taker asks.
    func room() async -> Int {
        await self.wait(untilBusyAtMost: self.limit - 1)
        return self.limit - self.busy
    }

    func allFree() async { await self.wait(untilBusyAtMost: 0) }

    func occupy(_ count: Int) { self.state.withLock { $0.busy += count } }

    func free() {
        let continuation = self.state.withLock { state in
            state.busy -= 1
            guard let waiting = state.waiting, state.busy <= waiting.busyMax else {
                return nil as CheckedContinuation<Void, Never>?
            }
            state.waiting = nil
            return waiting.continuation
        }
        continuation?.resume()
    }

    private func wait(untilBusyAtMost busyMax: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = self.state.withLock { state in
                if state.busy <= busyMax { return true }
                precondition(state.waiting == nil, "there is one taker")
                state.waiting = (busyMax, continuation)
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
