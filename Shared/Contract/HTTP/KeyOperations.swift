/// Public keys of identities (spec §3.6).
package enum KeyOperations {
    package static let keys = HTTPOperation(
        "getKeys", .get, "/users/{whisperId}/keys",
        about: """
            The public keys of an identity. They never change, and the id is made from them: a client checks that they belong \
            together.
            """,
        rate: Rates.keys, parameters: [.path("whisperId", .whisperID)],
        success: .json(
            ObjectSchema([
                Field("whisperId", .whisperID), Field("encPublicKey", .base64(Limits.publicKey), about: "X25519."),
                Field("signPublicKey", .base64(Limits.publicKey), about: "Ed25519."),
                Field("status", .choice(["active", "banned"]), about: "To a banned identity nothing can be sent."),
            ]),
            sample:
                #"{"whisperId":"WSP-JBPU-D452-TLT4","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg=","signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","status":"active"}"#
        ),
        failures: [.init(.invalidPayload, "Not a Whisper ID."), .init(.notFound, "There is no such identity.")])
}
