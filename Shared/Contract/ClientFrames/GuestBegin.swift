/// "I am a guest with these keys." Answered by `guest_challenge` (contract §14.3).
package struct GuestBegin: ClientFrame {
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32

    private static let signPublicKey = TypedField.base64("signPublicKey", Limits.publicKey, about: "Ed25519.")
    private static let encPublicKey = TypedField.base64(
        "encPublicKey", Limits.publicKey, about: "X25519, in canonical form: bit 255 clear, below 2^255 - 19.")

    package static let definition: FrameDefinition = FrameDefinition(
        "guest_begin",
        about: "Begins a guest's proof of its keys. The challenge is bound to the connection and both keys.",
        route: .service(.auth), principal: .anybody, rate: Rates.guests,
        fields: CommonFields.versions + [Self.signPublicKey.field, Self.encPublicKey.field],
        refusals: [
            (
                .authFailed,
                "The connection belongs to an identity, or to a guest with other keys. It is closed (4001)."
            ), (.forbidden, "`registrationClosed`: this server takes no guests."),
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg="}"#
        ])

    package init(signPublicKey: Bytes32, encPublicKey: Bytes32) {
        (self.signPublicKey, self.encPublicKey) = (signPublicKey, encPublicKey)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.signPublicKey = Bytes32(try payload[Self.signPublicKey])!
        self.encPublicKey = Bytes32(try payload[Self.encPublicKey])!
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.signPublicKey, self.signPublicKey.bytes)
        json.add(Self.encPublicKey, self.encPublicKey.bytes)
    }
}
