import Contract
import WhisperClient

extension Verb {
    static let identityShow = Verb(
        "identity_show", of: "identity", about: "Says who this is.", type: "identity",
        [
            Field("hasIdentity", .bool),
            Field("whisperId", .whisperID, .optional, about: "Once the server has given it."),
            Field("likelyId", .whisperID, .optional, about: "Before that: the id that it will most likely be."),
            Field(
                "hasPassphrase", .bool, .optional,
                about: "Whether a passphrase belongs to the words. Without it they bring back another identity."),
            Field("signPublicKey", .base64(32...32), .optional),
            Field("encPublicKey", .base64(32...32), .optional),
        ], errors: [.closed, .suspended],
        samples: ("{}", #"{"type":"identity","hasIdentity":false}"#),
        .look { core, _, json in
            let opened: OpenCore
            do throws(CoreError) {
                opened = try core.opened()
            } catch {
                guard error.code == .noIdentity else { throw error }
                return json.add("hasIdentity", false)
            }
            let keys = opened.profile.keys.publicKeys
            json.add("hasIdentity", true)
            if let id = try opened.store.settings.whisperID() {
                json.add("whisperId", id)
            } else {
                json.add("likelyId", keys.id(counter: 0))
            }
            json.add("hasPassphrase", try opened.store.settings.hasPassphrase())
            json.add("signPublicKey", base64: keys.sign.bytes)
            json.add("encPublicKey", base64: keys.box.bytes)
        })
}
