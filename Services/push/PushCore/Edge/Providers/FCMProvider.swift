import Contract
package import Logging
package import Telemetry

/// Firebase Cloud Messaging, HTTP v1.
package actor FCMProvider: PushProvider {
    package nonisolated let name = PushProviderName.fcm
    private nonisolated let client: HTTP2Client
    private nonisolated let rules: FCMRules
    private nonisolated let logger: Logger
    /// Where access tokens come from.
    private let tokens: HTTP2Client
    private let account: ServiceAccount
    private var token: AccessToken?
    private var asking: Task<AccessToken?, Never>?

    package init(client: HTTP2Client, tokens: HTTP2Client, account: ServiceAccount, logger: Logger) {
        self.client = client
        self.tokens = tokens
        self.account = account
        self.rules = FCMRules(project: account.project)
        self.logger = logger
    }

    package nonisolated func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer {
        var refused: AccessToken?
        for _ in 0..<2 {
            guard let access = await self.accessToken(not: refused) else { return .later(.unavailable, after: nil) }
            let now = Timestamp.now
            let request = self.rules.request(push, to: token, accessToken: access.text, at: now)
            let answer = await self.client.answer(to: request, of: push) { FCMRules.answer($0, sentAt: now) }
            guard answer == .staleCredentials else {
                if answer == .later(.credentials, after: nil) {
                    self.logger.error("FCM does not let the service account send", [.provider: "fcm"])
                }
                return answer
            }
            refused = access
        }
        self.logger.error("FCM does not accept a new access token", [.provider: "fcm"])
        return .later(.credentials, after: nil)
    }

    /// - Parameter refused: one that FCM has just refused.
    private func accessToken(not refused: AccessToken?) async -> AccessToken? {
        if let token, token != refused, token.usedUntil > .now { return token }
        // Everybody waits for the same answer.
        if let asking { return await asking.value }
        // Bare: it must not be cancelled with the first who asks.
        let task = Task { await self.ask() }
        self.asking = task
        let token = await task.value
        return token
    }

    private func ask() async -> AccessToken? {
        defer { self.asking = nil }
        let now = Timestamp.now
        guard let request = self.account.tokenRequest(at: now) else {
            self.logger.error("assertion cannot be signed", [.provider: "fcm"])
            return nil
        }
        do throws(HTTP2Error) {
            let response = try await self.tokens.send(request, within: PushLimits.requestMax)
            guard let token = AccessToken(response, at: now) else {
                // A wrong key is for a person; a fault of the other side is not.
                if (400...499).contains(response.status) {
                    self.logger.error("no access token", [.provider: "fcm", .code: .number(response.status)])
                }
                return nil
            }
            self.token = token
            return token
        } catch {
            return nil
        }
    }
}
