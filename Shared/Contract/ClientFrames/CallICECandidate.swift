/// "You may reach me there." From either side (contract §7).
package enum CallICECandidate {
    package static let definition: FrameDefinition = FrameDefinition(
        "call_ice_candidate",
        about: "One network path for the media. Forwarded to the other side; up to 64 are kept while it is away.",
        route: .service(.calls), rate: Rates.iceCandidates, fields: SignedCall.fields,
        rules: SignedCall.rules, refusals: SignedCall.refusals,
        samples: [SignedCall.sample()])
}
