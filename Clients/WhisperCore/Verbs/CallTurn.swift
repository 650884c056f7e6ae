import Contract
import WhisperClient

extension Verb {
    static let callTurn = Verb(
        "call_turn", of: "calls",
        about:
            "Gives relays for media, and credentials for them. They are kept, and asked for again when less than an hour is left.",
        type: "relays",
        [
            Field("urls", .array(of: .text(1...512), count: 1...16)), Field("username", .text(1...128)),
            Field("credential", .base64(20...20)),
            Field("ttl", .integer(1...Limits.turnSecondsMax), about: "In seconds."),
        ], errors: [.noIdentity, .offline, .unreachable, .tooMany, .server, .store],
        samples: (
            "{}",
            #"{"type":"relays","urls":["turn:turn.example:3478?transport=udp"],"username":"1767268800:d41d8cd98f00b204","credential":"AAECAwQFBgcICQoLDA0ODxAREhM=","ttl":43200}"#
        ),
        .server { opened, _, json in
            let relays = try await opened.with { try await $0.calls.relays($0) }
            json.add("urls", strings: relays.urls)
            json.add("username", relays.username)
            json.add("credential", base64: relays.credential)
            json.add("ttl", relays.ttl)
        })
}
