import Foundation

/// A JSON value that tests build and look into without types for every frame.
package enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// - Throws: what Foundation says about text that is not JSON.
    package init(parsing text: [UInt8]) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(text))
    }

    /// A member of an object; nil in anything else.
    package subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package subscript(index: Int) -> JSON? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var elements: [JSON] { if case .array(let value) = self { value } else { [] } }
    package var members: [String: JSON] { if case .object(let value) = self { value } else { [:] } }

    /// Without white space; members in the order of their names.
    package var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { Self.quoted($0) + ":" + $1.text }.joined(separator: ",")
                + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension JSON: Decodable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if value.decodeNil() {
            self = .null
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let members = try? value.decode([String: JSON].self) {
            self = .object(members)
        } else if let elements = try? value.decode([JSON].self) {
            self = .array(elements)
        } else {
            self = .number(try value.decode(Double.self))
        }
    }
}

/// A value that can stand in a payload.
package protocol JSONConvertible {
    var json: JSON { get }
}

/// The members of an object under construction: `["to": id, "limit": 5, "cursor": JSON.null]`.
package typealias Fields = [String: any JSONConvertible & Sendable]

extension JSON: JSONConvertible { package var json: JSON { self } }
extension String: JSONConvertible { package var json: JSON { .string(self) } }
extension Bool: JSONConvertible { package var json: JSON { .bool(self) } }
extension Int: JSONConvertible { package var json: JSON { .integer(Int64(self)) } }
extension Int64: JSONConvertible { package var json: JSON { .integer(self) } }
extension Double: JSONConvertible { package var json: JSON { .number(self) } }
extension Array: JSONConvertible where Element: JSONConvertible {
    package var json: JSON { .array(self.map(\.json)) }
}
extension Dictionary: JSONConvertible where Key == String {
    package var json: JSON {
        .object(self.compactMapValues { ($0 as? any JSONConvertible)?.json })
    }
}
