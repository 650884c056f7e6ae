import Bus
import NIOCore

extension RedisBus {
    package func pause(for time: Duration) async throws(CancellationError) {
        let pause = NIOLoopBoundBox.makeBoxSendingValue(LoopPause(), eventLoop: self.eventLoop)
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let start: @Sendable () -> Void = {
                    pause.value.start(for: time, on: self.eventLoop) { continuation.resume() }
                }
                self.eventLoop.inEventLoop ? start() : self.eventLoop.execute(start)
            }
        } onCancel: {
            self.eventLoop.execute { pause.value.end() }
        }
        if Task.isCancelled { throw CancellationError() }
    }
}

/// One wait on an event loop, ended by its timer or before. Lives on that loop.
private final class LoopPause {
    private enum State {
        case new
        case waiting(Scheduled<Void>, () -> Void)
        /// Terminal.
        case over
    }

    private var state = State.new

    /// - Parameter done: called once.
    func start(for time: Duration, on eventLoop: any EventLoop, done: @escaping () -> Void) {
        // Ended before it began.
        guard case .new = self.state else { return done() }
        self.state = .waiting(eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { self.end() }, done)
    }

    func end() {
        let old = self.state
        self.state = .over
        guard case .waiting(let timer, let done) = old else { return }
        timer.cancel()
        done()
    }
}
