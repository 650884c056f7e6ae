import Contract

extension Verb {
    static let nearbyStop = Verb(
        "nearby_stop", of: "nearby",
        about: "Hangs up on all phones nearby, and shows us no more. Messages that wait for them go by the server.",
        type: "nearbyStopped", errors: [.noIdentity], samples: ("{}", #"{"type":"nearbyStopped"}"#),
        .client { opened, _, _ in await opened.stopNearby() })
}
