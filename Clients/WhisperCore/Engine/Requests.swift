import Synchronization

/// Questions to the server that are under way, `CoreLimits.requestsUnderWayMax` at a time.
final class Requests: Sendable {
    private struct State {
        var newest: Int64 = 0
        var tasks: [Int64: Task<Void, Never>?] = [:]
    }

    private let state = Mutex(State())

    /// - Returns: the number of the request; `nil` if there are too many.
    func start(_ work: @escaping @Sendable (Int64) async -> Void) -> Int64? {
        let number: Int64? = self.state.withLock { state in
            guard state.tasks.count < CoreLimits.requestsUnderWayMax else { return nil }
            state.newest += 1
            state.tasks[state.newest] = .some(nil)
            return state.newest
        }
        guard let number else { return nil }
        let task = Task {
            await work(number)
            self.state.withLock { $0.tasks[number] = nil }
        }
        // It may have ended already.
        self.state.withLock { if $0.tasks[number] != nil { $0.tasks[number] = task } }
        return number
    }

    /// Asks all of them to end. Their answers come all the same.
    func cancel() {
        for task in self.state.withLock({ Array($0.tasks.values) }) { task?.cancel() }
    }
}
