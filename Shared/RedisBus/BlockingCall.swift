import Bus
import NIOCore

/// One command that may wait at the server, on a connection lent by `BlockingReaders`. Can be called off.
/// Lives on its event loop.
final class BlockingCall {
    /// Nil: called off.
    typealias Outcome = Result<Reply?, BusError>

    private enum State {
        case new
        /// A connection is being made.
        case lending((Outcome) -> Void)
        case waiting(RedisConnection, deadline: Scheduled<Void>, (Outcome) -> Void)
        /// Terminal.
        case done
    }

    private var state = State.new

    /// - Parameters:
    ///   - blockFor: how long the command lets the server wait.
    ///   - done: called once.
    func start(
        _ command: RedisCommand, blockFor: Duration, on readers: BlockingReaders, eventLoop: any EventLoop,
        done: @escaping (Outcome) -> Void
    ) {
        // Called off before it began.
        guard case .new = self.state else { return done(.success(nil)) }
        self.state = .lending(done)
        readers.lend { result in
            switch result {
            case .failure(let error):
                self.finish(.failure(error))
            case .success(let connection):
                guard case .lending(let done) = self.state else { return readers.giveBack(connection) }
                let limit = TimeAmount(blockFor + RedisLimits.answerMax)
                let deadline = eventLoop.assumeIsolated().scheduleTask(in: limit) { connection.close() }
                self.state = .waiting(connection, deadline: deadline, done)
                let call = NIOLoopBound((self, connection, readers), eventLoop: eventLoop)
                connection.send(
                    command,
                    .answer { result in
                        let (call, connection, readers) = call.value
                        // Given back first: the caller's next read may already use it.
                        readers.giveBack(connection)
                        call.finish(result.map { $0 })
                    })
            }
        }
    }

    /// Ends the call now. The connection goes with it: the server must not answer to nobody.
    func callOff() {
        let old = self.state
        self.finish(.success(nil))
        if case .waiting(let connection, _, _) = old { connection.close() }
    }

    private func finish(_ outcome: Outcome) {
        let old = self.state
        self.state = .done
        switch old {
        case .new, .done: break
        case .lending(let done): done(outcome)
        case .waiting(_, let deadline, let done):
            deadline.cancel()
            done(outcome)
        }
    }
}
