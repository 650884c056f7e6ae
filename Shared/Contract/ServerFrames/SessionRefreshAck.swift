/// "Here is your next token." Answers a `session_refresh` (contract §4).
package struct SessionRefreshAck: ServerFrame {
    package let session: SessionGrant

    package static let definition = ServerFrameDefinition(
        "session_refresh_ack", about: "The next session token.", answers: ["session_refresh"],
        fields: SessionGrant.fields,
        samples: [
            #"{"sessionToken":"BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB","sessionExpiresAt":1730604800000,"serverTime":1730000000000}"#,
            #"{"sessionToken":"BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB","sessionExpiresAt":1730604800000,"serverTime":1730000000000,"rateClass":"bot"}"#,
        ])

    package init(session: SessionGrant) { self.session = session }

    package init(_ payload: Payload) throws(Payload.Corrupted) { self.session = try SessionGrant(payload) }

    package var json: [UInt8] {
        var json = JSONWriter()
        self.session.write(to: &json)
        return json.finished()
    }
}
