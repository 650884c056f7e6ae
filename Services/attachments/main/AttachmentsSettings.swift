import AttachmentsCore
import ServiceRuntime

/// - quota.bytes (int, default 1000000000, 1...1000000000000): live uploads of one identity.
/// - upload.url.seconds (int, default 900, 1...86400): life of upload URLs.
/// - download.url.seconds (int, default 300, 1...86400): life of download URLs.
/// - gc.every.seconds (int, default 300, 1...86400): between two runs of the collector.
/// - gc.unlinked.seconds (int, default 86400, 1...2592000): how long an upload stays that no message points to.
/// - gc.acknowledged.seconds (int, default 604800, 1...31536000): how long one stays after the last acknowledgement.
/// - gc.life.seconds (int, default 2592000, 1...31536000): how long one stays after its upload, whatever happens.
/// - gc.claim.seconds (int, default 60, 1...3600): how long a process may take to remove what it took.
/// - rate.limit.scale: see `Settings`.
func attachmentsConfiguration(_ settings: Settings) throws(SettingsError) -> AttachmentsConfiguration {
    func seconds(_ key: String, _ range: ClosedRange<Int>, _ standard: Int) throws(SettingsError) -> Duration {
        .seconds(try settings.int(key, in: range, default: standard))
    }
    var configuration = AttachmentsConfiguration()
    configuration.quotaBytes = Int64(try settings.int("quota.bytes", in: 1...1_000_000_000_000, default: 1_000_000_000))
    configuration.uploadURLLife = try seconds("upload.url.seconds", 1...86_400, 900)
    configuration.downloadURLLife = try seconds("download.url.seconds", 1...86_400, 300)
    configuration.collectEvery = try seconds("gc.every.seconds", 1...86_400, 300)
    configuration.retention.unlinkedLife = try seconds("gc.unlinked.seconds", 1...2_592_000, 86_400)
    configuration.retention.acknowledgedLife = try seconds("gc.acknowledged.seconds", 1...31_536_000, 604_800)
    configuration.retention.life = try seconds("gc.life.seconds", 1...31_536_000, 2_592_000)
    configuration.retention.downloadURLLife = configuration.downloadURLLife
    configuration.claimLife = try seconds("gc.claim.seconds", 1...3_600, 60)
    configuration.rateLimitScale = try settings.rateLimitScale()
    return configuration
}
