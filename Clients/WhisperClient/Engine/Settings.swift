package import Contract

/// The user's preferences, and the device's push tokens.
extension WhisperClient {
    package func set(_ changes: [Preferences.Name: Bool]) throws(ClientStoreError) -> Preferences {
        let (before, after) = try self.store.set(changes)
        guard before != after else { return after }
        self.presence.forget(after, self)
        if after.backsUp, !before.backsUp { self.backup.wake() }
        self.publish(.passing(.settings(after)))
        return after
    }

    /// Keeps push tokens, and gives them to the server: now, or with the next session.
    package func set(push: UpdateTokens.Change, voip: UpdateTokens.Change) throws(ClientStoreError) {
        if try self.store.set(push: push, voip: voip) { self.tokenWishes?.yield() }
    }

    /// Sends the tokens to the server. After a failure the next change or connection tries again.
    func sendTokens() async {
        var failures = 0
        while !Task.isCancelled, self.session.isBound, failures < ClientLimits.attemptsMax {
            var delay = Duration.zero
            do throws(InquiryError) {
                let owed: OwedTokens?
                do { owed = try self.store.owedTokens() } catch { throw .store(error) }
                guard let owed else { return }
                try await self.inquire(UpdateTokens(push: owed.push, voip: owed.voip))
                do { try self.store.tokensArrived(owed) } catch { throw .store(error) }
                continue
            } catch {
                if case .store(let error) = error { return self.storeFailed(error) }
                guard error.isTemporary else { return self.logger.warning("the push tokens were not taken") }
                if case .refused(_, let retryAfter?) = error { delay = retryAfter }
            }
            failures += 1
            delay = max(delay, ClientLimits.resend.delay(after: failures, using: &self.random))
            try? await Task.sleep(for: delay)
        }
    }
}
