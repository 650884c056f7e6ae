import Contract
package import Logging
package import NIOCore
package import NIOSSL
import ServerCrypto
package import Telemetry

/// Web Push and UnifiedPush: any push service that a client names, so long as it stands on a public address.
package actor WebPushProvider: PushProvider {
    package nonisolated let name = PushProviderName.webpush
    private nonisolated let rules: WebPushRules
    private let tls: NIOSSLContext
    private let allowsPrivateAddresses: Bool
    private let names: ClientNames
    private let eventLoop: any EventLoop
    private let logger: Logger
    private var services: [HTTP2Client.Origin: Service] = [:]
    // Calls do not wait behind mail, here neither.
    private var mail = OriginShares()
    private var calls = OriginShares()

    /// A push service that was used lately.
    private struct Service {
        var client: HTTP2Client
        var authorization: String
        var authorizedAt: Timestamp
        var usedAt: ContinuousClock.Instant
    }

    /// - Parameters:
    ///   - allowsPrivateAddresses: for a push service of one's own behind the same firewall.
    ///   - names: what looks their hosts up.
    package init(
        rules: WebPushRules, tls: NIOSSLContext, allowsPrivateAddresses: Bool, names: ClientNames = ClientNames(),
        eventLoop: any EventLoop, logger: Logger
    ) {
        self.rules = rules
        self.tls = tls
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.names = names
        self.eventLoop = eventLoop
        self.logger = logger
    }

    package nonisolated func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer {
        guard let subscription = WebPushSubscription(token) else { return .tokenGone(asOf: .now) }
        guard let share = await self.begin(push.kind, at: subscription.endpoint.origin) else { return .busy }
        let answer = await self.send(push, to: subscription)
        await self.end(share, of: push.kind)
        return answer
    }

    private nonisolated func send(_ push: Push, to subscription: WebPushSubscription) async -> PushAnswer {
        guard let (client, authorization) = await self.service(of: subscription.endpoint) else {
            return .later(.unavailable, after: nil)
        }
        let now = Timestamp.now
        let request = self.rules.request(
            push, to: subscription, authorization: authorization, sender: P256PrivateKey(), salt: randomBytes(16),
            at: now)
        guard let request else { return .refused }
        return await client.answer(to: request, of: push) { WebPushRules.answer($0, sentAt: now) }
    }

    private func begin(_ kind: Push.Kind, at origin: String) -> OriginShares.Share? {
        switch kind {
        case .mail, .knock, .room: return self.mail.begin(origin, at: .now)
        case .call, .callOver: return self.calls.begin(origin, at: .now)
        }
    }

    private func end(_ share: OriginShares.Share, of kind: Push.Kind) {
        switch kind {
        case .mail, .knock, .room: self.mail.end(share)
        case .call, .callOver: self.calls.end(share)
        }
    }

    private func service(of endpoint: HTTPSAddress) async -> (HTTP2Client, String)? {
        let origin = HTTP2Client.Origin(host: endpoint.host, port: endpoint.port)
        let now = Timestamp.now
        if let known = self.services[origin], now < known.authorizedAt + WebPushRules.tokenUsedFor,
            now >= known.authorizedAt - .seconds(60)
        {
            self.services[origin]?.usedAt = .now
            return (known.client, known.authorization)
        }
        guard let authorization = self.rules.authorization(for: endpoint.origin, at: now) else {
            self.logger.error("VAPID token cannot be signed", [.provider: "webpush"])
            return nil
        }
        let client =
            self.services[origin]?.client
            ?? HTTP2Client(
                origin: origin, tls: self.tls, allowsPrivateAddresses: self.allowsPrivateAddresses, names: self.names,
                eventLoop: self.eventLoop, logger: self.logger)
        self.services[origin] = Service(
            client: client, authorization: authorization, authorizedAt: now, usedAt: .now)
        await self.forgetOldest(but: origin)
        return (client, authorization)
    }

    /// Clients name these services: no more than some are kept.
    private func forgetOldest(but newest: HTTP2Client.Origin) async {
        guard self.services.count > PushLimits.webPushServicesMax,
            let oldest = self.services.filter({ $0.key != newest }).min(by: { $0.value.usedAt < $1.value.usedAt })?.key,
            let service = self.services.removeValue(forKey: oldest)
        else { return }
        await service.client.close()
    }
}
