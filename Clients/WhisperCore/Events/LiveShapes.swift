import Contract
import WhisperClient

/// Live conversations in answers and events.
extension Shapes {
    static let conversationID = Field("conversationId", .lowerCaseUUID)
    static let listener = Field("listener", .principalID, about: "A Whisper ID, or the id of a guest.")
    static let listenerName = Field("name", .text(1...200), about: "As they call themselves. Nobody has checked it.")
    static let liveTexts = 0...LiveLimits.textBytesMax

    static let liveLine = [Field("line", .integer(LiveLimits.lineNumbers)), Field("text", .text(Self.liveTexts))]

    static func write(_ number: Int, _ text: LiveText, _ json: inout JSONWriter) {
        json.add("line", Int64(number))
        json.add("text", text.string)
    }

    static func reason(of end: ListeningMachine.End) -> String {
        switch end {
        case .refused(let reason): reason.rawValue
        case .notFound, .forbidden, .broken: "\(end)"
        }
    }

    static let ownConversation = ObjectSchema([
        Self.conversationID,
        Field("name", .text(1...64), about: "As it is called here."),
        Field("title", .text(1...64), about: "As listeners see it."),
        Field("whisperer", .text(1...64), about: "As listeners see us called."),
        Field(
            "admission", .choice(Admission.allCases.map(\.rawValue)),
            about: "Listeners who are let in without a question."),
        Field("passcode", .text(1...64), .optional),
        Field(
            "transcriptDays", .integer(LiveLimits.transcriptDays), about: "For so long the server keeps lines. 0: not."),
        Field("link", .text(1...1_000), about: "For listeners. It holds a secret that the server never sees."),
        Field(
            "state", .choice(LiveStreamState.allCases.map(\.rawValue)), .optional,
            about: "As the server has it. Absent if it knows of none, or was not asked."),
        Field("holder", .whisperID, .optional, about: "The device that whispers."),
    ])

    static func write(
        _ own: OwnConversation, _ known: LiveConversation?, origin: String, _ json: inout JSONWriter
    ) {
        json.add("conversationId", own.id.uuid)
        json.add("name", own.name)
        json.add("title", own.title)
        json.add("whisperer", own.whisperer)
        json.add("admission", own.admission.rawValue)
        json.add("passcode", own.passcode)
        json.add("transcriptDays", Int64(own.transcriptDays))
        json.add("link", ListenLink(origin: origin, conversation: own.id, secret: own.linkSecret).text)
        json.add("state", known?.state.rawValue)
        if let holder = known?.holder { json.add("holder", holder) }
    }

    static let heardConversation = ObjectSchema([
        Self.conversationID, Field("title", .text(0...64)), Field("whisperer", .text(0...64)),
        Field("link", .text(1...1_000)), Field("listenedAt", .timestamp),
    ])

    static func write(_ heard: HeardConversation, _ json: inout JSONWriter) {
        json.add("conversationId", heard.link.conversation.uuid)
        json.add("title", heard.title)
        json.add("whisperer", heard.whisperer)
        json.add("link", heard.link.text)
        json.add("listenedAt", heard.listenedAt)
    }

    static let sampleConversationID = #""conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61""#
    static let sampleConversation =
        "{" + Self.sampleConversationID
        + #","name":"talk","title":"A talk","whisperer":"Ann","admission":"knock","transcriptDays":0,"link":"https://chat.example/listen/3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61#AAAAAAAAAAAAAAAAAAAAAA"}"#
}
