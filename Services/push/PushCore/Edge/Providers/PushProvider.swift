import Contract
package import Logging
package import Telemetry

/// Where wake-ups leave the cluster. Tokens reach neither a log nor a metric.
package protocol PushProvider: Sendable {
    var name: PushProviderName { get }

    /// Tries once, within `PushLimits.requestMax` and what a new access token takes.
    /// - Parameter isVoIP: the token is one that only takes calls.
    func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer
}

/// Says in the log that somebody would have been woken; not who. For a cluster without a provider's keys.
package struct LogProvider: PushProvider {
    package let name = PushProviderName.log
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    package func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer {
        self.logger.notice("wakeup sent", [.wakeId: "\(push.wakeID)"])
        return .sent
    }
}

/// The provider for each token.
package struct PushProviders: Sendable {
    private let apns: any PushProvider
    private let fcm: any PushProvider
    private let webPush: any PushProvider

    /// - Parameter standIn: for those that have no keys.
    package init(
        apns: (any PushProvider)? = nil, fcm: (any PushProvider)? = nil, webPush: (any PushProvider)? = nil,
        standIn: any PushProvider
    ) {
        self.apns = apns ?? standIn
        self.fcm = fcm ?? standIn
        self.webPush = webPush ?? standIn
    }

    /// A token's form comes before its platform: a subscription is one wherever it was made.
    func provider(of token: String, platform: Platform) -> any PushProvider {
        if token.hasPrefix(WebPushSubscription.prefix) { return self.webPush }
        return switch platform {
        case .ios: self.apns
        case .android: self.fcm
        }
    }
}
