import Contract
import ContractSchema

extension ProtocolPage {
    static func http(after number: Int) -> String {
        func section(_ title: String, _ opening: String, _ origins: [HTTPOperation.Origin]) -> String {
            let of = HTTPCatalogue.all.filter { origins.contains($0.origin) }
            return (["## \(title)", opening] + of.map { self.operation($0) }).joined(separator: "\n\n")
        }
        return [
            section(
                "\(number + 1). HTTP",
                """
                On the same public origin as the WebSocket. `Authorization: Bearer {token}` carries the session token. Bodies are JSON.
                Failures have one form, `{"error": CODE, "message": text}`, and with 429 a `Retry-After` in seconds.
                Tokens that are nobody's are counted for each address. One that has used up its rate hears 429 for every token that was not used
                lately, before anything is looked up.
                """, [.clients, .both]),
            section(
                "\(number + 2). For operators",
                """
                On ops listeners only, which are never public. Every process serves `/health`, `/ready` and `/metrics`; `/admin/*` takes an admin
                token. The role `viewer` may read, `operator` may do everything; every call is audited.
                """, [.operators]),
        ].joined(separator: "\n\n")
    }

    private static func operation(_ operation: HTTPOperation) -> String {
        var parts = ["### `\(operation.method.rawValue.uppercased()) \(operation.path)`", operation.about]
        let access =
            switch operation.access {
            case .anybody: "**Needs** no token."
            case .session: "**Needs** a session token."
            case .principal: "**Needs** a session token or a guest token."
            case .viewer: "**Needs** an admin token."
            case .operator: "**Needs** an admin token of role `operator`."
            }
        parts.append(
            access
                + (operation.rate.map {
                    " **Rate:** \($0.uses) per \($0.period.rawValue) and \(operation.access.counted)."
                } ?? ""))
        if !operation.parameters.isEmpty {
            parts.append(
                self.table(
                    ["parameter", "type", "in", "meaning"],
                    operation.parameters.map {
                        ["`\($0.field.name)`", $0.field.type.words, $0.place.rawValue, $0.field.about]
                    }))
        }
        if let request = operation.request {
            parts += ["Request:", self.fields(request.schema), self.example(Document(sample: request.sample))]
        }
        switch operation.success {
        case .json(let schema, let sample):
            parts += ["Answer, 200:", self.fields(schema), self.example(Document(sample: sample))]
        case .text(let mediaType): parts.append("Answer, 200: `\(mediaType)`.")
        case .page: parts.append("Answer, 200: `text/html`. Failures are pages, too.")
        }
        if let when = operation.unchangedWhen { parts.append("Answer, 304, without a body: \(when)") }
        if !operation.headers.isEmpty {
            parts.append(operation.headers.map { "- header `\($0.name)`: \($0.about)" }.joined(separator: "\n"))
        }
        let failures = operation.allFailures.sorted { $0.status < $1.status }
        if !failures.isEmpty {
            parts.append(
                self.table(
                    ["status", "code", "when"], failures.map { ["\($0.status)", "`\($0.code.rawValue)`", $0.when] }))
        }
        return parts.joined(separator: "\n\n")
    }
}

extension HTTPOperation.Access {
    /// The caller whose uses its rate counts.
    fileprivate var counted: String {
        switch self {
        case .session: "identity"
        case .principal: "identity or guest"
        case .anybody, .viewer, .operator: "role"
        }
    }
}
