import Contract
import WhisperClient

extension Verb {
    static let outboxDiscard = Verb(
        "outbox_discard", of: "messages",
        about:
            "Gives up all that waits to be sent, in every chat: what was kept apart because of a ban, and what came after it.",
        type: "discarded", [Field("count", .integer(0...Int64.max), about: "Messages.")],
        errors: [.noIdentity, .store], samples: ("{}", #"{"type":"discarded","count":2}"#),
        .client { opened, _, json in json.add("count", Int64(try await opened.with { try $0.outbox.discard($0) })) })
}
