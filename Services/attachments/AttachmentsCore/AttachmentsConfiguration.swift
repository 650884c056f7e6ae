package import ClusterContract
import Contract

/// Everything this service is told from outside, beside where its store is.
package struct AttachmentsConfiguration: Sendable {
    /// Live uploads of one identity, in bytes.
    package var quotaBytes = Limits.attachmentQuotaBytes
    /// Live uploads of all identities without a peer together, in bytes.
    package var strangersBytesMax = Limits.strangersStoreBytesMax
    /// Room of a store that cannot be asked for it, in bytes; nil: unknown, and never full.
    package var storeBytes: Int64?
    /// Free space below which no upload is begun: in percent of the store's room, or in bytes if that is less.
    package var floorPercent = Limits.storeFloorPercent
    package var floorBytes = Limits.storeFloorBytes
    package var uploadURLLife = Limits.uploadURLLife
    package var downloadURLLife = Limits.downloadURLLife
    package var retention = Retention()
    /// Between two runs of the collector.
    package var collectEvery = Duration.seconds(300)
    /// How long one process has for removing what it took, before another may.
    package var claimLife = Duration.seconds(60)
    package var rates = RateTable()
    /// Proxies whose `X-Forwarded-For` is believed.
    package var trustedProxies: TrustedProxies = []
    /// Limits of the store on disk.
    package var transfers = TransferLimits()

    package init() {}
}
