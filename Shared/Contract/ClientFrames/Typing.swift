/// "I am writing to you." Never stored, lost without harm, no answer (contract §7).
package struct Typing: ClientFrame {
    package let to: WhisperID
    package let isTyping: Bool

    private static let to = TypedField.whisperID("to")
    private static let isTyping = TypedField.bool("isTyping")

    package static let definition: FrameDefinition = FrameDefinition(
        "typing",
        about: """
            Shows a peer that the caller is writing. Reaches only identities with 1:1 traffic both ways in the last 30 days; \
            anything else, more than one in 2 s to the same peer, and more than \(Rates.typing.uses) a minute \
            altogether, is dropped without a word.
            """,
        route: .mailbox(of: "to"), rate: Rates.typing,
        fields: CommonFields.privileged + [Self.to.field, Self.isTyping.field],
        samples: [CommonFields.sample(#""to":"WSP-AAAA-AAAA-AAAA","isTyping":true"#)])

    package init(to peer: WhisperID, isTyping: Bool) { (self.to, self.isTyping) = (peer, isTyping) }

    package init(_ payload: Payload) {
        self.to = payload.whisperID(Self.definition.place(Self.to))
        self.isTyping = payload.bool(Self.definition.place(Self.isTyping))
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.to, self.to)
        json.add(Self.isTyping, self.isTyping)
    }
}
