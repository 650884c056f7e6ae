/// "You are forgotten." Answers a `guest_forget` (contract §20.2).
package struct GuestForgotten: ServerFrame {
    package static let definition = ServerFrameDefinition(
        "guest_forgotten",
        about:
            "The guest is erased. Its seats and its places as a listener go within minutes. The connection closes with 1000.",
        answers: ["guest_forget"], fields: [CommonFields.success.field], samples: [#"{"success":true}"#])

    package init() {}

    package init(_ payload: Payload) throws(Payload.Corrupted) {}

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 16)
        json.add(CommonFields.success, true)
        return json.finished()
    }
}
