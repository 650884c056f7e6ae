/// "Forget this device's session and push tokens." Answered by `logout_ack` and close 1000 (contract §4).
package struct Logout: BareFrame {
    package static let definition: FrameDefinition = FrameDefinition(
        "logout", about: "Forgets the device's session and its push tokens. The connection closes with 1000.",
        route: .service(.auth), fields: CommonFields.privileged,
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#
        ])

    package init() {}
}
