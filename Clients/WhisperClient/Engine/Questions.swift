import Contract

/// Callers that wait for the server's answers, by the numbers of their questions. The features take answers in the
/// order of arrival; the caller only learns that its answer was received.
final class Questions {
    private var waiting: [UInt64: CheckedContinuation<Result<(any ServerFrame)?, LiveError>, Never>] = [:]
    private(set) var count: UInt64 = 0

    func next() -> UInt64 {
        self.count += 1
        return self.count
    }

    func answer(
        to number: UInt64, _ host: isolated some ClientHost
    ) async -> Result<(any ServerFrame)?, LiveError> {
        await withCheckedContinuation { self.waiting[number] = $0 }
    }

    func answered(_ number: UInt64, _ answer: Result<(any ServerFrame)?, LiveError>) {
        self.waiting.removeValue(forKey: number)?.resume(returning: answer)
    }

    func fail() {
        for number in self.waiting.keys { self.answered(number, .failure(.noAnswer)) }
    }
}
