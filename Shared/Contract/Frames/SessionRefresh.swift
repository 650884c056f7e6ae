/// "My session runs out soon." Answered by `session_refresh_ack` with the next token (contract §4).
package enum SessionRefresh {
    package static let definition: FrameDefinition = FrameDefinition(
        "session_refresh", route: .service(.auth), passesToken: true, fields: CommonFields.privileged,
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#
        ])
}
