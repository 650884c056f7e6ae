/// "It is over." (contract §7)
package struct CallEnded: ServerFrame {
    package let callID: UUIDText
    package let reason: String?
    package let timestamp: Timestamp
    /// The other side's `call_end`; `nil` if the server has ended the call.
    package let call: SignedCall?

    private static let timestamp = TypedField.timestamp("timestamp")
    private static let signature = CommonFields.signature.about("").optional

    package static let definition = ServerFrameDefinition(
        "call_end",
        about: """
            The call is over: forwarded whole from the other side, or the server's own with the first three fields only. \
            `busy` from the server refuses a `call_initiate`, and then has its `requestId`.
            """,
        fields: [
            SignedCall.callID.field, SignedCall.reason.field, Self.timestamp.field,
            TypedField.whisperID("from").optional.field, TypedField.whisperID("to").optional.field,
            CommonFields.nonce.optional.field, CommonFields.ciphertext.optional.field, Self.signature.field,
        ],
        samples: [
            #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","reason":"timeout","timestamp":1730000045000}"#,
            SignedCall.forwardedSample(#","reason":"ended""#),
        ])

    /// The server's own.
    package init(callID: UUIDText, reason: String, timestamp: Timestamp) {
        self.callID = callID
        self.reason = reason
        self.timestamp = timestamp
        self.call = nil
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.callID = try payload[SignedCall.callID]
        self.reason = try payload[SignedCall.reason]
        self.timestamp = try payload[Self.timestamp]
        let isSigned = try payload[Self.signature] != nil
        self.call = isSigned ? try SignedCall(payload, type: CallEnd.definition.type) : nil
    }

    package var json: [UInt8] {
        if let call { return call.relayed() }
        var json = JSONWriter()
        json.add(SignedCall.callID, self.callID)
        json.add(SignedCall.reason, self.reason)
        json.add(Self.timestamp, self.timestamp)
        return json.finished()
    }
}
