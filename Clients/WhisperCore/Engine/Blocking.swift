package import Dispatch
import Synchronization

/// Waits for asynchronous work on a thread that may wait: never one of Swift's own.
package enum Blocking {
    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
        let isDone = DispatchSemaphore(value: 0)
    }

    /// - Returns: `nil` if the deadline has passed. The work goes on.
    package static func wait<Value: Sendable>(
        until deadline: DispatchTime = .distantFuture, for work: @escaping @Sendable () async -> Value
    ) -> Value? {
        let box = Box<Value>()
        Task {
            let value = await work()
            box.value.withLock { $0 = value }
            box.isDone.signal()
        }
        guard box.isDone.wait(timeout: deadline) == .success else { return nil }
        return box.value.withLock { $0 }
    }

    /// Blocking work, away from Swift's own threads. Each has a serial queue of its own, which gets a thread at once. A concurrent
    /// queue has as many as there are cores: those who wait there would hold back those they wait for.
    package static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "whisper-core").async { continuation.resume(returning: work()) }
        }
    }
}
