import Contract
import WhisperClient

extension Verb {
    static let nearbyList = Verb(
        "nearby_list", of: "nearby", about: "Lists the phones that were found, by their names.", type: "nearbyPhones",
        [
            Field("radio", .choice(RadioState.allCases.map(\.rawValue))),
            Field("title", .text(1...NearbyLimits.titleBytesMax), .optional, about: "Ours, while we are shown."),
            Field("phones", .array(of: .object(Shapes.nearbyPhone), count: 0...NearbyLimits.phonesMax)),
        ], errors: [.noIdentity],
        samples: (
            "{}", #"{"type":"nearbyPhones","radio":"on","title":"Bob","phones":[\#(Shapes.sampleNearbyPhone)]}"#
        ),
        .client { opened, _, json in
            let (radio, phones) = await opened.with { $0.nearby.phones }
            json.add("radio", radio.rawValue)
            json.add("title", await opened.with { $0.nearby.title })
            json.add("phones", objects: phones) { Shapes.write($0, &$1) }
        })
}
