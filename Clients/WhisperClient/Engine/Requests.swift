package import Contract

/// Questions of features to the server, and the tasks that they begin.
extension WhisperClient: MailHost, LiveHost, RoomHost {
    package func nextQuestion() -> UInt64 { self.questions.next() }

    @discardableResult
    package func ask(_ frame: some ClientFrame, as number: UInt64?) async throws(LiveError) -> (any ServerFrame)? {
        guard self.session.isBound, self.token != nil, self.connection != nil, !Task.isCancelled else {
            throw .offline
        }
        let number = number ?? self.questions.next()
        self.write(frame, .question(number))
        let overdue = Task {
            try? await Task.sleep(for: ClientLimits.answerTimeout)
            if !Task.isCancelled { self.questions.answered(number, .failure(.noAnswer)) }
        }
        defer { overdue.cancel() }
        return try await self.questions.answer(to: number, self).get()
    }

    package func begin(_ task: @escaping @Sendable (isolated WhisperClient) async -> Void) {
        self.tasks?.yield(task)
    }

    /// Runs the features' tasks concurrently, until the connection ends.
    func perform(_ tasks: AsyncStream<@Sendable (isolated WhisperClient) async -> Void>) async {
        await withDiscardingTaskGroup { group in
            for await task in tasks {
                group.addTask {
                    await task(self)
                    await self.pump()
                }
            }
            group.cancelAll()
        }
    }
}
