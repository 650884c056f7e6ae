import Bus

/// The receiver of the answer to one command. Called exactly once, on the connection's event loop.
enum ReplyHandler: Sendable {
    /// Nobody: lost without a word.
    case nobody
    /// Told if the command failed, or perhaps failed.
    case failure(@Sendable (BusError) -> Void)
    /// As `answer`, by somebody who does not wait for it.
    case news(@Sendable (Result<Reply, BusError>) -> Void)
    /// Told the answer, or why there is none.
    case answer(@Sendable (Result<Reply, BusError>) -> Void)

    /// Somebody waits for the answer.
    var isAwaited: Bool { if case .answer = self { true } else { false } }

    func fail(_ error: BusError) {
        switch self {
        case .nobody: break
        case .failure(let failed): failed(error)
        case .news(let answered), .answer(let answered): answered(.failure(error))
        }
    }

    func hear(_ reply: borrowing Reply) {
        switch self {
        case .nobody: break
        case .failure(let failed):
            if let failure = reply.failure { failed(failure) }
        case .news(let answered), .answer(let answered):
            if let failure = reply.failure { answered(.failure(failure)) } else { answered(.success(copy reply)) }
        }
    }
}
