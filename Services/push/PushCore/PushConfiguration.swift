package import Logging
package import NIOCore
import NIOSSL
import ServerCrypto
import Telemetry

/// The keys and places of the providers, as plain values. Nil where there is no key: the log stands in.
package struct PushConfiguration: Sendable {
    package struct APNs: Sendable {
        package var address: HTTPSAddress
        package var rules: APNsRules
        package var key: APNsProvider.Key

        package init(address: HTTPSAddress, rules: APNsRules, key: APNsProvider.Key) {
            self.address = address
            self.rules = rules
            self.key = key
        }
    }

    package struct FCM: Sendable {
        package var address: HTTPSAddress
        package var account: ServiceAccount

        package init(address: HTTPSAddress, account: ServiceAccount) {
            self.address = address
            self.account = account
        }
    }

    package struct WebPush: Sendable {
        package var rules: WebPushRules
        package var allowsPrivateAddresses: Bool

        package init(rules: WebPushRules, allowsPrivateAddresses: Bool) {
            self.rules = rules
            self.allowsPrivateAddresses = allowsPrivateAddresses
        }
    }

    package var apns: APNs?
    package var fcm: FCM?
    package var webPush: WebPush?
    /// A PEM file of authorities to trust beside the system's.
    package var authorities: String?

    package init(apns: APNs? = nil, fcm: FCM? = nil, webPush: WebPush? = nil, authorities: String? = nil) {
        self.apns = apns
        self.fcm = fcm
        self.webPush = webPush
        self.authorities = authorities
    }

    /// - Throws: the authorities cannot be read.
    package func providers(eventLoop: any EventLoop, logger: Logger) throws -> PushProviders {
        let tls = try ClientTLS.context(authorities: self.authorities)
        func client(_ address: HTTPSAddress, _ provider: PushProviderName) -> HTTP2Client {
            var logger = logger
            logger[.provider] = "\(provider)"
            return HTTP2Client(
                origin: HTTP2Client.Origin(host: address.host, port: address.port), tls: tls, eventLoop: eventLoop,
                logger: logger)
        }
        return PushProviders(
            apns: self.apns.map {
                APNsProvider(client: client($0.address, .apns), rules: $0.rules, key: $0.key, logger: logger)
            },
            fcm: self.fcm.map {
                FCMProvider(
                    client: client($0.address, .fcm), tokens: client($0.account.tokenURL, .fcm), account: $0.account,
                    logger: logger)
            },
            webPush: self.webPush.map {
                WebPushProvider(
                    rules: $0.rules, tls: tls, allowsPrivateAddresses: $0.allowsPrivateAddresses, eventLoop: eventLoop,
                    logger: logger)
            },
            standIn: LogProvider(logger: logger))
    }
}
