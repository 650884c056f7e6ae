package import Contract
import Logging

/// The identity at the server: its session's end, its erasure (contract §20.2) and export (§20.5), reports to the operators, the user's preferences and the
/// device's push tokens.
package final class Account {
    private let keys: IdentityKeys
    private let store: ClientStore
    private let server: any ServerLink
    private let logger: Logger
    private var random = SystemRandomNumberGenerator()
    let signal = WorkSignal()

    init(keys: IdentityKeys, store: ClientStore, server: any ServerLink, logger: Logger) {
        self.keys = keys
        self.store = store
        self.server = server
        self.logger = logger
    }

    /// Ends the session at the server, and the client with it. The push tokens go too.
    package func logOut(_ host: isolated some ServerHost) async throws(InquiryError) {
        try await host.inquire(Logout())
    }

    /// Erases our identity at the server. Mail that we have queued goes out before, if the server takes it in time.
    /// - Parameters:
    ///   - confirmed: our own id, which the person has confirmed. Nothing is signed for another one.
    ///   - patience: how long to wait for the outbox.
    /// - Returns: the erasure's id, which names it to operators. `nil`: the server has refused our login because the identity was erased
    ///   before, perhaps by a call whose answer was lost.
    package func leave(
        _ confirmed: WhisperID, sentMail: AccountDelete.SentMail, patience: Duration = ClientLimits.leavingPatience,
        _ host: isolated some ServerHost
    ) async throws(InquiryError) -> UUIDText? {
        if host.id == confirmed, host.stopReason == .refused(.erased) { return nil }
        guard host.id == confirmed, host.token != nil else { throw .offline }
        try await self.emptyOutbox(within: patience, host)
        guard let challenge = try await host.inquire(AccountDeleteBegin()) as? AccountDeleteChallenge else {
            throw .noAnswer
        }
        guard challenge.challenge.count == Limits.challengeBytes,
            challenge.challenge.starts(with: AccountDeleteChallenge.prefix)
        else {
            host.stop(.foreignChallenge)
            throw .offline
        }
        let statement = AccountDelete.statement(
            challengeID: challenge.challengeID, whisperID: confirmed, sentMail: sentMail, challenge: challenge.challenge
        )
        let frame = AccountDelete(
            challengeID: challenge.challengeID, whisperID: confirmed, sentMail: sentMail,
            signature: Bytes64(self.keys.sign(erasure: statement))!)
        guard let done = try await host.inquire(frame) as? AccountDeleted else { throw .noAnswer }
        return done.erasureID
    }

    /// Asks the server what it holds about us.
    /// - Returns: JSON, as the server has written it.
    package func export(_ host: isolated some ServerHost) async throws(InquiryError) -> [UInt8] {
        guard let token = host.token else { throw .offline }
        let answer: HTTPAnswer
        do { answer = try await self.server.get("/account/export", bearer: token.token) } catch { throw .noAnswer }
        // A ban ends the session.
        guard answer.status != 403 else { throw .offline }
        return try Self.body(of: answer)
    }

    /// Asks something of the server over HTTP.
    func post(
        _ path: String, _ body: JSONWriter, _ host: isolated some ServerHost
    ) async throws(InquiryError) -> [UInt8] {
        guard let token = host.token else { throw .offline }
        let answer: HTTPAnswer
        do { answer = try await self.server.post(path, body.finished(), bearer: token.token) } catch { throw .noAnswer }
        return try Self.body(of: answer)
    }

    private static func body(of answer: HTTPAnswer) throws(InquiryError) -> [UInt8] {
        switch answer.status {
        case 200: return answer.body
        case 401: throw .offline
        case 403: throw .refused(.forbidden, retryAfter: nil)
        case 404: throw .refused(.notFound, retryAfter: nil)
        case 429: throw .refused(.rateLimited, retryAfter: nil)
        default: throw .refused(nil, retryAfter: nil)
        }
    }

    private func emptyOutbox(
        within patience: Duration, _ host: isolated some ServerHost
    ) async throws(InquiryError) {
        let end = ContinuousClock.now + patience
        do throws(ClientStoreError) {
            while try !self.store.waitingChats(limit: 1).isEmpty, .now < end, !Task.isCancelled {
                try? await Task.sleep(for: ClientLimits.leavingLook)
            }
        } catch {
            throw .store(error)
        }
    }

    /// - Parameters:
    ///   - note: of the person here. The operators read it.
    ///   - evidence: a message of `target`.
    package func report(
        _ target: WhisperID, _ reason: Report.Reason, note: String?, evidence: Evidence? = nil,
        _ host: isolated some ServerHost
    ) async throws(InquiryError) -> UUIDText {
        let envelope: SignedEnvelope?
        do throws(PayloadViolation) {
            envelope = if let evidence { try evidence.sealed.envelope(evidence.messageType) } else { nil }
        } catch {
            throw .refused(.invalidPayload, retryAfter: nil)
        }
        let report = Report(target, reason, note: note, evidence: envelope)
        guard let ack = try await host.inquire(report) as? ReportAck else { throw .noAnswer }
        return ack.reportID
    }

    // MARK: Settings

    package func set(
        _ changes: [Preferences.Name: Bool], _ host: isolated some MailHost
    ) throws(ClientStoreError) -> Preferences {
        let (before, after) = try self.store.set(changes)
        guard before != after else { return after }
        if after.backsUp, !before.backsUp { host.backup.wake() }
        host.publish(.passing(.settings(after)))
        return after
    }

    /// Keeps push tokens, and gives them to the server: now, or with the next session.
    package func set(
        push: UpdateTokens.Change<String>, voip: UpdateTokens.Change<String>
    ) throws(ClientStoreError) {
        if try self.store.set(push: push, voip: voip) { self.signal.wake() }
    }

    /// Sends the tokens to the server. After a failure the next change or connection tries again.
    func work(_ host: isolated some ServerHost) async {
        var failures = 0
        while !Task.isCancelled, host.isOnline, failures < ClientLimits.attemptsMax {
            var delay = Duration.zero
            do throws(InquiryError) {
                let owed: OwedTokens?
                do { owed = try self.store.owedTokens() } catch { throw .store(error) }
                guard let owed else { return }
                try await host.inquire(
                    UpdateTokens(push: owed.push, voip: owed.voip, wakeSecret: owed.wakeSecret))
                do { try self.store.tokensArrived(owed) } catch { throw .store(error) }
                continue
            } catch {
                if case .store(let error) = error { return host.storeFailed(error) }
                guard error.isTemporary else { return self.logger.warning("the push tokens were not taken") }
                if case .refused(_, let retryAfter?) = error { delay = retryAfter }
            }
            failures += 1
            delay = max(delay, ClientLimits.resend.delay(after: failures, using: &self.random))
            try? await Task.sleep(for: delay)
        }
    }
}
