import Dispatch
import Synchronization
import WhisperClient

/// Tasks of an app that wait for a condition of the core. News wake them, and so does the timer: some changes are told to nobody.
final class Watchers: Sendable {
    private struct State {
        var connection: ConnectionStatus = .connecting
        var newest = 0
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Mutex(State())

    /// How the connection fares, by the newest event of it.
    var connection: ConnectionStatus { self.state.withLock { $0.connection } }

    func tell(_ event: ClientEvent) {
        if case .connection(let status) = event { self.state.withLock { $0.connection = status } }
        self.wake()
    }

    /// Something has changed.
    func wake() {
        for stream in self.state.withLock({ Array($0.streams.values) }) { stream.yield() }
    }

    /// - Returns: an element at once, one after each piece of news, and one each second.
    func news() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = self.state.withLock { state in
            state.newest += 1
            state.streams[state.newest] = continuation
            return state.newest
        }
        continuation.onTermination = { _ in self.state.withLock { $0.streams[number] = nil } }
        self.tick(number)
        return stream
    }

    private func tick(_ number: Int) {
        guard let stream = self.state.withLock({ $0.streams[number] }) else { return }
        stream.yield()
        DispatchQueue.global().asyncAfter(deadline: .now() + CoreLimits.lookEvery) { self.tick(number) }
    }
}
