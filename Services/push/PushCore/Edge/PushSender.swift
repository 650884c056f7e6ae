import Bus
import ClusterContract
import Contract
import Logging
import ServerCrypto
import Telemetry

/// Finds the way to a device, tries it once, counts it, and tells auth of tokens that are gone.
struct PushSender: Sendable {
    struct Attempt: Sendable {
        /// `log` when there was nobody to ask.
        var provider: PushProviderName
        /// Nil: the device has shown no token for this.
        var answer: PushAnswer?
        /// As it is counted, and shown to operators.
        var result: PushResult { self.answer?.result ?? .noToken }
    }

    private struct Way {
        var token: String
        var kind: RejectedToken.Kind
    }

    let providers: PushProviders
    let bus: any JobBus
    let logger: Logger
    let metrics = PushMetrics()

    /// - Parameter queuedAt: when the Job was; for the latency of those that are sent.
    func attempt(
        _ push: Push, for recipient: WhisperID, on device: RecipientTable.Device?, queuedAt: Timestamp?
    ) async -> Attempt {
        guard let device, let way = Self.way(push, to: device) else {
            self.metrics.tried(.log, .noToken)
            self.logger.debug("wake without token", [.wakeId: "\(push.wakeID)"])
            return Attempt(provider: .log, answer: nil)
        }
        var push = push
        push.tag = device.wakeSecret?.tag(of: push.wakeID) { hmacSHA256(key: $0, $1).bytes }
        push.isShared = device.isShared
        let provider = self.providers.provider(of: way.token, platform: device.platform)
        let answer = await provider.send(push, to: way.token, isVoIP: way.kind == .voip)
        self.metrics.tried(provider.name, answer.result)
        switch answer {
        case .sent:
            if let queuedAt {
                let waited = max(0, Timestamp.now.milliseconds - queuedAt.milliseconds)
                self.metrics.latency.recordMilliseconds(waited)
            }
            self.logger.debug("wake sent", [.wakeId: "\(push.wakeID)", .provider: "\(provider.name)"])
        case .tokenGone(let asOf):
            self.logger.debug("token gone", [.wakeId: "\(push.wakeID)", .provider: "\(provider.name)"])
            let rejected = RejectedToken(
                identity: recipient, kind: way.kind, tokenHash: SHA256.hash(Array(way.token.utf8)), asOf: asOf)
            // Lost: the provider says it again at the next push.
            self.bus.append(rejected, to: Keyspace.rejectedTokens) { _ in }
        case .refused:
            self.logger.error("provider refuses a push", [.wakeId: "\(push.wakeID)", .provider: "\(provider.name)"])
        case .later, .busy, .staleCredentials:
            self.logger.debug(
                "wake not sent",
                [.wakeId: "\(push.wakeID)", .provider: "\(provider.name)", .reason: "\(answer.result.rawValue)"])
        }
        return Attempt(provider: provider.name, answer: answer)
    }

    /// Calls go to the token that only takes calls, if there is one.
    private static func way(_ push: Push, to device: RecipientTable.Device) -> Way? {
        switch push.kind {
        case .call, .callOver:
            if let token = device.voipToken, device.platform == .ios { return Way(token: token, kind: .voip) }
        // A push to the token for calls has to ring.
        case .mail, .knock, .room: break
        }
        return device.pushToken.map { Way(token: $0, kind: .push) }
    }
}
