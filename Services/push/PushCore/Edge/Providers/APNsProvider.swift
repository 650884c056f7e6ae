package import Contract
package import Logging
package import ServerCrypto
package import Telemetry

/// Apple Push Notification service, with token-based authentication.
package actor APNsProvider: PushProvider {
    package struct Key: Sendable {
        /// The ids of the signing key and of the developer team: ten characters each.
        package var id: String
        package var team: String
        package var key: P256PrivateKey

        package init(id: String, team: String, key: P256PrivateKey) {
            self.id = id
            self.team = team
            self.key = key
        }
    }

    package nonisolated let name = PushProviderName.apns
    private nonisolated let client: HTTP2Client
    private nonisolated let rules: APNsRules
    private nonisolated let logger: Logger
    private nonisolated let clock: @Sendable () -> Timestamp
    private let key: Key
    private var life = ProviderTokenLife()

    /// - Parameter clock: for the age of provider tokens.
    package init(
        client: HTTP2Client, rules: APNsRules, key: Key, clock: @escaping @Sendable () -> Timestamp = { .now },
        logger: Logger
    ) {
        self.client = client
        self.rules = rules
        self.key = key
        self.clock = clock
        self.logger = logger
    }

    package nonisolated func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer {
        guard var providerToken = await self.token(at: self.clock()) else { return .later(.credentials, after: nil) }
        for _ in 0..<2 {
            let now = self.clock()
            guard
                let request = self.rules.request(push, to: token, isVoIP: isVoIP, providerToken: providerToken, at: now)
            else { return .tokenGone(asOf: now) }
            let answer = await self.client.answer(to: request, of: push) { APNsRules.answer($0, sentAt: now) }
            guard answer == .staleCredentials else {
                if answer == .later(.credentials, after: nil) {
                    self.logger.error("APNs does not accept the provider token", [.provider: "apns"])
                }
                return answer
            }
            guard let next = await self.replacement(of: providerToken, at: self.clock()) else {
                self.logger.error("APNs takes a young provider token for expired", [.provider: "apns"])
                return .later(.credentials, after: nil)
            }
            providerToken = next
        }
        return .later(.credentials, after: nil)
    }

    private func token(at now: Timestamp) -> String? {
        if self.life.isDue(at: now) { self.renew(at: now) }
        return self.life.token
    }

    /// - Returns: another token than `old`; nil if it is too early for one.
    private func replacement(of old: String, at now: Timestamp) -> String? {
        if self.life.mayReplace(old, at: now) { self.renew(at: now) }
        return self.life.token == old ? nil : self.life.token
    }

    private func renew(at now: Timestamp) {
        guard
            let token = APNsRules.providerToken(keyID: self.key.id, teamID: self.key.team, key: self.key.key, at: now)
        else { return self.logger.error("provider token cannot be signed", [.provider: "apns"]) }
        self.life.made(token, at: now)
    }
}

extension HTTP2Client {
    /// One request, and what its answer means; without an answer the provider is unavailable. Mail and knocks give way to calls.
    nonisolated func answer(
        to request: HTTP2Request, of push: Push, _ meaning: (HTTP2Response) -> PushAnswer
    ) async -> PushAnswer {
        let givesWay =
            switch push.kind {
            case .mail, .knock, .room: true
            case .call, .callOver: false
            }
        do throws(HTTP2Error) {
            return meaning(try await self.send(request, within: PushLimits.requestMax, givesWay: givesWay))
        } catch {
            return error == .full ? .busy : .later(.unavailable, after: nil)
        }
    }
}
