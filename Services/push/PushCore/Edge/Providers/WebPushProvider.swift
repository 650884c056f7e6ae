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
    private let eventLoop: any EventLoop
    private let logger: Logger
    private var services: [HTTP2Client.Origin: Service] = [:]

    /// A push service that was used lately.
    private struct Service {
        var client: HTTP2Client
        var authorization: String
        var authorizedAt: Timestamp
        var usedAt: ContinuousClock.Instant
    }

    /// - Parameter allowsPrivateAddresses: for a push service of one's own behind the same firewall.
    package init(
        rules: WebPushRules, tls: NIOSSLContext, allowsPrivateAddresses: Bool, eventLoop: any EventLoop, logger: Logger
    ) {
        self.rules = rules
        self.tls = tls
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.eventLoop = eventLoop
        self.logger = logger
    }

    package nonisolated func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer {
        guard let subscription = WebPushSubscription(token) else { return .tokenGone(asOf: .now) }
        guard let (client, authorization) = await self.service(of: subscription.endpoint) else {
            return .later(.unavailable, after: nil)
        }
        let now = Timestamp.now
        let request = self.rules.request(
            push, to: subscription, authorization: authorization, sender: P256PrivateKey(), salt: randomBytes(16), at: now)
        guard let request else { return .refused }
        return await client.answer(to: request) { WebPushRules.answer($0, sentAt: now) }
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
                origin: origin, tls: self.tls, allowsPrivateAddresses: self.allowsPrivateAddresses,
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
