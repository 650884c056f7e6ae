/// A JSON value that keeps its members in order, so that the same contract always gives the same text.
package indirect enum Document: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: Document
    }

    case null
    case bool(Bool)
    case integer(Int64)
    case string(String)
    case array([Document])
    case object([Member])

    package subscript(name: String) -> Document? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The object with more members behind its own; nothing else changes.
    package func adding(_ members: [(String, Document?)]) -> Document {
        guard case .object(let own) = self else { return self }
        return .object(own + members.compactMap { name, value in value.map { Member(name: name, value: $0) } })
    }

    /// An object of one member.
    package static func member(_ name: String, _ value: Document) -> Document {
        .object([Member(name: name, value: value)])
    }

    package static func members(_ members: [(String, Document?)]) -> Document { Document.object([]).adding(members) }
}

extension Document: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: Document...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, Document)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
}
