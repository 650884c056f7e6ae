import Synchronization

/// One text message of the server, as JSON that scripts look into: tests of the wire do not use the shared readers.
package struct JSONFrame: Sendable, CustomStringConvertible {
    package var type: String
    package var requestID: String?
    package var payload: JSON
    /// As it came.
    package var text: String
    package var arrivedAt: ContinuousClock.Instant

    /// The code of an `error` frame.
    package var errorCode: String? { self.type == "error" ? self.payload["code"]?.string : nil }
    package var description: String { self.text.count > 400 ? self.text.prefix(400) + "…" : self.text }
}

/// How a connection ended.
package enum Ending: Equatable, Sendable {
    case closed(code: Int, reason: String)
    /// Without a close frame.
    case dropped
    /// The client gave up: more frames than `Inbox.framesMax` waited for the test.
    case flooded

    /// Code of the server's close frame.
    package var code: Int? { if case .closed(let code, _) = self { code } else { nil } }
}

/// An awaited frame or ending did not come.
package struct Missing: Error, CustomStringConvertible {
    package var what: String
    package var after: Duration
    package var ending: Ending?
    /// Frames that came instead and were not taken.
    package var waiting: [String]

    package var description: String {
        "\(self.what) did not come within \(self.after); the connection \(self.ending.map { "ended: \($0)" } ?? "is open"); "
            + "waiting: \(self.waiting)"
    }
}

/// Collects what a server says, in order of arrival, until the test takes it.
final class Inbox: Sendable {
    static let framesMax = 50_000

    private struct Waiter {
        var number: Int
        var matches: @Sendable (JSONFrame) -> Bool
        var isForEnding: Bool
        var continuation: CheckedContinuation<JSONFrame?, Never>
    }

    private struct State {
        var frames: [JSONFrame] = []
        var pongs: [[UInt8]] = []
        var ending: Ending?
        var endedAt: ContinuousClock.Instant?
        var waiters: [Waiter] = []
        var next = 0
        var answersPings = true
        var answersClose = true
    }

    private let state = Mutex(State())

    /// - Returns: whether there was room.
    func add(_ frame: JSONFrame) -> Bool {
        let (waiter, hasRoom) = self.state.withLock { state -> (Waiter?, Bool) in
            if let index = state.waiters.firstIndex(where: { !$0.isForEnding && $0.matches(frame) }) {
                return (state.waiters.remove(at: index), true)
            }
            guard state.frames.count < Self.framesMax else { return (nil, false) }
            state.frames.append(frame)
            return (nil, true)
        }
        waiter?.continuation.resume(returning: frame)
        return hasRoom
    }

    func add(pong: [UInt8]) { self.state.withLock { $0.pongs.append(pong) } }

    /// The first end counts.
    func end(_ ending: Ending) {
        let waiters = self.state.withLock { state -> [Waiter] in
            guard state.ending == nil else { return [] }
            state.ending = ending
            state.endedAt = .now
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    var answersPings: Bool {
        get { self.state.withLock { $0.answersPings } }
        set { self.state.withLock { $0.answersPings = newValue } }
    }
    var answersClose: Bool {
        get { self.state.withLock { $0.answersClose } }
        set { self.state.withLock { $0.answersClose = newValue } }
    }
    var frames: [JSONFrame] { self.state.withLock { $0.frames } }
    var pongs: [[UInt8]] { self.state.withLock { $0.pongs } }
    var ending: Ending? { self.state.withLock { $0.ending } }
    var endedAt: ContinuousClock.Instant? { self.state.withLock { $0.endedAt } }

    /// Takes the oldest matching frame, waiting for it if need be.
    /// - Parameter schedule: calls its argument after the timeout.
    /// - Returns: nil if the timeout or the connection ended first.
    func take(
        _ matches: @escaping @Sendable (JSONFrame) -> Bool, until schedule: (@escaping @Sendable () -> Void) -> Void
    ) async -> JSONFrame? {
        await self.wait(matches, isForEnding: false, until: schedule)
    }

    func waitForEnding(until schedule: (@escaping @Sendable () -> Void) -> Void) async {
        _ = await self.wait({ _ in false }, isForEnding: true, until: schedule)
    }

    private func wait(
        _ matches: @escaping @Sendable (JSONFrame) -> Bool, isForEnding: Bool,
        until schedule: (@escaping @Sendable () -> Void) -> Void
    ) async -> JSONFrame? {
        await withCheckedContinuation { continuation in
            enum Outcome { case now(JSONFrame?), waits(Int) }
            let outcome = self.state.withLock { state -> Outcome in
                if !isForEnding, let index = state.frames.firstIndex(where: matches) {
                    return .now(state.frames.remove(at: index))
                }
                guard state.ending == nil else { return .now(nil) }
                state.next += 1
                state.waiters.append(
                    Waiter(number: state.next, matches: matches, isForEnding: isForEnding, continuation: continuation))
                return .waits(state.next)
            }
            switch outcome {
            case .now(let frame): continuation.resume(returning: frame)
            case .waits(let number): schedule { self.giveUp(number) }
            }
        }
    }

    private func giveUp(_ number: Int) {
        let waiter = self.state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: nil)
    }
}
