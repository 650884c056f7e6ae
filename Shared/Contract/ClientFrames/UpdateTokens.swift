/// "Wake me up through these push tokens." Absent keeps, `null` clears. Answered by `tokens_updated` (contract §4).
package struct UpdateTokens: ClientFrame {
    /// A change of one stored value.
    package enum Change<Value: Equatable & Sendable>: Equatable, Sendable {
        case keep, clear
        case set(Value)

        /// The new value; `nil` if the old one is kept or cleared.
        package var new: Value? { if case .set(let value) = self { value } else { nil } }
    }

    package let pushToken: Change<String>
    package let voipToken: Change<String>
    package let wakeSecret: Change<WakeSecret>

    private static let pushToken = TypedField.text("pushToken", Limits.pushTokenCharacters).clearable
    private static let voipToken = TypedField.text("voipToken", Limits.pushTokenCharacters).clearable

    package static let definition: FrameDefinition = FrameDefinition(
        "update_tokens",
        about:
            "Exchanges the device's push tokens. An absent one is kept, `null` clears it. "
            + "A token is of the device that showed it last: up to eight of its identities share it.",
        route: .service(.auth), rate: Rates.updateTokens,
        fields: CommonFields.privileged + [
            Self.pushToken.field, Self.voipToken.field, CommonFields.wakeSecret.field,
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","pushToken":"made-up","voipToken":null}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","pushToken":"made-up","wakeSecret":"AAECAwQFBgcICQoLDA0ODw=="}"#,
        ])

    package init(push: Change<String>, voip: Change<String>, wakeSecret: Change<WakeSecret> = .keep) {
        (self.pushToken, self.voipToken, self.wakeSecret) = (push, voip, wakeSecret)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.init(
            push: try payload[Self.pushToken], voip: try payload[Self.voipToken],
            wakeSecret: try payload[CommonFields.wakeSecret])
    }

    package func write(to json: inout JSONWriter) {
        json.add(change: Self.pushToken, self.pushToken)
        json.add(change: Self.voipToken, self.voipToken)
        json.add(change: CommonFields.wakeSecret, self.wakeSecret)
    }
}

extension TypedField where Value: Equatable {
    /// The same, where absent keeps what is stored and `null` clears it.
    var clearable: TypedField<UpdateTokens.Change<Value>> {
        let (read, append) = (self.read, self.append)
        return TypedField<UpdateTokens.Change<Value>>(
            self.field.name, self.field.type, .clearable, about: self.field.about,
            read: { payload, place throws(Payload.Corrupted) in
                if payload.isNull(place) { return .clear }
                guard payload.has(place) else { return .keep }
                return try read(payload, place).map { .set($0) }
            },
            append: { change, output in
                if case .set(let value) = change { append(value, &output) } else { output += "null".utf8 }
            })
    }
}

extension JSONWriter {
    mutating func add<Value>(
        change field: TypedField<UpdateTokens.Change<Value>>, _ change: UpdateTokens.Change<Value>
    ) {
        if change != .keep { self.add(field, change) }
    }
}
