import Bus
import Contract
import Logging
import Store
import Telemetry

/// Takes push tokens from their devices when a provider has said that they are nobody's. Many of these share the stream.
struct RejectedTokens: Sendable {
    static let group = "auth"

    let bus: any JobBus
    let devices: DeviceTable
    let pool: PostgresPool
    let instance: Int
    let logger: Logger

    /// Works until its task is cancelled. What it had taken then is claimed by the next.
    func run() async {
        let stream = Keyspace.rejectedTokens.name
        let consumer = "auth-\(self.instance)"
        var claimedAt: ContinuousClock.Instant?
        while !Task.isCancelled {
            do throws(BusError) {
                var entries: [StreamEntry] = []
                if claimedAt.map({ .now - $0 >= AuthLimits.claimEvery }) ?? true {
                    claimedAt = .now
                    entries = try await self.bus.claim(
                        from: stream, group: Self.group, consumer: consumer, idle: AuthLimits.claimIdle,
                        limit: AuthLimits.rejectedTokensMax)
                }
                if entries.isEmpty {
                    entries = try await self.bus.take(
                        from: stream, group: Self.group, consumer: consumer, limit: AuthLimits.rejectedTokensMax,
                        blockFor: AuthLimits.takeBlockMax)
                }
                guard await self.clear(entries) else {
                    try? await Task.sleep(for: AuthLimits.busPause)
                    continue
                }
                if !entries.isEmpty { self.bus.acknowledge(entries.map(\.id), in: stream, group: Self.group) }
            } catch {
                self.logger.debug("rejected tokens not taken", [.error: "\(error)"])
                try? await Task.sleep(for: AuthLimits.busPause)
            }
        }
    }

    /// - Returns: whether it is done; otherwise the Jobs come again.
    private func clear(_ entries: [StreamEntry]) async -> Bool {
        let tokens = entries.compactMap { entry -> RejectedToken? in
            if let token = try? RejectedToken(decoding: entry.bytes) { return token }
            // A newer release's, or a bug: taking it again would not help.
            self.logger.error("job not understood", [.stream: "\(Keyspace.rejectedTokens.name)"])
            return nil
        }
        guard !tokens.isEmpty else { return true }
        do throws(StoreError) {
            let cleared = try await self.devices.clear(tokens, in: self.pool)
            self.logger.debug("push tokens cleared", [.count: .number(cleared)])
            return true
        } catch {
            self.logger.warning("push tokens not cleared", [.error: "\(error)"])
            return false
        }
    }
}
