import Dispatch
import Glibc

/// Runs until the body returns, or until Ctrl-C, which does not end the process from here on.
/// - Parameter body: is cancelled by Ctrl-C, and returns soon then.
/// - Returns: `nil` after Ctrl-C.
func untilInterrupted<End: Sendable>(_ body: @escaping @Sendable () async throws -> End) async throws -> End? {
    let (interrupts, interrupted) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    signal(SIGINT, SIG_IGN)
    let signals = DispatchSource.makeSignalSource(signal: SIGINT)
    signals.setEventHandler { interrupted.yield() }
    signals.resume()
    defer { signals.cancel() }
    return try await withThrowingTaskGroup(of: End?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            for await _ in interrupts { break }
            return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
    }
}
