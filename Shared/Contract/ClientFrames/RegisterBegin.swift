/// "I want to log in from this device." Answered by `register_challenge` (contract §4).
package struct RegisterBegin: ClientFrame {
    package let whisperID: WhisperID?
    package let deviceID: UUIDText
    package let platform: Platform
    package let client: ClientKind?

    private static let whisperID = TypedField.whisperID(
        "whisperId", about: "The identity that logs in, if the client knows it."
    ).optional

    package static let definition: FrameDefinition = FrameDefinition(
        "register_begin",
        about:
            "Starts a login, of a new identity or a known one. The challenge is bound to connection, device and platform.",
        route: .service(.auth), principal: .anybody, rate: Rates.register,
        fields: CommonFields.versions + [
            Self.whisperID.field, CommonFields.deviceID.field, CommonFields.platform.field,
            CommonFields.client.field,
        ],
        refusals: [(.notFound, "`whisperId` is nobody's.")],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"ios"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"whisperId":"WSP-JBPU-D452-TLT4","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"android"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"android","client":"terminal"}"#,
        ])

    package init(whisperID: WhisperID?, deviceID: UUIDText, platform: Platform, client: ClientKind? = nil) {
        (self.whisperID, self.deviceID, self.platform) = (whisperID, deviceID, platform)
        self.client = client
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.whisperID = try payload[Self.whisperID]
        self.deviceID = try payload[CommonFields.deviceID]
        self.platform = try payload[CommonFields.platform]
        self.client = try payload[CommonFields.client]
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.whisperID, self.whisperID)
        json.add(CommonFields.deviceID, self.deviceID)
        json.add(CommonFields.platform, self.platform)
        json.add(CommonFields.client, self.client)
    }
}

package enum Platform: String, CaseIterable, Sendable {
    case ios, android
}

/// Kind of the program that logs in, by its own word.
package enum ClientKind: String, CaseIterable, Sendable {
    case phone, tablet, desktop, web, terminal, daemon, bot
}
