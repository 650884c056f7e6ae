import Contract
import ContractSchema
import WhisperCore

/// `docs/core.md`: verbs and events of the client core, for people who write a host.
package enum CorePage {
    package static var text: String {
        [Self.opening, Self.answers, Self.events, Self.verbs, Self.errors].joined(separator: "\n\n") + "\n"
    }

    private static let opening = """
        # Verbs and events of WhisperCore

        A host sends a *verb* to the client core and gets an *answer* at once. Later results are *events*.
        [embedding.md](embedding.md) says how to link the core. This page is generated from the declarations in
        `Clients/WhisperCore`, like [core.json](core.json) (OpenRPC): do not edit it, run `make documents`.

        ## Commands and answers

        A command is a verb, or a verb, a space and one JSON object with its parameters.

        ```
        message_send {"to":"WSP-AAAA-AAAA-AAAA","text":"It is.","corrId":"7"}
        ```

        - A command has at most \(CoreLimits.commandBytesMax) bytes of UTF-8.
        - A field that the verb does not know is refused. So is one that is given twice or has another type.
        - `corrId` is optional in each verb: 1 to 64 characters. The answer repeats it.
        - `wsp_query` takes the verbs marked *query*. They change nothing.
        - A verb marked *server* is answered at once by `asked`. Its result or error comes as the event `answer`.
        """

    private static let answers = """
        Answers are one JSON object.

        ```json
        {"corrId":"7","result":{"type":"message","message":{}}}
        {"error":{"code":"unknownContact","message":"Add the contact first.","retryable":false}}
        ```

        \(Self.table(of: Shapes.error))

        Later releases add fields to answers and events. Hosts ignore those that they do not know.
        """

    private static var events: String {
        let rows = EventDefinition.all.map { event in
            ["`\(event.type)`", event.isKept ? "yes" : "", event.about]
        }
        let opening = """
            ## Events

            `wsp_recv` gives one event after the other.

            ```json
            {"seq":12,"account":"WSP-AAAA-AAAA-AAAA","event":{"type":"messageReceived","message":{}}}
            ```

            \(Self.table(of: EventDefinition.envelope))

            A *consumer* is a program with a name that must miss no event. `events_subscribe` makes it known. From then on kept
            events have a number, `seq`. They stay in the store until the consumer acknowledges them by `events_ack`. A
            consumer that dies before that gets them again, with the same numbers, after the next `events_subscribe`. So a
            consumer does an event first, and acknowledges it then.

            At most \(CoreLimits.eventsKeptMax) events are kept, for \(CoreLimits.eventsKeptDays) days. An `eventsLost` stands
            for further ones. Without a consumer nothing is kept, and at most \(CoreLimits.eventsWaitingMax) events wait for
            the reader.

            \(ProtocolPage.table(["event", "kept", "meaning"], rows))
            """
        return ([opening] + EventDefinition.all.map(Self.chapter)).joined(separator: "\n\n")
    }

    private static func chapter(_ event: EventDefinition) -> String {
        """
        ### `\(event.type)`

        \(event.about)

        \(Self.table(of: event.fields))

        \(ProtocolPage.example(Document(sample: event.sample)))
        """
    }

    private static var verbs: String {
        let rows = VerbCatalogue.all.map { verb in
            ["[`\(verb.name)`](#\(verb.name))", Self.marks(verb), verb.about]
        }
        return
            (["## Verbs", ProtocolPage.table(["verb", "", "meaning"], rows)]
            + VerbCatalogue.all.map(Self.chapter)).joined(separator: "\n\n")
    }

    private static func marks(_ verb: Verb) -> String {
        verb.isReadOnly ? "query" : verb.asksServer ? "server" : ""
    }

    private static func chapter(_ verb: Verb) -> String {
        let parameters = ObjectSchema(verb.parameters.fields.filter { $0.name != "corrId" })
        return [
            "### \(verb.name)", verb.about,
            parameters.fields.isEmpty ? nil : "Parameters:\n\n" + Self.table(of: parameters),
            "Result:\n\n" + Self.table(of: verb.result),
            verb.errors.isEmpty
                ? nil : "Errors of its own: " + verb.errors.map { "`\($0.rawValue)`" }.joined(separator: ", ") + ".",
            "```\n\(verb.name) \(verb.samples.parameters)\n```",
            ProtocolPage.example(Document(sample: verb.samples.result)),
        ].compactMap { $0 }.joined(separator: "\n\n")
    }

    private static var errors: String {
        let rows = CoreError.Code.allCases.map { ["`\($0.rawValue)`", $0.isRetryable ? "yes" : "", $0.about] }
        return "## Errors\n\n" + ProtocolPage.table(["code", "retryable", "meaning"], rows)
    }

    private static func table(of schema: ObjectSchema) -> String {
        ProtocolPage.table(
            ["field", "type", "", "meaning"],
            schema.fields.map { field in
                [
                    "`\(field.name)`", Self.type(field.type), field.presence == .required ? "" : "optional",
                    field.about,
                ]
            })
    }

    private static func type(_ type: FieldType) -> String {
        switch type {
        case .whisperID: "WID"
        case .uuid: "UUID"
        case .uuidV4: "UUID, version 4"
        case .timestamp: "ms since 1970"
        case .base64(let range): range.count == 1 ? "base64 of \(range.lowerBound) bytes" : "base64"
        case .integer(let range) where range.upperBound == .max: "integer from \(range.lowerBound)"
        case .integer(let range): "integer \(range.lowerBound)..\(range.upperBound)"
        case .bool: "bool"
        case .text(let range): "text(\(range.lowerBound)..\(range.upperBound))"
        case .choice(let words) where words.count > 20: "one of [these](#errors)"
        case .choice(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        case .object(let schema): "object: " + schema.fields.map { "`\($0.name)`" }.joined(separator: ", ")
        case .array(let element, let count): "0..\(count.upperBound) of " + Self.type(element)
        default: "text"
        }
    }
}
