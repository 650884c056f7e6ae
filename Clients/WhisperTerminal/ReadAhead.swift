import Dispatch

/// The elements that a blocking call returns, read on a thread of its own. The thread waits while `waitingMax` elements
/// are not taken: nothing is lost, and a pipe keeps the rest. For one reader.
struct ReadAhead<Element: Sendable>: AsyncSequence, Sendable {
    private let elements: AsyncStream<Element>
    /// Counts the elements that may be read before the next one is taken.
    private let room: DispatchSemaphore

    /// - Parameters:
    ///   - waitingMax: elements that are read and not taken.
    ///   - read: blocks; `nil` is the end.
    init(label: String, waitingMax: Int, read: @escaping @Sendable () -> Element?) {
        let (elements, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingOldest(waitingMax))
        // A semaphore must not go with a lower value than it was made with.
        let room = DispatchSemaphore(value: 0)
        for _ in 0..<waitingMax { room.signal() }
        self.elements = elements
        self.room = room
        // A reader that stops lets the thread go.
        continuation.onTermination = { _ in room.signal() }
        DispatchQueue(label: label).async {
            while true {
                room.wait()
                guard let element = read() else { return continuation.finish() }
                if case .terminated = continuation.yield(element) { return }
            }
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(elements: self.elements.makeAsyncIterator(), room: self.room)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var elements: AsyncStream<Element>.Iterator
        fileprivate let room: DispatchSemaphore

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> Element? {
            let element = await self.elements.next(isolation: actor)
            if element != nil { self.room.signal() }
            return element
        }
    }
}
