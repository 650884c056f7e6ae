package import Contract
package import ContractSchema

/// A frame of either side, with what the documents say of both.
package struct DocumentedFrame: Sendable {
    package enum Side: String, CaseIterable, Sendable {
        case client, server
    }

    package let side: Side
    package let type: String
    package let about: String
    package let schema: ObjectSchema
    package let rules: [FrameRule]
    package let samples: [Document]

    /// Unique among both sides: some types exist on both.
    package var key: String { "\(self.side.rawValue).\(self.type)" }

    package init(_ frame: FrameDefinition) {
        self.side = .client
        self.type = frame.type
        self.about = frame.about
        self.schema = frame.schema
        self.rules = frame.rules
        self.samples = frame.samples.map { Document(sample: $0) }
    }

    package init(_ frame: ServerFrameDefinition) {
        self.side = .server
        self.type = frame.type
        self.about = frame.about
        self.schema = frame.schema
        self.rules = []
        self.samples = frame.samples.map { Document(sample: $0) }
    }

    package static let all: [DocumentedFrame] =
        FrameCatalogue.all.map { DocumentedFrame($0) } + ServerFrameCatalogue.all.map { DocumentedFrame($0) }

    /// The whole frame, envelope and payload.
    package var jsonSchema: Document {
        let requestID =
            self.side == .client
            ? "Any text of the client's. Every direct answer repeats it." : "As the answered frame had it."
        return [
            "type": "object",
            "properties": [
                "type": ["const": .string(self.type)],
                "requestId": [
                    "description": .string(requestID), "type": ["string", "null"],
                    "minLength": .integer(Int64(Limits.requestIDCharacters.lowerBound)),
                    "maxLength": .integer(Int64(Limits.requestIDCharacters.upperBound)), "pattern": "^[ -~]*$",
                ],
                "payload": JSONSchema.schema(of: self.schema, rules: self.rules),
            ],
            "required": ["type", "payload"],
        ]
    }

    package func frame(_ payload: Document) -> Document { ["type": .string(self.type), "payload": payload] }

    /// A schema file of its own.
    package var schemaFile: Document {
        Document.members([
            ("$schema", "https://json-schema.org/draft/2020-12/schema"),
            ("$id", .string("urn:whisper:frame:\(self.side.rawValue):\(self.type)")), ("title", .string(self.type)),
            ("description", .string(self.about)),
        ]).adding(self.jsonSchema.pairs).adding([("examples", .array(self.samples.map(self.frame)))])
    }
}
