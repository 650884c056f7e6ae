/// "Somebody calls you." (contract §7). The other side's `call_initiate`, less versions and session.
package struct CallIncoming: ServerFrame {
    package let call: SignedCall

    package static let definition = ServerFrameDefinition(
        "call_incoming", about: "Somebody calls. Kept until the ringing ends, and sent again when the callee binds.",
        fields: SignedCall.forwarded + [SignedCall.isVideo.field],
        samples: [SignedCall.forwardedSample(#","isVideo":false"#)])

    package init(_ call: SignedCall) { self.call = call }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.call = try SignedCall(payload, type: CallInitiate.definition.type)
    }

    package var json: [UInt8] { self.call.relayed() }
}
