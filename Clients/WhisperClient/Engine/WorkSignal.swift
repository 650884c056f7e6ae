/// Wakes a task of the connection that does the work of one feature. Several calls before the task looks count once, and a call without
/// a connection is lost: each session begins with one.
final class WorkSignal {
    private var continuation: AsyncStream<Void>.Continuation?

    /// To be called once for each connection.
    func begin() -> AsyncStream<Void> {
        let (calls, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.continuation = continuation
        return calls
    }

    func wake() { self.continuation?.yield() }
}
