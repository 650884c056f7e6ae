package import Bus
package import Logging

/// - Parameters:
///   - instance: number of this process among those of push.
///   - provider: what sends; the log alone until there is another.
package func makePush(
    instance: Int, bus: any JobBus, provider: some PushProvider, logger: Logger
) -> PushService {
    // A consumer's name is never used again: what a dead one held is claimed, not found.
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    return PushService(consumer: "push-\(instance)-\(random)", bus: bus, provider: provider, logger: logger)
}
