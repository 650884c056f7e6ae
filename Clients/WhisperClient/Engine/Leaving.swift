package import Contract

/// Our identity leaves the server for good (contract §20.2).
extension WhisperClient {
    /// Erases our identity at the server. Mail that we have queued goes out before, if the server takes it in time.
    /// - Parameters:
    ///   - confirmed: our own id, which the person has confirmed. Nothing is signed for another one.
    ///   - patience: how long to wait for the outbox.
    /// - Returns: the erasure's id, which names it to operators.
    package func leave(
        _ confirmed: WhisperID, sentMail: AccountDelete.SentMail, patience: Duration = ClientLimits.leavingPatience
    ) async throws(InquiryError) -> UUIDText {
        guard self.id == confirmed, self.token != nil else { throw .offline }
        try await self.emptyOutbox(within: patience)
        guard let challenge = try await self.inquire(AccountDeleteBegin()) as? AccountDeleteChallenge else {
            throw .noAnswer
        }
        guard challenge.challenge.count == Limits.challengeBytes,
            challenge.challenge.starts(with: AccountDeleteChallenge.prefix)
        else {
            self.perform(self.session.refuse(.foreignChallenge))
            throw .offline
        }
        let statement = AccountDelete.statement(
            challengeID: challenge.challengeID, whisperID: confirmed, sentMail: sentMail, challenge: challenge.challenge
        )
        let frame = AccountDelete(
            challengeID: challenge.challengeID, whisperID: confirmed, sentMail: sentMail,
            signature: Bytes64(self.keys.sign(erasure: statement))!)
        guard let done = try await self.inquire(frame) as? AccountDeleted else { throw .noAnswer }
        return done.erasureID
    }

    private func emptyOutbox(within patience: Duration) async throws(InquiryError) {
        let end = ContinuousClock.now + patience
        do throws(ClientStoreError) {
            while try !self.store.waitingChats(limit: 1).isEmpty, .now < end, !Task.isCancelled {
                try? await Task.sleep(for: ClientLimits.leavingLook)
            }
        } catch {
            throw .store(error)
        }
    }

    /// Nobody logs in with these keys again.
    func erased() {
        self.keep(nil)
        self.perform(self.session.refuse(.refused(.erased)))
    }
}
