/// A frame that clients send: everything the cluster knows about it, in one value. Decoder, routing, limits, schema and
/// documentation follow from it. Each frame is one file, and one line in `FrameCatalogue`.
package struct FrameDefinition: Sendable {
    /// Who handles the frame.
    package enum Route: Sendable {
        /// The gateway itself.
        case gateway
        /// The router that owns the partition of the identity named by this field.
        case mailbox(of: String)
        /// The router that owns the caller's own mailbox.
        case ownMailbox
        /// Any instance of a service, which reads the payload by the same schema.
        case service(ServiceName)
    }

    package let type: String
    package let route: Route
    /// The frame needs a `sessionToken`.
    package let isPrivileged: Bool
    /// The service gets the token itself, because it derives something from it. Everywhere else it stays in the gateway.
    package let passesToken: Bool
    package let schema: ObjectSchema
    /// A rule between fields, checked after each field by itself.
    package let rule: @Sendable (Payload) -> PayloadViolation?
    /// Valid payloads: examples in the documentation and seeds for tests. Tokens, keys and ciphertext are made up.
    package let samples: [String]

    package init(
        _ type: String, route: Route, privileged: Bool = true, passesToken: Bool = false, fields: [Field],
        rule: @escaping @Sendable (Payload) -> PayloadViolation? = { _ in nil }, samples: [String]
    ) {
        self.type = type
        self.route = route
        self.isPrivileged = privileged
        self.passesToken = passesToken
        self.schema = ObjectSchema(fields)
        self.rule = rule
        self.samples = samples
    }

    /// The position of a field in the schema. The name must be one of this frame's own.
    package func field(_ name: String) -> Int { self.schema.index(of: name)! }

    /// The position of `sessionToken`, if the frame has one.
    package var sessionField: Int? { self.schema.index(of: CommonFields.sessionToken.name) }
}

/// The services that answer frames.
package enum ServiceName: String, CaseIterable, Sendable {
    case gateway, auth, router, push, attachments, calls
}

/// Fields that many frames share.
package enum CommonFields {
    /// V of the contract.
    package static let versions = [Field("protocolVersion", .version), Field("cryptoVersion", .version)]
    /// S of the contract. Optional here because a missing token is NOT_REGISTERED, not INVALID_PAYLOAD.
    package static let sessionToken = Field("sessionToken", .sessionToken, .optional)
    package static let privileged = Self.versions + [Self.sessionToken]
    package static let platform = Field("platform", .choice(["ios", "android"]))
    package static let deviceID = Field("deviceId", .uuidV4)
    /// SIGN of the contract.
    package static let signed = [
        Field("from", .whisperID), Field("to", .whisperID), Field("timestamp", .timestamp),
        Field("nonce", .base64(Limits.nonceBytes...Limits.nonceBytes)),
        Field("ciphertext", .base64(1...Limits.ciphertextBytesMax)),
        Field("sig", .base64(Limits.signatureBytes...Limits.signatureBytes)),
    ]
    /// Spec §6.3.
    package static let attachment = ObjectSchema([
        Field("objectKey", .text(1...128)),
        Field("contentType", .text(Limits.contentTypeCharacters)),
        Field("ciphertextSize", .integer(1...50_000_000)),
        Field("fileNonce", .base64(Limits.nonceBytes...Limits.nonceBytes)),
        Field(
            "fileKeyBox",
            .object(
                ObjectSchema([
                    Field("nonce", .base64(Limits.nonceBytes...Limits.nonceBytes)),
                    Field("ciphertext", .base64(1...256)),
                ]))),
    ])
}

/// Every frame that a client may send.
package enum FrameCatalogue {
    package static let all: [FrameDefinition] = [
        RegisterBegin.definition,
        RegisterProof.definition,
        SessionRefresh.definition,
        Logout.definition,
        Ping.definition,
        UpdateTokens.definition,
        SendMessage.definition,
        DeliveryReceipt.definition,
        FetchPending.definition,
    ]

    private static let byType = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.type, $0) })

    package static func definition(of type: String) -> FrameDefinition? { Self.byType[type] }
}
