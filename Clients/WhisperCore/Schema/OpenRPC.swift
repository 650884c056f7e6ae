import Contract
package import ContractSchema

/// All verbs and events as an OpenRPC document: a verb is a method whose parameters are given by name.
package enum OpenRPC {
    package static let document: Document = [
        "openrpc": "1.3.2",
        "info": [
            "title": "WhisperCore", "version": .string(Release.version),
            "description":
                "Verbs of one client core. Answers and events are told apart in docs/core.md. Fields that are not known are refused in commands, and to be ignored in answers and events.",
        ],
        "methods": .array(VerbCatalogue.all.map(Self.method)),
        "components": [
            "schemas": [
                "Error": JSONSchema.schema(of: Shapes.error),
                "Event": JSONSchema.schema(of: EventDefinition.envelope),
                "Asked": JSONSchema.schema(of: Verb.asked),
            ]
        ],
        "x-events": .array(EventDefinition.all.map(Self.event)),
    ]

    /// On one line.
    package static let text = Self.document.compact

    private static func method(_ verb: Verb) -> Document {
        Document.members([
            ("name", .string(verb.name)), ("description", .string(verb.about)),
            ("tags", [["name": .string(verb.noun)]]), ("paramStructure", "by-name"),
            ("params", .array(verb.parameters.fields.map(Self.parameter))),
            ("result", ["name": .string(verb.type), "schema": JSONSchema.schema(of: verb.result)]),
            (
                "errors",
                // JSON-RPC has one number for errors of programs. The word is what counts.
                .array(
                    verb.errors.map { code in
                        [
                            "code": -32_000, "message": .string(code.about),
                            "data": ["code": .string(code.rawValue)],
                        ]
                    })
            ),
            ("x-read-only", .bool(verb.isReadOnly)), ("x-answered-by-event", .bool(verb.asksServer)),
        ])
    }

    private static func parameter(_ field: Field) -> Document {
        Document.members([
            ("name", .string(field.name)), ("description", field.about.isEmpty ? nil : .string(field.about)),
            ("required", .bool(field.presence == .required)), ("schema", JSONSchema.schema(of: field.type)),
        ])
    }

    private static func event(_ event: EventDefinition) -> Document {
        [
            "type": .string(event.type), "description": .string(event.about), "x-kept": .bool(event.isKept),
            "schema": JSONSchema.schema(of: event.fields), "examples": [Document(sample: event.sample)],
        ]
    }
}
