/// "Wake me up through these push tokens." Absent keeps, `null` clears. Answered by `tokens_updated` (contract §4).
package struct UpdateTokens: ClientFrame {
    /// A change of one stored token.
    package enum Change: Equatable, Sendable {
        case keep, clear
        case set(String)
    }

    package let pushToken: Change
    package let voipToken: Change

    private static let pushToken = TypedField<Change>.token("pushToken")
    private static let voipToken = TypedField<Change>.token("voipToken")

    package static let definition: FrameDefinition = FrameDefinition(
        "update_tokens",
        about:
            "Exchanges the device's push tokens. An absent one is kept, `null` clears it. "
            + "A token is of the device that showed it last: up to eight of its identities share it.",
        route: .service(.auth), rate: Rates.updateTokens,
        fields: CommonFields.privileged + [
            Self.pushToken.field, Self.voipToken.field,
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","pushToken":"made-up","voipToken":null}"#
        ])

    package init(push: Change, voip: Change) { (self.pushToken, self.voipToken) = (push, voip) }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.pushToken = try payload[Self.pushToken]
        self.voipToken = try payload[Self.voipToken]
    }

    package func write(to json: inout JSONWriter) {
        if self.pushToken != .keep { json.add(Self.pushToken, self.pushToken) }
        if self.voipToken != .keep { json.add(Self.voipToken, self.voipToken) }
    }
}

extension TypedField where Value == UpdateTokens.Change {
    fileprivate static func token(_ name: String) -> TypedField {
        TypedField(name, .text(Limits.pushTokenCharacters), .clearable) { payload, place in
            if payload.isNull(place) { return .clear }
            return payload.has(place) ? .set(payload.text(place)) : .keep
        } append: { change, output in
            if case .set(let token) = change {
                JSONWriter.append(string: token, to: &output)
            } else {
                output += "null".utf8
            }
        }
    }
}
