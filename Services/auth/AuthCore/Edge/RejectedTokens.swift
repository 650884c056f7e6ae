import Bus
import ClusterContract
import Contract
import Jobs
import Logging
import Store
import Telemetry

/// Takes push tokens from their devices when a provider has said that they are nobody's. Many of these share the stream.
struct RejectedTokens: Sendable {
    static let group = "auth"

    private let devices: DeviceTable
    private let pool: PostgresPool
    private let consumer: StreamConsumer
    private let logger: Logger

    init(bus: any JobBus, devices: DeviceTable, pool: PostgresPool, instance: Int, logger: Logger) {
        self.devices = devices
        self.pool = pool
        self.consumer = StreamConsumer(
            bus: bus, stream: Keyspace.rejectedTokens.name, group: Self.group, name: "auth-\(instance)",
            bounds: .init(
                claimIdle: AuthLimits.claimIdle, claimEvery: AuthLimits.claimEvery,
                takeMax: AuthLimits.rejectedTokensMax, takeBlockMax: AuthLimits.takeBlockMax,
                retryPause: AuthLimits.busPause))
        self.logger = logger
    }

    /// Works until its task is cancelled. Another process claims the entries that it had taken.
    func run() async {
        var consumer = self.consumer
        while !Task.isCancelled {
            do throws(BusError) {
                let entries = try await consumer.next(AuthLimits.rejectedTokensMax)
                guard await self.clear(entries) else {
                    try? await Task.sleep(for: consumer.bounds.retryPause)
                    continue
                }
                consumer.acknowledge(entries.map(\.id))
            } catch {
                self.logger.debug("rejected tokens not taken", [.error: "\(error)"])
                try? await Task.sleep(for: consumer.bounds.retryPause)
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
