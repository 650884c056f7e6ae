import Contract
import WhisperClient

extension Verb {
    private static let title = TypedField.text(
        "title", 1...NearbyLimits.titleBytesMax,
        about:
            "At most \(NearbyLimits.titleBytesMax) bytes of UTF-8. Everybody around can read it. Default: \(NearbyParameters.defaultTitle)."
    ).optional

    static let nearbyStart = Verb(
        "nearby_start", of: "nearby",
        about:
            "Shows us to phones nearby, and looks for others, with or without a connection to the server. The identity must have been connected once. Events `nearbyChanged` follow.",
        [Self.title.field], type: "nearbyStarted",
        errors: [.noIdentity, .unsupported, .offline, .tooLong, .wrongStage],
        samples: (#"{"title":"Ann"}"#, #"{"type":"nearbyStarted"}"#),
        .client { opened, parameters, _ in
            let title = try parameters[Self.title] ?? NearbyParameters.defaultTitle
            guard title.utf8.count <= NearbyLimits.titleBytesMax else {
                throw CoreError(.tooLong, "has too many bytes", field: "title")
            }
            try await opened.startNearby(title: title)
        })
}
