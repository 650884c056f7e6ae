package import Contract
package import ContractSchema

/// Everything over HTTP as an OpenAPI 3.1 document.
package enum OpenAPI {
    private static let publicOrigin: Document = ["url": "https://whisper.example", "description": "For clients."]
    private static let opsOrigin: Document = [
        "url": "http://ops.whisper.example",
        "description": "For operators, never public. /health, /ready and /metrics: of each process.",
    ]

    package static var document: Document {
        var paths: [(path: String, operations: [(String, Document?)])] = []
        for operation in HTTPCatalogue.all {
            let entry = (operation.method.rawValue, Optional(self.operation(operation)))
            if let index = paths.firstIndex(where: { $0.path == operation.path }) {
                paths[index].operations.append(entry)
            } else {
                paths.append((operation.path, [entry]))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Whisper HTTP", "version": .string(Release.version),
                "description":
                    "What Whisper serves over HTTP beside the WebSocket. Generated from the contract's definition.",
            ],
            "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
            "servers": [self.publicOrigin],
            "paths": .members(paths.map { ($0.path, .members($0.operations)) }),
            "components": [
                "schemas": [
                    "Failure": JSONSchema.schema(of: HTTPOperation.failureBody)
                ],
                "securitySchemes": [
                    "session": [
                        "type": "http", "scheme": "bearer", "description": "A session token, from `register_ack`.",
                    ],
                    "guest": [
                        "type": "http", "scheme": "bearer", "description": "A guest token, from `guest_ack`.",
                    ],
                    "admin": [
                        "type": "http", "scheme": "bearer",
                        "description": "An admin token, of role viewer or operator.",
                    ],
                ],
            ],
        ]
    }

    private static func operation(_ operation: HTTPOperation) -> Document {
        let servers: Document? =
            switch operation.origin {
            case .clients: nil
            case .operators: [self.opsOrigin]
            case .both: [self.publicOrigin, self.opsOrigin]
            }
        let security: Document =
            switch operation.access {
            case .anybody: []
            case .session: [["session": []]]
            case .principal: [["session": []], ["guest": []]]
            case .viewer, .operator: [["admin": []]]
            }
        return Document.members([
            ("operationId", .string(operation.name)), ("summary", .string(operation.about)),
            ("description", operation.access == .operator ? "Needs the role `operator`." : nil),
            ("x-per-\(operation.rate?.period.rawValue ?? "")", operation.rate.map { .integer(Int64($0.uses)) }),
            ("servers", servers),
            ("security", security),
            ("parameters", operation.parameters.isEmpty ? nil : .array(operation.parameters.map(self.parameter))),
            (
                "requestBody",
                operation.request.map {
                    ["required": true, "content": self.json(JSONSchema.schema(of: $0.schema), sample: $0.sample)]
                }
            ),
            ("responses", self.responses(operation)),
        ])
    }

    private static func parameter(_ parameter: HTTPOperation.Parameter) -> Document {
        Document.members([
            ("name", .string(parameter.field.name)), ("in", .string(parameter.place.rawValue)),
            ("description", parameter.field.about.isEmpty ? nil : .string(parameter.field.about)),
            ("required", parameter.place == .path ? true : nil),
            ("schema", JSONSchema.schema(of: parameter.field.type)),
        ])
    }

    private static func responses(_ operation: HTTPOperation) -> Document {
        let content: Document =
            switch operation.success {
            case .json(let schema, let sample): self.json(JSONSchema.schema(of: schema), sample: sample)
            case .text(let mediaType): .member(mediaType, .member("schema", .member("type", "string")))
            case .page: self.page
            }
        let headers = operation.headers.map { header -> (String, Document?) in
            (header.name, ["description": .string(header.about), "schema": ["type": "string"]])
        }
        let success = Document.members([
            ("description", "Done."), ("headers", headers.isEmpty ? nil : .members(headers)), ("content", content),
        ])
        let failure: Document =
            switch operation.success {
            case .json, .text: ["application/json": ["schema": ["$ref": "#/components/schemas/Failure"]]]
            case .page: self.page
            }
        let failures = operation.allFailures
        let statuses = Set(failures.map(\.status)).sorted().map { status -> (String, Document?) in
            let of = failures.filter { $0.status == status }
            let text = of.map { "\($0.code.rawValue): \($0.when)" }.joined(separator: " ")
            let retryAfter: Document = ["Retry-After": ["description": "Seconds.", "schema": ["type": "integer"]]]
            return (
                "\(status)",
                Document.members([
                    ("description", .string(text)), ("headers", status == 429 ? retryAfter : nil),
                    ("content", failure),
                ])
            )
        }
        let unready: [(String, Document?)] =
            operation.path == "/ready"
            ? [("503", ["description": "Not now.", "content": content])] : []
        let unchanged: [(String, Document?)] =
            operation.unchangedWhen.map {
                [
                    (
                        "304",
                        Document.members([
                            ("description", .string($0)), ("headers", headers.isEmpty ? nil : .members(headers)),
                        ])
                    )
                ]
            } ?? []
        return .members([("200", success)] + unchanged + statuses + unready)
    }

    private static let page: Document = ["text/html": ["schema": ["type": "string"]]]

    private static func json(_ schema: Document, sample: String) -> Document {
        ["application/json": ["schema": schema, "example": Document(sample: sample)]]
    }
}

extension HTTPOperation {
    /// The operation's own failures, and those that all of its kind have.
    package var allFailures: [Failure] {
        guard self.access != .anybody else { return self.failures }
        let token =
            switch self.access {
            case .session: "A session token is needed."
            case .principal: "A session token or a guest token is needed."
            case .anybody, .viewer, .operator: "An admin token is needed."
            }
        let rejected: [Failure] =
            switch self.access {
            case .session: [Failure(.userBanned, "The session's identity is banned.")]
            case .principal: [Failure(.userBanned, "The identity or the guest is banned.")]
            case .operator: [Failure(.forbidden, "The token's role is too low.")]
            case .anybody, .viewer: []
            }
        let paced =
            self.rate.map { [Failure(.rateLimited, "More than \($0.uses) in a \($0.period.rawValue).")] } ?? []
        let broken = Failure(.internalError, "Something went wrong on our side; safe to retry.")
        return self.failures + [Failure(.notRegistered, token)] + rejected + paced + [broken]
    }
}
