import AttachmentsCore
import ServiceRuntime

/// Everything attachments is told from outside.
struct AttachmentsSettings: ServiceSettings {
    let process = ProcessSettings()
    let http = ListenerSettings.publicHTTP
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let rates = RateSettings()
    let proxies = ProxySettings()
    let admin = AdminSettings()
    let objects = ObjectStoreSettings()
    let quota = Setting(
        "quota.bytes", .integer(in: 1...1_000_000_000_000), default: "1000000000",
        "Live uploads of one identity, in bytes.")
    let strangers = StrangerSettings()
    let floorPercent = Setting(
        "floor.percent", .integer(in: 0...100), default: "\(AttachmentsConfiguration().floorPercent)",
        "Free space of the store below which no upload begins, in percent of its room.")
    let floorBytes = Setting(
        "floor.bytes", .integer(in: 0...1_000_000_000_000_000), default: "\(AttachmentsConfiguration().floorBytes)",
        "The same in bytes; the smaller of the two counts.")
    let uploadURLLife = Setting("upload.url.seconds", .seconds(in: 1...86_400), default: "900", "Life of upload URLs.")
    let downloadURLLife = Setting(
        "download.url.seconds", .seconds(in: 1...86_400), default: "300", "Life of download URLs.")
    let collectEvery = Setting(
        "gc.every.seconds", .seconds(in: 1...86_400), default: "300", "Between two runs of the collector.")
    let unlinkedLife = Setting(
        "gc.unlinked.seconds", .seconds(in: 1...2_592_000), default: "86400",
        "How long an upload stays that no message points to.")
    let acknowledgedLife = Setting(
        "gc.acknowledged.seconds", .seconds(in: 1...31_536_000), default: "604800",
        "How long one stays after the last acknowledgement.")
    let life = Setting(
        "gc.life.seconds", .seconds(in: 1...31_536_000), default: "2592000",
        "How long one stays after its upload, whatever happens.")
    let claim = Setting(
        "gc.claim.seconds", .seconds(in: 1...3_600), default: "60",
        "How long a process may take to remove what it took.")
}

extension Settings<AttachmentsSettings> {
    func configuration() throws(SettingsError) -> AttachmentsConfiguration {
        // An upload may not be collected while it may still go on, nor any before its message can be fetched.
        try self.require(\.uploadURLLife, below: \.unlinkedLife)
        try self.require(\.unlinkedLife, atMost: \.life)
        try self.require(\.acknowledgedLife, atMost: \.life)
        var configuration = AttachmentsConfiguration()
        configuration.quotaBytes = Int64(try self.quota)
        configuration.strangersBytesMax = try self.strangers.bytes()
        configuration.storeBytes = try self.objects.s3.bytesMax.map { Int64($0) }
        configuration.floorPercent = Int64(try self.floorPercent)
        configuration.floorBytes = Int64(try self.floorBytes)
        configuration.uploadURLLife = try self.uploadURLLife
        configuration.downloadURLLife = try self.downloadURLLife
        configuration.collectEvery = try self.collectEvery
        configuration.retention.unlinkedLife = try self.unlinkedLife
        configuration.retention.acknowledgedLife = try self.acknowledgedLife
        configuration.retention.life = try self.life
        configuration.retention.downloadURLLife = configuration.downloadURLLife
        configuration.claimLife = try self.claim
        configuration.rates = try self.rates.table()
        configuration.trustedProxies = try self.proxies.addresses()
        configuration.transfers = try self.objects.disk.transfers()
        return configuration
    }
}
