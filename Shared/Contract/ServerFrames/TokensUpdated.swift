/// "I have your push tokens." Answers an `update_tokens` (contract §4).
package struct TokensUpdated: ServerFrame {
    package static let definition = ServerFrameDefinition(
        "tokens_updated", about: "The push tokens are stored.",
        answers: ["update_tokens"], fields: [CommonFields.success.field], samples: [#"{"success":true}"#])

    package init() {}

    package init(_ payload: Payload) throws(Payload.Corrupted) {}

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 16)
        json.add(CommonFields.success, true)
        return json.finished()
    }
}
