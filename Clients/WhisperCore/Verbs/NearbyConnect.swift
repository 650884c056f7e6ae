import Contract

extension Verb {
    static let nearbyConnect = Verb(
        "nearby_connect", of: "nearby",
        about:
            "Connects to a phone that was found. Two of us then prove to each other who they are, and messages between them go over the air. Others may connect to us, too.",
        [NearbyParameters.peer.field], type: "nearbyConnecting", errors: [.noIdentity, .notFound, .wrongStage],
        samples: (#"{"peer":"p7"}"#, #"{"type":"nearbyConnecting"}"#),
        .client { opened, parameters, _ in
            try await opened.with { try $0.nearby.connect(try NearbyParameters.peer(parameters)) }
        })
}
