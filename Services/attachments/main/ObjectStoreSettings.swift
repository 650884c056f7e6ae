import AttachmentsCore
import ServiceRuntime
import Telemetry

private enum StoreKind: String, CaseIterable {
    case disk, s3
}

/// - store (disk|s3, default disk): where encrypted files are kept.
///
/// disk:
/// - disk.folder (path, required): absolute; all instances share it.
/// - public.url (text, required): scheme and host at which clients reach the public origin.
/// - signing.secret (secret, required, at least 32 characters): signs URLs; the same for all instances.
///
/// s3:
/// - s3.endpoint (text, required): http:// or https://, host, and a port if it is not the usual one.
/// - s3.public.endpoint (text, default s3.endpoint): where clients reach it.
/// - s3.bucket (text, required), s3.region (text, default us-east-1), s3.style (path|virtual, default path): where the bucket's
///   name stands in URLs.
/// - s3.access.key, s3.secret.key (secrets, required).
/// - s3.ca.file (path, optional): certificates to believe beside the system's own, in PEM.
func openObjectStore(
    _ context: ServiceContext, metrics: AttachmentMetrics
) async throws -> (store: any ObjectStore, close: @Sendable () async -> Void) {
    let settings = context.settings
    switch try settings.choice("store", default: StoreKind.disk) {
    case .disk:
        let folder = try settings.string("disk.folder")
        guard folder.hasPrefix("/") else {
            throw SettingsError.invalid(key: "disk.folder", value: folder, allowed: "an absolute path")
        }
        let secret = try settings.secret("signing.secret")
        guard secret.revealed.utf8.count >= 32 else {
            throw SettingsError.invalid(key: "signing.secret", value: "***", allowed: "of at least 32 characters")
        }
        let store = DiskStore(folder: folder, publicURL: try publicURL(settings), secret: secret)
        try await store.open()
        return (store, {})
    case .s3:
        let (bucket, style) = (try settings.string("s3.bucket"), try settings.choice("s3.style", default: S3Address.Style.path))
        func address(_ key: String, default standard: String? = nil) throws(SettingsError) -> S3Address {
            let endpoint = try settings.string(key, default: standard)
            guard let address = S3Address(endpoint: endpoint, bucket: bucket, style: style) else {
                throw .invalid(key: key, value: endpoint, allowed: "http:// or https://, a host, and perhaps a port")
            }
            return address
        }
        let store = try S3Store(
            try address("s3.endpoint"),
            publicAddress: try address("s3.public.endpoint", default: try settings.string("s3.endpoint")),
            signer: SigV4(
                accessKey: try settings.secret("s3.access.key").revealed, secretKey: try settings.secret("s3.secret.key"),
                region: try settings.string("s3.region", default: "us-east-1")),
            caFile: try? settings.string("s3.ca.file"), eventLoop: context.eventLoop, metrics: metrics,
            logger: context.logger)
        return (store, { store.close() })
    }
}

private func publicURL(_ settings: Settings) throws(SettingsError) -> String {
    var url = try settings.string("public.url")
    while url.hasSuffix("/") { url.removeLast() }
    guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
        throw .invalid(key: "public.url", value: url, allowed: "http:// or https:// and a host")
    }
    return url
}
