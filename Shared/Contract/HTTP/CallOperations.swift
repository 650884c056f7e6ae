/// For an app that a call push has woken (contract §7).
package enum CallOperations {
    package static let ringing = HTTPOperation(
        "getRingingCalls", .get, "/calls/ringing",
        about: """
            The calls that ring for the caller now. A woken app asks this before it lets the phone ring on: a push may be \
            older than the call's end. `call_incoming` itself comes by WebSocket, as soon as the app is connected.
            """,
        rate: Rates.ringing,
        success: .json(
            ObjectSchema([
                Field(
                    "calls",
                    .array(
                        of: .object(
                            ObjectSchema([
                                Field("callId", .uuid), Field("from", .whisperID), Field("isVideo", .bool),
                                Field("wakeId", .uuid, about: "As the push has it."), Field("ringsUntil", .timestamp),
                            ])), count: 0...Int.max))
            ]),
            sample:
                #"{"calls":[{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-JBPU-D452-TLT4","isVideo":false,"wakeId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","ringsUntil":1730000045000}]}"#
        ))
}
