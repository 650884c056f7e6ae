import AttachmentsCore
import ServiceRuntime
import Telemetry

/// Where encrypted files are kept.
struct ObjectStoreSettings: SettingGroup {
    enum Kind: String, CaseIterable {
        case disk, s3
    }

    let kind = Setting<Kind>("store", .choice, default: "disk", "Where encrypted files are kept.")
    let disk = DiskSettings()
    let s3 = S3Settings()
}

struct DiskSettings: SettingGroup {
    private static let withDisk = "with STORE=disk"
    let folder = Setting(
        "disk.folder", .absolutePath, needed: withDisk, "The folder of the files; all instances share it.")
    let publicURL = Setting(
        "public.url", .text(from: "http://", "https://"), needed: withDisk,
        "Scheme and host at which clients reach the public origin.")
    let signingSecret = Setting(
        "signing.secret", .secret(charactersMin: 32), needed: withDisk, "Signs URLs; the same for all instances.")
    let transfersMax = Setting(
        "disk.transfers.max", .integer(in: 4...10_000), default: "\(AttachmentsLimits.transfersMax)",
        "Uploads and downloads of one process at once. Neither takes more than three quarters.")
    let uploadsOfOneIdentity = Setting(
        "disk.uploads.per.identity", .integer(in: 1...10_000), default: "\(AttachmentsLimits.uploadsOfOneIdentityMax)",
        "Of those, uploads of one identity.")
    let downloadsOfOneIdentity = Setting(
        "disk.downloads.per.identity", .integer(in: 1...10_000),
        default: "\(AttachmentsLimits.downloadsOfOneIdentityMax)",
        "Of those, downloads of one identity.")
    let stall = Setting(
        "disk.stall.seconds", .integer(in: 1...3_600), default: "\(Int(AttachmentsLimits.stallSecondsMax))",
        "Time without a byte after which a transfer is ended.")
    let pace = Setting(
        "disk.bytes.per.second.min", .integer(in: 0...1_000_000_000),
        default: "\(Int(AttachmentsLimits.bytesPerSecondMin))",
        "What a transfer moves on average after its first minute; a slower one is ended.")
    let crowdedPace = Setting(
        "disk.crowded.bytes.per.second.min", .integer(in: 0...1_000_000_000),
        default: "\(Int(AttachmentsLimits.crowdedBytesPerSecondMin))",
        "The same where no place is left: the slowest below that gives way.")
}

extension Settings<DiskSettings> {
    func transfers() throws(SettingsError) -> TransferLimits {
        try self.require(\.uploadsOfOneIdentity, atMost: \.transfersMax)
        try self.require(\.downloadsOfOneIdentity, atMost: \.transfersMax)
        var limits = TransferLimits()
        limits.transfersMax = try self.transfersMax
        limits.uploadsOfOneIdentityMax = try self.uploadsOfOneIdentity
        limits.downloadsOfOneIdentityMax = try self.downloadsOfOneIdentity
        limits.stallSecondsMax = Double(try self.stall)
        limits.bytesPerSecondMin = Double(try self.pace)
        limits.crowdedBytesPerSecondMin = Double(try self.crowdedPace)
        return limits
    }
}

struct S3Settings: SettingGroup {
    private static let withS3 = "with STORE=s3"
    let endpoint = Setting("s3.endpoint", .endpoint, needed: withS3, "Where this service reaches the store.")
    let publicEndpoint = Setting(
        optional: "s3.public.endpoint", .endpoint, "Where clients reach it; as S3_ENDPOINT if none.")
    let bucket = Setting("s3.bucket", .text, needed: withS3, "The bucket.")
    let region = Setting("s3.region", .text, default: "us-east-1", "Its region.")
    let style = Setting<S3Address.Style>(
        "s3.style", .choice, default: "path", "Where the bucket's name stands in URLs.")
    let bytesMax = Setting(
        optional: "s3.bytes.max", .integer(in: 1...1_000_000_000_000_000),
        "What the bucket may hold, in bytes: S3 does not tell. Without it uploads are never refused for want of room.")
    let accessKey = Setting("s3.access.key", .secret, needed: withS3, "The access key's id.")
    let secretKey = Setting("s3.secret.key", .secret, needed: withS3, "The access key.")
    let authorities = Setting(
        optional: "s3.ca.file", .path, "PEM of authorities to trust beside the system's.")
}

extension SettingParser<String> {
    fileprivate static var endpoint: SettingParser {
        SettingParser("http:// or https://, a host, and perhaps a port") { text in
            S3Address(endpoint: text, bucket: "any", style: .path).map { _ in text }
        }
    }
}

/// Opens the store that the settings name.
func openObjectStore(
    _ settings: Settings<ObjectStoreSettings>, context: ServiceContext<AttachmentsSettings>, metrics: AttachmentMetrics
) async throws -> (store: any ObjectStore, close: @Sendable () async -> Void) {
    switch try settings.kind {
    case .disk:
        var url = try settings.disk.publicURL
        while url.hasSuffix("/") { url.removeLast() }
        let store = DiskStore(folder: try settings.disk.folder, publicURL: url, secret: try settings.disk.signingSecret)
        try await store.open()
        return (store, {})
    case .s3:
        let s3 = settings.s3
        let endpoint = try s3.endpoint
        let store = try S3Store(
            try s3.address(endpoint), publicAddress: try s3.address(try s3.publicEndpoint ?? endpoint),
            signer: SigV4(
                accessKey: try s3.accessKey.revealed, secretKey: try s3.secretKey, region: try s3.region),
            caFile: try s3.authorities, eventLoop: context.eventLoop, metrics: metrics)
        return (store, { store.close() })
    }
}

extension Settings<S3Settings> {
    /// - Parameter endpoint: was read as one, so that only the bucket can be wrong.
    fileprivate func address(_ endpoint: String) throws(SettingsError) -> S3Address {
        let bucket = try self.bucket
        guard let address = S3Address(endpoint: endpoint, bucket: bucket, style: try self.style) else {
            throw .invalid(key: "s3.bucket", value: bucket, allowed: "the name of a bucket")
        }
        return address
    }
}
