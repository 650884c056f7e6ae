/// "I am writing to you." Never stored, lost without harm, no answer (contract §7).
package struct Typing: Sendable {
    package let to: WhisperID
    package let isTyping: Bool

    package static let definition: FrameDefinition = FrameDefinition(
        "typing",
        about: """
            Shows a peer that the caller is writing. Reaches only identities with 1:1 traffic both ways in the last 30 days; \
            anything else, more than one in 2 s to the same peer, and more than \(Rates.typing.perMinute) a minute \
            altogether, is dropped without a word.
            """,
        route: .mailbox(of: "to"), rate: Rates.typing,
        fields: CommonFields.privileged + [Field("to", .whisperID), Field("isTyping", .bool)],
        samples: [CommonFields.sample(#""to":"WSP-AAAA-AAAA-AAAA","isTyping":true"#)])

    package init(_ payload: Payload) {
        self.to = payload.whisperID(Self.definition.field("to"))
        self.isTyping = payload.bool(Self.definition.field("isTyping"))
    }
}
