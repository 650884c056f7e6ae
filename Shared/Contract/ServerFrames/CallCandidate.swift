/// "You may reach me there." (contract §7). The other side's `call_ice_candidate`, less versions and session.
package struct CallCandidate: ServerFrame {
    package let call: SignedCall

    package static let definition = ServerFrameDefinition(
        "call_ice_candidate", about: "One network path to the other side.",
        fields: SignedCall.forwarded, samples: [SignedCall.forwardedSample()])

    package init(_ call: SignedCall) { self.call = call }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.call = try SignedCall(payload, type: CallICECandidate.definition.type)
    }

    package var json: [UInt8] { self.call.relayed() }
}
