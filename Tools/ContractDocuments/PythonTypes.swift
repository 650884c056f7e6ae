import Contract
import ContractSchema
import WhisperCore

/// The verbs and events of the core as a Python stub: overloads of `send`, `query` and `ask` for each verb, and a TypedDict
/// for each object.
package enum PythonTypes {
    package static let text: String = {
        var types = Types()
        let verbs = VerbCatalogue.all.map { (verb: $0, signature: Self.signature(of: $0, &types)) }
        let events = EventDefinition.all.map { types.add($0.fields, as: Self.camel($0.type) + "Event") }
        let asked = types.add(Verb.asked, as: "Asked")
        // Overloads of one function stand together.
        let sends = verbs.map { $1.overload(of: "send", answering: $0.asksServer ? asked : $1.result) }
        let queries = verbs.filter(\.verb.isReadOnly).map { $1.overload(of: "query", answering: $1.result) }
        let waiting = ", timeout: float = ..., others: list[Envelope] | None = ..."
        let asks = verbs.filter(\.verb.asksServer).map { $1.overload(of: "ask", waiting, answering: $1.result) }
        return """
            # Whisper \(Release.version). Generated from the verbs by `make documents`: do not edit it.
            # Bounds of lengths and numbers stand in docs/core.json. A parameter whose name is a word of Python goes in a dictionary:
            # core.send("message_react", **{"from": bob}, chat=bob, messageId=id, reaction="👍"). This module is for type checkers alone:
            # import it under typing.TYPE_CHECKING.
            from typing import Any, Literal, TypeAlias, TypedDict, overload
            from typing_extensions import NotRequired

            \(types.definitions.joined(separator: "\n\n"))

            Event: TypeAlias = (
                \(events.joined(separator: "\n    | "))
            )
            class Envelope(TypedDict):
                seq: NotRequired[int]
                account: NotRequired[str | None]
                event: Event

            class Verbs:
            \((sends + queries + asks).joined(separator: "\n"))

            """
    }()

    /// TypedDicts by their name. Objects of the same shape share one.
    private struct Types {
        private(set) var definitions: [String] = []
        private var names: [String: String] = [:]
        private var taken: Set<String> = ["Envelope", "Event", "Verbs"]

        /// - Parameter owner: goes before the name if another shape has it.
        /// - Returns: the name of its type.
        mutating func add(_ schema: ObjectSchema, as name: String, of owner: String = "") -> String {
            let members = schema.fields.map { field in
                let type = self.type(of: field.type, as: field.name, of: name)
                return (field.name, field.presence == .required ? type : "NotRequired[\(type) | None]")
            }
            let shape = members.map { "\"\($0)\": \($1)" }.joined(separator: ", ")
            if let known = self.names[shape] { return known }
            var unique = name
            if self.taken.contains(unique) { unique = owner + name }
            while self.taken.contains(unique) { unique += "_" }
            self.taken.insert(unique)
            self.names[shape] = unique
            if members.contains(where: { PythonTypes.reserved.contains($0.0) }) {
                self.definitions.append("\(unique) = TypedDict(\"\(unique)\", {\(shape)})")
            } else {
                let lines = members.map { "    \($0): \($1)" }.joined(separator: "\n")
                self.definitions.append("class \(unique)(TypedDict):\n\(lines)")
            }
            return unique
        }

        mutating func type(of type: FieldType, as name: String, of owner: String) -> String {
            switch type {
            case .version, .integer, .timestamp: "int"
            case .bool: "bool"
            case .choice(let words): "Literal[\(words.map { "\"\($0)\"" }.joined(separator: ", "))]"
            case .object(let schema): self.add(schema, as: PythonTypes.camel(name), of: owner)
            case .array(let element, _): "list[\(self.type(of: element, as: PythonTypes.singular(name), of: owner))]"
            case .reactions: "dict[str, list[str]]"
            case .sessionToken, .text, .digits, .base64, .whisperID, .guestID, .principalID, .groupID, .uuid, .uuidV4,
                .lowerCaseUUID:
                "str"
            }
        }
    }

    private struct Signature {
        let verb: String
        let parameters: String
        /// The type of its result.
        let result: String

        func overload(of function: String, _ more: String = "", answering answer: String) -> String {
            let all = "self, verb: Literal[\"\(self.verb)\"]\(more), *, \(self.parameters)"
            return "    @overload\n    def \(function)(\(all)) -> \(answer): ..."
        }
    }

    private static func signature(of verb: Verb, _ types: inout Types) -> Signature {
        let name = self.camel(verb.name)
        let result = types.add(verb.result, as: self.camel(verb.type) + "Result", of: name)
        let fields = verb.parameters.fields
        let required = fields.filter { $0.presence == .required }
        var parameters: [String] = []
        for field in required + fields.filter({ $0.presence != .required }) where !Self.reserved.contains(field.name) {
            let type = types.type(of: field.type, as: field.name, of: name)
            parameters.append("\(field.name): \(type)\(field.presence == .required ? "" : " | None = ...")")
        }
        if fields.contains(where: { Self.reserved.contains($0.name) }) { parameters.append("**others: str") }
        return Signature(verb: verb.name, parameters: parameters.joined(separator: ", "), result: result)
    }

    /// Names of fields that are words of Python.
    fileprivate static let reserved: Set<String> = ["as", "from"]

    /// `chat_list` as `ChatList`, `messageReceived` as `MessageReceived`.
    fileprivate static func camel(_ name: String) -> String {
        name.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    fileprivate static func singular(_ name: String) -> String { name.hasSuffix("s") ? String(name.dropLast()) : name }
}
