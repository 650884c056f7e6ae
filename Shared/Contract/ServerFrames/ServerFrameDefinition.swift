/// The definition of a frame that the server sends.
package struct ServerFrameDefinition: Sendable {
    package let type: String
    /// The frame's meaning for the client, for people.
    package let about: String
    /// The client's frames that it directly answers, with their `requestId`. Empty: it comes by itself.
    package let answers: [String]
    package let schema: ObjectSchema
    /// By this clients read it: words that they do not know are text, because newer servers may have more of them.
    let lenientSchema: ObjectSchema
    /// Valid payloads. Tokens, keys and ciphertext are made up.
    package let samples: [String]
    /// The frame up to its payload, if it answers nothing.
    package let head: [UInt8]

    init(_ type: String, about: String, answers: [String] = [], fields: [Field], samples: [String]) {
        self.type = type
        self.about = about
        self.answers = answers
        self.schema = ObjectSchema(fields)
        self.lenientSchema = self.schema.lenient
        self.samples = samples
        self.head = Self.head(type: type, requestID: nil)
    }

    /// A frame up to its payload, which `tail` follows.
    package static func head(type: String, requestID: String?) -> [UInt8] {
        var head = Array(#"{"type":""#.utf8)
        head += type.utf8
        head.append(UInt8(ascii: "\""))
        if let requestID {
            head += #","requestId":"#.utf8
            JSONWriter.append(string: requestID, to: &head)
        }
        head += #","payload":"#.utf8
        return head
    }

    /// The frame behind its payload.
    package static let tail = [UInt8(ascii: "}")]
}

extension ObjectSchema {
    fileprivate var lenient: ObjectSchema {
        ObjectSchema(self.fields.map { Field($0.name, $0.type.lenient, $0.presence, about: $0.about) })
    }
}

extension FieldType {
    /// Longest unknown word that a client takes.
    private static let wordCharacters = 1...64

    fileprivate var lenient: FieldType {
        switch self {
        case .choice: .text(Self.wordCharacters)
        case .object(let schema): .object(schema.lenient)
        case .array(let element, let count): .array(of: element.lenient, count: count)
        default: self
        }
    }
}
