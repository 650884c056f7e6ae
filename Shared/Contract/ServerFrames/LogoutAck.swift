/// "You are logged out." Answers a `logout` (contract §4).
package struct LogoutAck: ServerFrame {
    package static let definition = ServerFrameDefinition(
        "logout_ack", about: "The session and the device's push tokens are gone. The connection closes with 1000.",
        answers: ["logout"], fields: [CommonFields.success.field], samples: [#"{"success":true}"#])

    package init() {}

    package init(_ payload: Payload) throws(Payload.Corrupted) {}

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 16)
        json.add(CommonFields.success, true)
        return json.finished()
    }
}
