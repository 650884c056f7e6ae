/// The type of a frame's field. The decoder, the JSON Schemas and the documentation follow from it.
package indirect enum FieldType: Sendable {
    /// The integer 1, the one version there is.
    case version
    /// Any string: a token of the wrong form is simply not a session (contract §13).
    case sessionToken
    case whisperID
    case uuid
    case uuidV4
    /// A UUID whose letters are in lower case (contract §14.2, §19.9).
    case lowerCaseUUID
    /// The id of a guest.
    case guestID
    /// The id of an identity or a guest.
    case principalID
    case groupID
    case timestamp
    /// Canonical base64 whose decoded size is in the range, in bytes.
    case base64(ClosedRange<Int>)
    case integer(ClosedRange<Int64>)
    case bool
    /// Unicode scalars without NUL.
    case text(ClosedRange<Int>)
    /// So many decimal digits, as text.
    case digits(ClosedRange<Int>)
    case choice([String])
    case object(ObjectSchema)
    case array(of: FieldType, count: ClosedRange<Int>)
    /// Reaction text → the ids that reacted.
    case reactions
}

/// A named field of an object. A class, because decoders take one for each value that they read.
package final class Field: Sendable {
    package enum Presence: Sendable {
        case required
        /// `null` equals absent.
        case optional
        /// Absent keeps what is stored, `null` clears it.
        case clearable
    }

    package let name: String
    package let type: FieldType
    package let presence: Presence
    /// The field's meaning, for people, where name and type do not say it.
    package let about: String
    let nameBytes: [UInt8]

    package init(_ name: String, _ type: FieldType, _ presence: Presence = .required, about: String = "") {
        self.name = name
        self.type = type
        self.presence = presence
        self.about = about
        self.nameBytes = Array(name.utf8)
    }
}

/// The fields of an object, in the order in which they are written. Unknown fields are ignored and never passed on.
package struct ObjectSchema: Sendable {
    package let fields: [Field]

    package init(_ fields: [Field]) { self.fields = fields }

    package static func + (a: ObjectSchema, b: ObjectSchema) -> ObjectSchema { ObjectSchema(a.fields + b.fields) }

    package func index(of name: String) -> Int? { self.fields.firstIndex { $0.name == name } }

    /// The place of a field that stands in this schema, looked up once, when a definition is made.
    package func place(_ name: String) -> Int {
        guard let index = self.index(of: name) else {
            // Definition and reader stand in one file. Tests read the samples of each frame, and would end here.
            fatalError("the schema has no field \(name)")
        }
        return index
    }

    /// Finds a field by the bytes of its name. Clients mostly send fields in the documented order, so `hint` is tried first.
    @inline(__always)
    func index(of name: UnsafeBufferPointer<UInt8>, hint: Int) -> Int? {
        if hint < self.fields.count, Self.equal(self.fields[hint].nameBytes, name) { return hint }
        for index in self.fields.indices where Self.equal(self.fields[index].nameBytes, name) { return index }
        return nil
    }

    @inline(__always)
    private static func equal(_ a: [UInt8], _ b: UnsafeBufferPointer<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        for index in 0..<a.count where a[index] != b[index] { return false }
        return true
    }
}

/// Why a payload was refused: which field, and the rule it breaks. Never the value.
package struct PayloadViolation: Error, Equatable, CustomStringConvertible {
    package var field: String
    package var rule: String

    package init(_ field: String, _ rule: String) {
        self.field = field
        self.rule = rule
    }

    package var description: String { self.field.isEmpty ? self.rule : "\(self.field): \(self.rule)" }
}
