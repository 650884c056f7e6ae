import Contract
import ContractSchema

/// The contract as a TypeScript declaration file: every frame, discriminated by `type`, and every body over HTTP.
package enum TypeScript {
    package static var text: String {
        let sides = DocumentedFrame.Side.allCases.map(self.frames)
        return ([self.head] + sides + [self.routes]).joined(separator: "\n") + "\n"
    }

    private static var head: String {
        """
        // Whisper \(Release.version). Generated from the contract by `make documents`: do not edit it.
        // Bounds of lengths and numbers stand in the comments; docs/schemas has them for validators.

        \(self.comment("`WSP-` and three groups of four characters A-Z, 2-7.", indent: ""))
        export type WhisperID = `WSP-${string}-${string}-${string}`
        export type UUID = `${string}-${string}-${string}-${string}-${string}`
        export type GuestID = `\(GuestID.prefix)${string}`
        export type GroupID = `\(GroupIDText.prefix)${string}-${string}-${string}-${string}-${string}`
        \(self.comment("Milliseconds since 1970.", indent: ""))
        export type Timestamp = number
        \(self.comment("Canonical base64.", indent: ""))
        export type Base64 = string
        export type ErrorCode = \(self.union(ErrorCode.allCases.map(\.rawValue)))
        export type RefusalReason = \(self.union(RefusalReason.allCases.map(\.rawValue)))
        \(self.comment("Why the server closes the WebSocket.", indent: ""))
        export type CloseCode = \(CloseCode.allCases.map { "\($0.rawValue)" }.joined(separator: " | "))

        """
    }

    private static func frames(of side: DocumentedFrame.Side) -> String {
        let frames = DocumentedFrame.all.filter { $0.side == side }
        let name = side.rawValue.capitalized
        let request =
            side == .client
            ? "Any text of the client's. Every direct answer repeats it." : "As the answered frame had it."
        let types = frames.map { frame in
            """
            \(self.comment(frame.about, indent: "  "))
              interface \(self.camel(frame.type)) {
                type: "\(frame.type)"
            \(self.comment(request, indent: "    "))
                requestId?: string | null
                payload: \(self.type(.object(frame.schema), indent: "    "))
              }
            """
        }
        let all = frames.map { "\(name).\(self.camel($0.type))" }
        return """
            export declare namespace \(name) {
            \(types.joined(separator: "\n"))
            }
            export type \(name)Frame =
              | \(all.joined(separator: "\n  | "))

            """
    }

    /// One member for each operation, named after its method and path.
    private static var routes: String {
        let operations = HTTPCatalogue.all.map { operation in
            let answer =
                switch operation.success {
                case .json(let schema, _): self.type(.object(schema), indent: "    ")
                case .text, .page: "string"
                }
            let parameters =
                operation.parameters.isEmpty ? "{}" : self.object(operation.parameters.map(\.field), indent: "    ")
            let body = operation.request.map { self.type(.object($0.schema), indent: "    ") } ?? "undefined"
            return """
                \(self.comment(operation.about, indent: "  "))
                  "\(operation.method.rawValue.uppercased()) \(operation.path)": {
                    parameters: \(parameters)
                    body: \(body)
                    answer: \(answer)
                  }
                """
        }
        return """
            export interface Routes {
            \(operations.joined(separator: "\n"))
            }
            \(self.comment("The body of every failure over HTTP.", indent: ""))
            export type Failure = \(self.type(.object(HTTPOperation.failureBody), indent: ""))
            """
    }

    private static func type(_ type: FieldType, indent: String) -> String {
        switch type {
        case .version: "1"
        case .sessionToken, .text, .digits: "string"
        case .whisperID: "WhisperID"
        case .uuid, .uuidV4, .lowerCaseUUID: "UUID"
        case .guestID: "GuestID"
        case .principalID: "WhisperID | GuestID"
        case .groupID: "GroupID"
        case .timestamp: "Timestamp"
        case .base64: "Base64"
        case .integer: "number"
        case .bool: "boolean"
        case .choice(let words): self.union(words)
        case .object(let schema): self.object(schema.fields, indent: indent)
        case .array(let element, _): "Array<\(self.type(element, indent: indent))>"
        case .reactions: "Record<string, WhisperID[]>"
        }
    }

    private static func object(_ fields: [Field], indent: String) -> String {
        guard !fields.isEmpty else { return "{}" }
        let inner = indent + "  "
        let members = fields.map { field in
            let about = [field.about, self.bounds(of: field.type)].filter { !$0.isEmpty }.joined(separator: " ")
            let comment = about.isEmpty ? "" : self.comment(about, indent: inner) + "\n"
            let isOptional = field.presence != .required
            let name = "\(field.name.contains("-") ? "\"\(field.name)\"" : field.name)\(isOptional ? "?" : "")"
            return "\(comment)\(inner)\(name): \(self.type(field.type, indent: inner))\(isOptional ? " | null" : "")"
        }
        return "{\n\(members.joined(separator: "\n"))\n\(indent)}"
    }

    /// As the comment of a field says it.
    private static func bounds(of type: FieldType) -> String {
        switch type {
        case .text(let count): self.range(count, "characters")
        case .base64(let bytes): self.range(bytes, "bytes")
        case .digits(let count): self.range(count, "digits")
        case .integer(let range): range == .min ... .max ? "" : "\(range.lowerBound) to \(range.upperBound)."
        case .array(_, let count): self.range(count, "elements")
        default: ""
        }
    }

    private static func range(_ range: ClosedRange<Int>, _ unit: String) -> String {
        if range.lowerBound == range.upperBound { return "\(range.lowerBound) \(unit)." }
        if range.upperBound == .max { return range.lowerBound == 0 ? "" : "\(range.lowerBound) \(unit) or more." }
        return "\(range.lowerBound) to \(range.upperBound) \(unit)."
    }

    private static func union(_ words: [String]) -> String { words.map { "\"\($0)\"" }.joined(separator: " | ") }

    private static func comment(_ text: String, indent: String) -> String {
        "\(indent)/** \(text.replacing("*/", with: "* /")) */"
    }

    /// `send_message` as `SendMessage`.
    private static func camel(_ type: String) -> String {
        type.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
