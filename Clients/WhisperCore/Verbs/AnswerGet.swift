import Contract

extension Verb {
    private static let wanted = TypedField.text("of", 1...64, about: "The `corrId` of a command that asked the server.")

    static let answerGet = Verb(
        "answer_get", of: "events",
        about:
            "Gives the server's answer to a command once more, for a host whose stream was lost. The latest \(CoreLimits.answersKeptMax) stay for five minutes.",
        [Self.wanted.field], type: "kept",
        [
            Field("verb", .text(1...64), .optional, about: "Without it no answer has come yet, or none is kept."),
            Field("result", .object(ObjectSchema([Field("type", .text(1...64))])), .optional, about: "Of the verb."),
            Field("error", .object(Shapes.error), .optional, about: "Instead of a result."),
        ],
        samples: (#"{"of":"a1"}"#, #"{"type":"kept"}"#),
        .look { core, parameters, json in
            guard let answer = core.answers.answer(to: try parameters[Self.wanted]) else { return }
            json.add("verb", answer.verb)
            answer.outcome.write(&json)
        })
}
