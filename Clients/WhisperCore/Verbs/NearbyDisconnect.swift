import Contract

extension Verb {
    static let nearbyDisconnect = Verb(
        "nearby_disconnect", of: "nearby", about: "Hangs up on a phone nearby.",
        [NearbyParameters.peer.field], type: "nearbyDisconnecting", errors: [.noIdentity, .notFound, .wrongStage],
        samples: (#"{"peer":"p7"}"#, #"{"type":"nearbyDisconnecting"}"#),
        .client { opened, parameters, _ in
            try await opened.with { try $0.nearby.disconnect(try NearbyParameters.peer(parameters)) }
        })
}
