import Contract
import WhisperClient

/// Parameters that verbs of live conversations share.
enum LiveParameters {
    static let conversation = TypedField.conversationID("conversationId")
    static let listener = TypedField.principalID("listener", about: "A Whisper ID, or the id of a guest.")
    static let title = Self.name("title", about: "As listeners see it.").optional
    static let whisperer = Self.name("whisperer", about: "As listeners see us called.").optional
    static let admission = TypedField<Admission>.choice(
        "admission",
        about: "Listeners who are let in without a question: nobody, those with the passcode, or those with the link."
    ).optional
    static let passcode = Self.name("passcode", about: "With the admission `passcode`.").optional
    static let transcriptDays = TypedField.integer(
        "transcriptDays", LiveLimits.transcriptDays, about: "For so long the server keeps lines. 0: not at all."
    ).optional
    static let content = TypedField.uuid("contentId", about: "Id of a stream, as `live_transcripts` shows it.")
    static let text = TypedField.text("text", 0...CoreLimits.textBytesMax)

    static let settings = [
        Self.title.field, Self.whisperer.field, Self.admission.field, Self.passcode.field, Self.transcriptDays.field,
    ]

    static func name(_ name: String, about: String) -> TypedField<String> {
        TypedField.text(name, LiveLimits.nameScalars, about: about)
    }

    /// A name that people are shown.
    static func shown(_ parameters: Payload, _ field: TypedField<String?>, _ name: String) throws -> String? {
        guard let text = try parameters[field] else { return nil }
        guard isName(text) else { throw CoreError(.invalidField, "has characters that no name has", field: name) }
        return text
    }

    static let named = "{" + Shapes.sampleConversationID + "}"
    static let errors: [CoreError.Code] = RoomParameters.errors
    static let own = [Field("conversation", .object(Shapes.ownConversation))]
    static let sampleOwn = #"{"type":"conversation","conversation":"# + Shapes.sampleConversation + "}"
    static let done = [Shapes.conversationID]

    static func sampleDone(_ type: String) -> String { #"{"type":"\#(type)",\#(Shapes.sampleConversationID)}"# }
}

extension OpenCore {
    var live: LiveStore { LiveStore(self.store, keys: self.profile.keys) }

    /// A conversation of our own.
    /// - Throws: `.notFound`
    func ownConversation(_ id: ConversationID) throws -> OwnConversation {
        guard let own = try self.live.conversations().first(where: { $0.id == id }) else {
            throw CoreError(.notFound, field: "conversationId")
        }
        return own
    }

    /// - Throws: `.notFound` if we do not whisper there.
    func listening(_ parameters: Payload) async throws -> ConversationID {
        let id = try parameters[LiveParameters.conversation]
        guard await self.with({ $0.heard.isListening(to: id) }) else {
            throw CoreError(.notFound, field: "conversationId")
        }
        return id
    }

    /// A listener that knocks.
    func caller(_ parameters: Payload, in id: ConversationID) async throws -> PrincipalID {
        let listener = try parameters[LiveParameters.listener]
        guard await self.with({ $0.streams.callers(of: id) }).contains(where: { $0.listener == listener }) else {
            throw CoreError(.notFound, field: "listener")
        }
        return listener
    }

    func whispering(_ parameters: Payload) async throws -> ConversationID {
        let id = try parameters[LiveParameters.conversation]
        guard await self.with({ $0.streams.isWhispering(in: id) }) else {
            throw CoreError(.notFound, field: "conversationId")
        }
        return id
    }
}
