/// "Wake me up through these push tokens." Absent keeps, `null` clears. Answered by `tokens_updated` (contract §4).
package struct UpdateTokens: Sendable {
    /// What is to become of one stored token.
    package enum Change: Equatable, Sendable {
        case keep, clear
        case set(String)
    }

    package let pushToken: Change
    package let voipToken: Change

    package static let definition: FrameDefinition = FrameDefinition(
        "update_tokens",
        about:
            "Exchanges the device's push tokens. An absent one is kept, `null` clears it. A token's last owner has it.",
        route: .service(.auth), rate: Rates.updateTokens,
        fields: CommonFields.privileged + [
            Field("pushToken", .text(Limits.pushTokenCharacters), .clearable),
            Field("voipToken", .text(Limits.pushTokenCharacters), .clearable),
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","pushToken":"made-up","voipToken":null}"#
        ])

    package init(_ payload: Payload) {
        func change(_ name: String) -> Change {
            let field = Self.definition.field(name)
            if payload.isNull(field) { return .clear }
            return payload.has(field) ? .set(payload.text(field)) : .keep
        }
        self.pushToken = change("pushToken")
        self.voipToken = change("voipToken")
    }
}
