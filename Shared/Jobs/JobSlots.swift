import Synchronization

/// Counts what is under way, and lets its one taker wait until there is room for more.
final class JobSlots: Sendable {
    private struct State {
        var busy = 0
        var taker: CheckedContinuation<Void, Never>?
    }

    private let limit: Int
    private let state = Mutex(State())

    init(_ limit: Int) { self.limit = limit }

    var busy: Int { self.state.withLock { $0.busy } }

    /// Room for more; at least one. Only the one taker asks.
    func room() async -> Int {
        await withCheckedContinuation { continuation in
            let hasRoom = self.state.withLock { state in
                if state.busy < self.limit { return true }
                precondition(state.taker == nil, "there is one taker")
                state.taker = continuation
                return false
            }
            if hasRoom { continuation.resume() }
        }
        return self.limit - self.busy
    }

    func occupy() { self.state.withLock { $0.busy += 1 } }

    func free() {
        let taker = self.state.withLock { state in
            state.busy -= 1
            defer { state.taker = nil }
            return state.taker
        }
        taker?.resume()
    }
}
