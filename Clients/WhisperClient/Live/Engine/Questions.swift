import Contract

/// Frames about live conversations that the server answers. `take(live:)` applies answers in the order of arrival; the
/// caller only learns that its answer was received.
extension WhisperClient {
    /// Writes a frame and waits for its answer.
    /// - Parameter entry: data of a room whose first answer begins the visit.
    /// - Returns: the answer; `nil` if it is of a type that this release does not know.
    @discardableResult
    func ask(
        _ frame: some ClientFrame, entering entry: RoomEntry? = nil
    ) async throws(LiveError) -> (any ServerFrame)? {
        guard self.session.isBound, self.token != nil, self.connection != nil, !Task.isCancelled else {
            throw .offline
        }
        self.questionCount += 1
        let number = self.questionCount
        self.write(frame, .question(number))
        let overdue = Task {
            try? await Task.sleep(for: ClientLimits.answerTimeout)
            if !Task.isCancelled { self.answered(number, .failure(.noAnswer)) }
        }
        self.entries[number] = entry
        defer {
            overdue.cancel()
            self.entries[number] = nil
        }
        let answer = await withCheckedContinuation { self.questions[number] = $0 }
        return try answer.get()
    }

    func answered(_ number: UInt64, _ answer: Result<(any ServerFrame)?, LiveError>) {
        self.questions.removeValue(forKey: number)?.resume(returning: answer)
    }

    func failQuestions() {
        for number in self.questions.keys { self.answered(number, .failure(.noAnswer)) }
    }
}
