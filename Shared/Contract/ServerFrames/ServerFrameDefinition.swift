/// A frame that the server sends, as clients may rely on it. Documents and tests follow from it; the services that write
/// the frame write it themselves; tests hold what they write against this (`FrameVerdict`).
package struct ServerFrameDefinition: Sendable {
    package let type: String
    /// What the client learns from it, for people.
    package let about: String
    /// The client's frames that it directly answers, with their `requestId`. Empty: it comes by itself.
    package let answers: [String]
    package let schema: ObjectSchema
    /// Valid payloads. Tokens, keys and ciphertext are made up.
    package let samples: [String]

    init(_ type: String, about: String, answers: [String] = [], fields: [Field], samples: [String]) {
        self.type = type
        self.about = about
        self.answers = answers
        self.schema = ObjectSchema(fields)
        self.samples = samples
    }
}

/// Every frame that the server may send.
package enum ServerFrameCatalogue {
    package static let all: [ServerFrameDefinition] = [
        LoginFrames.registerChallenge,
        LoginFrames.registerAck,
        LoginFrames.sessionRefreshAck,
        LoginFrames.logoutAck,
        LoginFrames.tokensUpdated,
        LoginFrames.pong,
        MessageFrames.accepted,
        MessageReceived.definition,
        MessageFrames.pending,
        MessageFrames.delivered,
        MessageFrames.expired,
        GroupFrames.event,
        GroupFrames.groups,
        PresenceFrames.presenceUpdate,
        PresenceFrames.typingNotification,
        ReportFrames.acknowledged,
        ErrorFrame.definition,
        CallFrames.incoming,
        CallFrames.ringing,
        CallFrames.answered,
        CallFrames.candidate,
        CallFrames.ended,
        CallFrames.turnCredentials,
    ]
}
