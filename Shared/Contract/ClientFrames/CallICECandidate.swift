/// "You may reach me there." From either side (contract §7).
package struct CallICECandidate: SignedCallFrame {
    package let call: SignedCall

    package static let definition: FrameDefinition = FrameDefinition(
        "call_ice_candidate",
        about: "One network path for the media. Forwarded to the other side; up to 64 are kept while it is away.",
        route: .service(.calls), rate: Rates.iceCandidates, fields: SignedCall.fields,
        rules: SignedCall.rules, refusals: SignedCall.refusals,
        samples: [SignedCall.sample()])

    package init(_ call: SignedCall) { self.call = call }
}
