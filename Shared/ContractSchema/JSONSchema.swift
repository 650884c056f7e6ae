package import Contract

/// JSON Schema (draft 2020-12) of the contract's types. It accepts exactly what `FrameDecoder` accepts; what it cannot
/// say is listed in `JSONSchema.silences`.
package enum JSONSchema {
    /// Rules to check before the schema, because JSON Schema speaks of values, not of their spelling.
    package static let silences = [
        "A field that is given twice is refused.",
        "Integers are written without fraction and exponent: `1.0` and `1e0` are refused.",
        "Arrays and objects are nested \(Limits.jsonDepthMax) deep at most, the frame itself included.",
        "Strings hold Unicode scalars: an escaped surrogate without its other half is refused.",
        "`x-differ` names two fields that must not be equal; other validators skip it.",
        "Patterns are ECMA-262: `$` matches at the end only, not before a last line feed.",
    ]

    package static func schema(of type: FieldType) -> Document {
        switch type {
        case .version: ["const": 1]
        case .sessionToken: ["type": "string"]
        case .whisperID: self.string("^WSP-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}$")
        case .uuid: self.string("^\(self.uuid)$")
        case .uuidV4:
            self.string("^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$")
        case .lowerCaseUUID: self.string("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
        case .guestID: self.string("^\(GuestID.prefix)[0-9a-f]{32}$")
        case .principalID:
            self.string("^(WSP-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}|\(GuestID.prefix)[0-9a-f]{32})$")
        case .groupID: self.string("^\(GroupIDText.prefix)\(self.uuid)$")
        case .timestamp:
            [
                "type": "integer", "minimum": .integer(Limits.timestamps.lowerBound),
                "maximum": .integer(Limits.timestamps.upperBound),
            ]
        case .base64(let bytes): self.base64(bytes)
        case .integer(let range):
            ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
        case .bool: ["type": "boolean"]
        case .text(let count): Document.member("type", "string").adding(self.text(count))
        case .digits(let count): self.string("^[0-9]{\(count.lowerBound),\(count.upperBound)}$")
        case .choice(let words): ["enum": .array(words.map { .string($0) })]
        case .object(let schema): self.schema(of: schema)
        case .array(let element, let count):
            Document.members([
                ("type", "array"), ("items", self.schema(of: element)),
                ("minItems", count.lowerBound > 0 ? .integer(Int64(count.lowerBound)) : nil),
                ("maxItems", count.upperBound < .max ? .integer(Int64(count.upperBound)) : nil),
            ])
        case .reactions:
            [
                "type": "object", "maxProperties": .integer(Int64(Limits.reactionsMax)),
                "propertyNames": .members(self.text(Limits.reactionCharacters)),
                "additionalProperties": self.schema(
                    of: .array(of: .whisperID, count: 0...Limits.reactionIdentitiesMax)),
            ]
        }
    }

    /// - Parameter rules: rules between the object's fields.
    package static func schema(of object: ObjectSchema, rules: [FrameRule] = []) -> Document {
        let required = object.fields.filter { $0.presence == .required }.map { Document.string($0.name) }
        var differ: [Document] = []
        var all: [Document] = []
        for rule in rules {
            switch rule {
            case .differ(let a, let b): differ.append([.string(a), .string(b)])
            case .bounded(let name, let bytes, let kind, let word):
                let isWord = Document.member(kind, .member("const", .string(word)))
                let isShort = Document.member(name, .member("maxLength", .integer(Int64(bytes / 3 * 4))))
                all.append(["if": .member("properties", isWord), "then": .member("properties", isShort)])
            case .cursor(let name):
                let pattern: Document = "^p1-(0|[1-9a-f][0-9a-f]{0,14}|[1-7][0-9a-f]{15})$"
                all.append(.member("properties", .member(name, .member("pattern", pattern))))
            case .groupCursor(let name):
                let pattern: Document = "^g[0-2]-[0-9a-f]{43}[0-7][0-9a-f]{15}$"
                all.append(.member("properties", .member(name, .member("pattern", pattern))))
            case .notBoth(let a, let b):
                // `null` equals absent.
                let isText = Document.member("type", "string")
                let both: Document = [
                    "properties": .members([(a, isText), (b, isText)]), "required": [.string(a), .string(b)],
                ]
                all.append(.member("not", both))
            case .oneOf(let a, let b):
                all.append(["oneOf": .array([a, b].map { self.hasText($0) })])
            case .among(let name, let numbers):
                // `null` equals absent.
                let values = numbers.map { Document.integer($0) } + [.null]
                all.append(.member("properties", .member(name, .member("enum", .array(values)))))
            case .absent(let name, let kind, let word):
                let isWord = Document.member(kind, .member("const", .string(word)))
                let isAbsent = Document.member(name, .member("type", "null"))
                all.append(["if": .member("properties", isWord), "then": .member("properties", isAbsent)])
            case .notZero(let name, let kind, let word):
                let isWord = Document.member(kind, .member("const", .string(word)))
                let isCounted = Document.member(name, .member("not", .member("const", .integer(0))))
                all.append(["if": .member("properties", isWord), "then": .member("properties", isCounted)])
            }
        }
        return Document.members([
            ("type", "object"), ("properties", .members(object.fields.map { ($0.name, self.schema(of: $0)) })),
            ("required", required.isEmpty ? nil : .array(required)), ("allOf", all.isEmpty ? nil : .array(all)),
            ("x-differ", differ.isEmpty ? nil : .array(differ)),
        ])
    }

    /// `null` equals absent.
    private static func hasText(_ name: String) -> Document {
        [
            "properties": .members([(name, Document.member("type", "string"))]),
            "required": .array([Document.string(name)]),
        ]
    }

    package static func schema(of field: Field) -> Document {
        var schema = self.schema(of: field.type)
        if field.presence != .required { schema = self.orNull(schema) }
        guard let about = self.about(field) else { return schema }
        return Document.members([("description", .string(about))]).adding(schema.pairs)
    }

    private static func about(_ field: Field) -> String? {
        if case .sessionToken = field.type {
            return "Needed: without a valid one the answer is NOT_REGISTERED. Of another type: INVALID_PAYLOAD."
        }
        let presence = field.presence == .clearable ? "Absent keeps what is stored, `null` clears it." : ""
        let about = [field.about, presence].filter { !$0.isEmpty }.joined(separator: " ")
        return about.isEmpty ? nil : about
    }

    private static func orNull(_ schema: Document) -> Document {
        guard case .object(let members) = schema else { return schema }
        return .object(
            members.map { member in
                switch (member.name, member.value) {
                case ("type", let type): Document.Member(name: "type", value: [type, "null"])
                case ("enum", .array(let words)): Document.Member(name: "enum", value: .array(words + [.null]))
                default: member
                }
            })
    }

    private static let uuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

    private static func string(_ pattern: String) -> Document { ["type": "string", "pattern": .string(pattern)] }

    /// Unicode scalars without NUL.
    private static func text(_ count: ClosedRange<Int>) -> [(String, Document?)] {
        [
            ("minLength", .integer(Int64(count.lowerBound))), ("maxLength", .integer(Int64(count.upperBound))),
            ("pattern", #"^[^\u0000]*$"#),
        ]
    }

    /// Canonical base64. The last symbol before padding has its unused bits at zero, which leaves 16 or 4 symbols.
    private static func base64(_ bytes: ClosedRange<Int>) -> Document {
        let symbol = "[A-Za-z0-9+/]"
        let one = "\(symbol)[AQgw]=="
        let two = "\(symbol){2}[AEIMQUYcgkosw048]="
        if bytes.count == 1 {
            let whole = bytes.lowerBound / 3 * 4
            switch bytes.lowerBound % 3 {
            case 1: return self.string("^\(symbol){\(whole)}\(one)$")
            case 2: return self.string("^\(symbol){\(whole + 2)}[AEIMQUYcgkosw048]=$")
            default: return self.string("^\(symbol){\(whole)}$")
            }
        }
        let (shortest, longest) = (Int64((bytes.lowerBound + 2) / 3 * 4), Int64((bytes.upperBound + 2) / 3 * 4))
        var borders: [Document] = []
        // Text of the longest size may still stand for too many bytes, if it has less padding than the bound's.
        let most = ["", "==$", "=$"][bytes.upperBound % 3]
        if !most.isEmpty { borders.append([["maxLength": .integer(longest - 4)], ["pattern": .string(most)]]) }
        // Text of the shortest size may stand for too few, if it has more padding.
        let least = ["[^=]$", "", "[^=]=?$"][bytes.lowerBound % 3]
        if !least.isEmpty { borders.append([["minLength": .integer(shortest + 4)], ["pattern": .string(least)]]) }
        return self.string("^(?:\(symbol){4})*(?:\(one)|\(two))?$").adding([
            ("minLength", .integer(shortest)), ("maxLength", .integer(longest)),
            ("anyOf", borders.count == 1 ? borders[0] : nil),
            ("allOf", borders.count > 1 ? .array(borders.map { ["anyOf": $0] }) : nil),
        ])
    }
}

extension Document {
    package var pairs: [(String, Document?)] {
        guard case .object(let members) = self else { return [] }
        return members.map { ($0.name, $0.value) }
    }
}
