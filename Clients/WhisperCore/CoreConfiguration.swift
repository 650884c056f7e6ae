package import Contract
import WhisperClient

/// Where a core lives, and whom it talks to.
public struct CoreConfiguration: Sendable, Equatable {
    /// The platform sent to the server: the contract knows two. Everything that is not iOS is `android`.
    public enum Platform: String, Sendable, CaseIterable { case ios, android }

    /// Kind of the program. The server counts them, and nothing else depends on it.
    public enum Client: String, Sendable, CaseIterable { case phone, tablet, desktop, web, terminal, daemon, bot }

    /// Handling of a store that another release has written.
    public enum Confirmation: String, Sendable, CaseIterable {
        /// It is not touched: `needsUpgrade`, `needsDowngrade`.
        case error
        /// It is brought up to date.
        case yesUp
        /// The same, and what a later release has changed is undone by the steps that it has left. A copy stays.
        case yesUpDown
    }

    /// Kind of the key given to `Core.open`.
    public enum KeyKind: String, Sendable, CaseIterable {
        /// 32 random bytes.
        case raw
        /// Up to 1,024 bytes that a person knows. Argon2id (64 MiB, 3 passes) makes a key of them.
        case passphrase
    }

    /// From which level on the core says what it does, in events `log`.
    public enum LogLevel: String, Sendable, CaseIterable { case debug, info, notice, warning, error }

    /// A folder for this core alone. It is made if it is missing.
    public var folder: String
    /// `ws://` or `wss://`, host and port.
    public var server: String
    /// PEM file with certificates to trust beside the system's, for `wss`.
    public var authorityFile: String?
    public var platform: Platform
    /// `nil`: the server is not told.
    public var client: Client?
    /// The installation's id, a UUID of version 4, if it has several identities: these share its push token, up to eight. `nil`: each store
    /// draws its own. A store that had another one logs in anew.
    public var device: String?
    public var keyKind: KeyKind
    /// Where phones nearby are found: `unix:` and the path of a socket.
    public var radio: String?
    /// `nil`: no events `log`.
    public var logLevel: LogLevel?

    public init(
        folder: String, server: String, authorityFile: String? = nil, platform: Platform = .android,
        client: Client? = nil, device: String? = nil, keyKind: KeyKind = .raw, radio: String? = nil,
        logLevel: LogLevel? = nil
    ) {
        self.folder = folder
        self.server = server
        self.authorityFile = authorityFile
        self.platform = platform
        self.client = client
        self.device = device
        self.keyKind = keyKind
        self.radio = radio
        self.logLevel = logLevel
    }

    static let radioPrefix = "unix:"

    /// - Throws: `.config` if the key has another length than its kind.
    func storeKey(_ key: [UInt8]) throws(CoreError) -> StoreKey {
        guard let key = StoreKey(self.keyKind == .raw ? .raw : .passphrase, key) else {
            throw CoreError(
                .config,
                self.keyKind == .raw
                    ? "has not \(StoreKey.rawBytes) bytes"
                    : "has not 1 to \(StoreKey.passphraseBytes.upperBound) bytes",
                field: "key")
        }
        return key
    }

    /// - Throws: `.config` if the server would refuse the device's id.
    func checkDevice() throws(CoreError) {
        guard let device, UUIDText(device)?.isVersion4 != true else { return }
        throw CoreError(.config, "is not a UUID of version 4", field: "deviceId")
    }

    // MARK: JSON

    private static let dir = TypedField.text(
        "dir", 1...4_096, about: "A folder for this core alone. It is made if it is missing.")
    private static let serverUrl = TypedField.text("serverUrl", 1...2_048, about: "`ws://` or `wss://`, host and port.")
    private static let caFile = TypedField.text(
        "caFile", 1...4_096, about: "PEM file with certificates to trust beside the system's, for `wss`."
    ).optional
    private static let platform = TypedField<Platform>.choice(
        "platform", about: "The platform as the server learns it. Everything but iOS is `android`, the default."
    ).optional

    private static let client = TypedField<Client>.choice(
        "client", about: "Kind of the program. The server counts them. Without it the server is not told."
    ).optional

    private static let deviceId = TypedField.text(
        "deviceId", 36...36,
        about:
            "The installation's id, a UUID of version 4, if it has several identities: these share its push token. Else each store draws one. A store that had another one logs in anew."
    ).optional

    private static let keyKind = TypedField<KeyKind>.choice(
        "keyKind", about: "The kind of key: 32 random bytes (`raw`, the default), or a passphrase of 1 to 1,024 bytes."
    ).optional

    private static let radio = TypedField.text(
        "radio", 1...4_096,
        about:
            "A radio for phones nearby: `unix:` and the path of a socket. Without it `nearby_start` is `unsupported`."
    ).optional

    private static let logLevel = TypedField<LogLevel>.choice(
        "logLevel", about: "From which level on the core says what it does, in events `log`. Without it there are none."
    ).optional

    package static let schema = ObjectSchema([
        Self.dir.field, Self.serverUrl.field, Self.caFile.field, Self.platform.field, Self.client.field,
        Self.deviceId.field, Self.keyKind.field, Self.radio.field, Self.logLevel.field,
    ])

    /// Reads the configuration of `wsp_open`.
    /// - Throws: `.config` with the field that is wrong.
    public init(json: [UInt8]) throws(CoreError) {
        do {
            let payload = try StrictObject.read(json, Self.schema)
            self.init(
                folder: try payload[Self.dir], server: try payload[Self.serverUrl],
                authorityFile: try payload[Self.caFile], platform: try payload[Self.platform] ?? .android,
                client: try payload[Self.client], device: try payload[Self.deviceId],
                keyKind: try payload[Self.keyKind] ?? .raw,
                radio: try payload[Self.radio],
                logLevel: try payload[Self.logLevel])
        } catch let error as CoreError {
            throw CoreError(.config, error.message, field: error.field)
        } catch {
            throw CoreError(.config)
        }
        guard ServerAddress(self.server) != nil else {
            throw CoreError(.config, "must look like wss://chat.example or ws://127.0.0.1:8080", field: "serverUrl")
        }
        try self.checkDevice()
        if let radio, !radio.hasPrefix(Self.radioPrefix) || radio == Self.radioPrefix {
            throw CoreError(.config, "must look like unix:/run/radio.sock", field: "radio")
        }
    }
}

/// One JSON object that has known fields alone, each once.
enum StrictObject {
    /// - Throws: `.invalidField` with the field and its rule, or `.invalidCommand`.
    static func read(_ json: [UInt8], _ schema: ObjectSchema) throws(CoreError) -> Payload {
        guard String(validating: json, as: UTF8.self) != nil else { throw CoreError(.invalidCommand, "is not UTF-8") }
        do throws(PayloadViolation) {
            return try FrameDecoder.payload(strict: json, schema: schema)
        } catch {
            guard error.field.isEmpty else { throw CoreError(.invalidField, error.rule, field: error.field) }
            throw CoreError(.invalidCommand, "is not one JSON object")
        }
    }
}
