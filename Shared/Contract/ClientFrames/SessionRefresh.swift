/// "My session runs out soon." Answered by `session_refresh_ack` with the next token (contract §4).
package struct SessionRefresh: BareFrame {
    package static let definition: FrameDefinition = FrameDefinition(
        "session_refresh",
        about: """
            Asks for the next session token, within the last day of the current one. The old one dies on the first use of \
            the new one or after \(Limits.refreshOverlap.components.seconds) s; until then asking again gives the same new one.
            """,
        route: .service(.auth), passesToken: true, rate: Rates.sessionRefresh, fields: CommonFields.privileged,
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#
        ])

    package init() {}
}
