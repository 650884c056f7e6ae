import Contract
import WhisperClient

/// Writes what happens nearby.
extension EventText {
    static func write(_ news: NearbyNews, _ json: inout JSONWriter) {
        func changed(_ change: String, _ phone: NearbyPhone, _ json: inout JSONWriter) {
            json.add("type", "nearbyChanged")
            json.add("change", change)
            json.add("phone", object: phone) { Shapes.write($0, &$1) }
        }
        switch news {
        case .radio(let state):
            json.add("type", "nearbyChanged")
            json.add("change", "radio")
            json.add("radio", state.rawValue)
        case .found(let phone): changed("found", phone, &json)
        case .lost(let phone): changed("lost", phone, &json)
        case .connected(let phone): changed("connected", phone, &json)
        case .known(let phone): changed("known", phone, &json)
        case .disconnected(let phone, let end):
            changed("disconnected", phone, &json)
            json.add("reason", end.rawValue)
        case .text(let phone, let text):
            json.add("type", "nearbyText")
            json.add("peer", phone.peer.name)
            json.add("title", phone.title)
            json.add("text", text)
        case .sent(let number, let arrived):
            json.add("type", "nearbySent")
            json.add("number", Int64(number))
            json.add("arrived", arrived)
        }
    }
}

extension EventDefinition {
    static let nearbyChanged = EventDefinition(
        "nearbyChanged",
        about:
            "The radio, or a phone nearby. `found` comes again with another title; `known`: it is one of us, and has proven who it is.",
        isKept: false,
        [
            Field("change", .choice(["radio", "found", "lost", "connected", "known", "disconnected"])),
            Field("radio", .choice(RadioState.allCases.map(\.rawValue)), .optional, about: "With `radio`."),
            Field("phone", .object(Shapes.nearbyPhone), .optional, about: "With all others."),
            Field("reason", .choice(NearbyEnd.allCases.map(\.rawValue)), .optional, about: "With `disconnected`."),
        ],
        sample: #"{"type":"nearbyChanged","change":"known","phone":\#(Shapes.sampleNearbyPhone)}"#)

    static let nearbyText = EventDefinition(
        "nearbyText",
        about:
            "Plain text of a phone that knows BlueChat alone. Nobody has encrypted or signed it, everybody around can read it, and the core does not keep it.",
        isKept: false,
        [
            Shapes.nearbyPeer, Shapes.nearbyTitle,
            Field("text", .text(1...NearbyLimits.valueBytesMax)),
        ], sample: #"{"type":"nearbyText","peer":"p7","title":"Blue","text":"hi"}"#)

    static let nearbySent = EventDefinition(
        "nearbySent", about: "How far a text of `nearby_send` has come.", isKept: false,
        [
            Field("number", .integer(1...Int64.max), about: "As the verb's answer had it."),
            Field("arrived", .bool, about: "Whether the other phone has it, as far as its radio has said."),
        ], sample: #"{"type":"nearbySent","number":9,"arrived":true}"#)
}

extension Shapes {
    static let nearbyPeer = Field(
        "peer", .text(1...64), about: "The radio's name for the phone. It is of use until the radio is off.")
    static let nearbyTitle = Field(
        "title", .text(0...NearbyLimits.foundTitleBytesMax), .optional,
        about: "As it calls itself. Anybody may use any title.")

    private static let strengths: ClosedRange<Int64> = -999...999

    static let nearbyPhone = ObjectSchema([
        Self.nearbyPeer, Self.nearbyTitle,
        Field("strength", .integer(Self.strengths), .optional, about: "dBm, when it was found."),
        Field("isConnected", .bool),
        Field("isOurs", .bool, about: "Whether it is one of us. Before a connection nobody knows."),
        Field("whisperId", .whisperID, .optional, about: "The identity, once it is proven."),
    ])

    static let sampleNearbyPhone =
        #"{"peer":"p7","title":"Ann","strength":-61,"isConnected":true,"isOurs":true,"whisperId":"WSP-AAAA-AAAA-AAAA"}"#

    static func write(_ phone: NearbyPhone, _ json: inout JSONWriter) {
        json.add("peer", phone.peer.name)
        json.add("title", phone.title)
        if let strength = phone.strength {
            json.add("strength", min(max(Int64(strength), Self.strengths.lowerBound), Self.strengths.upperBound))
        }
        json.add("isConnected", phone.isConnected)
        json.add("isOurs", phone.isOurs)
        if let id = phone.id { json.add("whisperId", id) }
    }
}
