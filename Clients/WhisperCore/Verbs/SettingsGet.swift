import Contract
import WhisperClient

extension Verb {
    static let settingsGet = Verb(
        "settings_get", of: "session", about: "Says what the person here wants.", type: "settings",
        [
            Field("settings", .object(Shapes.settings)),
            Field("owesPushTokens", .bool, about: "Whether the server does not have the push tokens as they are here."),
        ], errors: [.noIdentity, .store],
        samples: (
            "{}",
            #"{"type":"settings","settings":{"readReceipts":true,"typing":true,"presence":true,"backup":true,"mentions":true,"profiles":"host","relayCalls":false},"owesPushTokens":false}"#
        ),
        .read { opened, _, json in
            json.add("settings", object: try opened.store.preferences()) { Shapes.write($0, &$1) }
            json.add("owesPushTokens", try opened.store.owedTokens() != nil)
        })
}
