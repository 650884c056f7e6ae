/// "Yes." (contract §7). The other side's `call_answer`, less versions and session.
package struct CallAnswered: ServerFrame {
    package let call: SignedCall

    package static let definition = ServerFrameDefinition(
        "call_answer", about: "The callee has taken the call.",
        fields: SignedCall.forwarded, samples: [SignedCall.forwardedSample()])

    package init(_ call: SignedCall) { self.call = call }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.call = try SignedCall(payload, type: CallAnswer.definition.type)
    }

    package var json: [UInt8] { self.call.relayed() }
}
