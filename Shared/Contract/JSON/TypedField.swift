/// A field with the Swift type of its values, declared once. Schema, reader and writer of a frame or body use this value.
package struct TypedField<Value: Sendable>: Sendable {
    package let field: Field
    /// - Returns: `nil` if the value is not of the field's type, which the schema rules out.
    let read: @Sendable (Payload, Int) throws(Payload.Corrupted) -> Value?
    let append: @Sendable (Value, inout [UInt8]) -> Void

    init(
        _ name: String, _ type: FieldType, _ presence: Field.Presence = .required, about: String = "",
        read: @escaping @Sendable (Payload, Int) throws(Payload.Corrupted) -> Value?,
        append: @escaping @Sendable (Value, inout [UInt8]) -> Void
    ) {
        self.field = Field(name, type, presence, about: about)
        self.read = read
        self.append = append
    }

    /// The same, where it may be missing. `null` equals absent.
    package var optional: TypedField<Value?> {
        let (read, append) = (self.read, self.append)
        return TypedField<Value?>(
            self.field.name, self.field.type, .optional, about: self.field.about,
            read: { payload, place throws(Payload.Corrupted) in
                guard payload.has(place) else { return .some(nil) }
                return try read(payload, place).map { .some($0) }
            },
            append: { value, output in
                if let value { append(value, &output) }
            })
    }

    /// The same with another meaning, in another frame.
    package func about(_ about: String) -> TypedField {
        TypedField(
            self.field.name, self.field.type, self.field.presence, about: about, read: self.read, append: self.append)
    }
}

extension Payload {
    /// The value of a field of this payload's schema.
    /// - Throws: if the schema has no such field. The samples of each frame are read in tests, and would show it.
    package subscript<Value>(field: TypedField<Value>) -> Value {
        get throws(Corrupted) {
            guard let place = self.schema.index(of: field.field),
                field.field.presence != .required || self.has(place),
                let value = try field.read(self, place)
            else { throw Corrupted() }
            return value
        }
    }
}

extension ObjectSchema {
    func index(of field: Field) -> Int? {
        // Mostly the schema is made of this very field.
        self.fields.firstIndex { $0 === field } ?? self.fields.firstIndex { $0.nameBytes == field.nameBytes }
    }
}

extension TypedField where Value == WhisperID {
    package static func whisperID(_ name: String, about: String = "") -> TypedField {
        TypedField(name, .whisperID, about: about) { payload, place in
            payload.withText(place) { WhisperID(ascii: $0) }
        } append: { value, output in
            output.append(UInt8(ascii: "\""))
            value.forEachByte { output.append($0) }
            output.append(UInt8(ascii: "\""))
        }
    }
}

extension TypedField where Value == UUIDText {
    package static func uuid(_ name: String, about: String = "") -> TypedField {
        self.identifier(name, .uuid, prefix: "", about: about)
    }

    package static func uuidV4(_ name: String, about: String = "") -> TypedField {
        self.identifier(name, .uuidV4, prefix: "", about: about)
    }

    /// In lower case.
    package static func lowerCaseUUID(_ name: String, about: String = "") -> TypedField {
        self.identifier(name, .lowerCaseUUID, prefix: "", about: about)
    }

    package static func groupID(_ name: String, about: String = "") -> TypedField {
        self.identifier(name, .groupID, prefix: GroupIDText.prefix, about: about)
    }

    private static func identifier(_ name: String, _ type: FieldType, prefix: String, about: String) -> TypedField {
        TypedField(name, type, about: about) { payload, place in
            payload.withText(place) { UUIDText(ascii: $0.dropFirst(prefix.utf8.count)) }
        } append: { value, output in
            output.append(UInt8(ascii: "\""))
            output += prefix.utf8
            value.forEachByte { output.append($0) }
            output.append(UInt8(ascii: "\""))
        }
    }
}

extension TypedField where Value == ConversationID {
    package static func conversationID(_ name: String, about: String = "") -> TypedField {
        TypedField(name, .lowerCaseUUID, about: about) { payload, place in
            payload.withText(place) { ConversationID(ascii: $0) }
        } append: { value, output in
            output.append(UInt8(ascii: "\""))
            value.uuid.forEachByte { output.append($0) }
            output.append(UInt8(ascii: "\""))
        }
    }
}

extension TypedField where Value == GuestID {
    package static func guestID(_ name: String, about: String = "") -> TypedField {
        TypedField(name, .guestID, about: about) { payload, place in
            payload.withText(place) { GuestID(ascii: $0) }
        } append: { value, output in
            output.append(UInt8(ascii: "\""))
            value.forEachByte { output.append($0) }
            output.append(UInt8(ascii: "\""))
        }
    }
}

extension TypedField where Value == PrincipalID {
    package static func principalID(_ name: String, about: String = "") -> TypedField {
        TypedField(name, .principalID, about: about) { payload, place in
            payload.withText(place) { PrincipalID(ascii: $0) }
        } append: { value, output in
            output.append(UInt8(ascii: "\""))
            value.forEachByte { output.append($0) }
            output.append(UInt8(ascii: "\""))
        }
    }
}

extension TypedField where Value == Timestamp {
    package static func timestamp(_ name: String, about: String = "") -> TypedField {
        TypedField(name, .timestamp, about: about) { payload, place in
            payload.timestamp(place)
        } append: { value, output in
            output += String(value.milliseconds).utf8
        }
    }
}

extension TypedField where Value == Int64 {
    package static func integer(_ name: String, _ range: ClosedRange<Int64>, about: String = "") -> TypedField {
        TypedField(name, .integer(range), about: about) { payload, place in
            payload.integer(place)
        } append: { value, output in
            output += String(value).utf8
        }
    }
}

extension TypedField where Value == Bool {
    package static func bool(_ name: String, about: String = "") -> TypedField {
        TypedField(name, .bool, about: about) { payload, place in
            payload.bool(place)
        } append: { value, output in
            output += (value ? "true" : "false").utf8
        }
    }
}

extension TypedField where Value == String {
    package static func text(_ name: String, _ characters: ClosedRange<Int>, about: String = "") -> TypedField {
        self.string(name, .text(characters), about: about)
    }

    /// So many decimal digits.
    package static func digits(_ name: String, _ count: ClosedRange<Int>, about: String = "") -> TypedField {
        self.string(name, .digits(count), about: about)
    }

    /// One of these words, kept as text: a client may meet others, which newer servers write.
    package static func word(_ name: String, of words: [String], about: String = "") -> TypedField {
        self.string(name, .choice(words), about: about)
    }

    private static func string(_ name: String, _ type: FieldType, about: String) -> TypedField {
        TypedField(name, type, about: about) { payload, place in
            payload.text(place)
        } append: { value, output in
            JSONWriter.append(string: value, to: &output)
        }
    }
}

extension TypedField where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One word for each case.
    package static func choice(_ name: String, about: String = "") -> TypedField {
        TypedField(name, .choice(Value.allCases.map(\.rawValue)), about: about) { payload, place in
            Value(rawValue: payload.text(place))
        } append: { value, output in
            JSONWriter.append(string: value.rawValue, to: &output)
        }
    }
}

extension TypedField where Value == [UInt8] {
    /// - Parameter range: decoded size, in bytes.
    package static func base64(_ name: String, _ range: ClosedRange<Int>, about: String = "") -> TypedField {
        TypedField(name, .base64(range), about: about) { payload, place in
            payload.withText(place) { Base64.decode($0) }
        } append: { value, output in
            output.append(UInt8(ascii: "\""))
            output += Base64.encode(value)
            output.append(UInt8(ascii: "\""))
        }
    }
}

extension TypedField where Value == [WhisperID] {
    /// Empty if an optional one is absent.
    package static func whisperIDs(
        _ name: String, count: ClosedRange<Int>, _ presence: Field.Presence = .required, about: String = ""
    ) -> TypedField {
        TypedField(name, .array(of: .whisperID, count: count), presence, about: about) {
            payload, place throws(Payload.Corrupted) in
            try payload.whisperIDs(place)
        } append: { value, output in
            JSONWriter.append(array: value, to: &output) { id, output in
                output.append(UInt8(ascii: "\""))
                id.forEachByte { output.append($0) }
                output.append(UInt8(ascii: "\""))
            }
        }
    }
}

extension TypedField where Value == [PrincipalID] {
    package static func principalIDs(
        _ name: String, count: ClosedRange<Int>, about: String = ""
    ) -> TypedField {
        TypedField(name, .array(of: .principalID, count: count), about: about) {
            payload, place throws(Payload.Corrupted) in
            try payload.principalIDs(place)
        } append: { value, output in
            JSONWriter.append(array: value, to: &output) { id, output in
                output.append(UInt8(ascii: "\""))
                id.forEachByte { output.append($0) }
                output.append(UInt8(ascii: "\""))
            }
        }
    }
}

extension TypedField where Value == [String] {
    package static func texts(
        _ name: String, _ characters: ClosedRange<Int>, count: ClosedRange<Int>, about: String = ""
    ) -> TypedField {
        TypedField(name, .array(of: .text(characters), count: count), about: about) {
            payload, place throws(Payload.Corrupted) in
            try payload.texts(place)
        } append: { value, output in
            JSONWriter.append(array: value, to: &output) { JSONWriter.append(string: $0, to: &$1) }
        }
    }
}

extension TypedField where Value == [Int64] {
    package static func integers(
        _ name: String, _ range: ClosedRange<Int64>, count: ClosedRange<Int>, about: String = ""
    ) -> TypedField {
        TypedField(name, .array(of: .integer(range), count: count), about: about) {
            payload, place throws(Payload.Corrupted) in
            try payload.integers(place)
        } append: { value, output in
            JSONWriter.append(array: value, to: &output) { $1.append(contentsOf: String($0).utf8) }
        }
    }
}

/// A value that is an object in frames: its schema, and both directions.
protocol ObjectValue: Sendable {
    static var schema: ObjectSchema { get }
    init(_ payload: Payload) throws(Payload.Corrupted)
    var json: [UInt8] { get }
}

extension TypedField where Value: ObjectValue {
    static func object(_ name: String, about: String = "") -> TypedField {
        .object(name, Value.schema, about: about, read: Value.init) { $0.json }
    }
}

extension TypedField {
    /// Objects, each read and written by the caller's functions. Empty if an optional one is absent.
    package static func objects<Element>(
        _ name: String, _ schema: ObjectSchema, count: ClosedRange<Int>, about: String = "",
        read: @escaping @Sendable (Payload) throws(Payload.Corrupted) -> Element,
        write: @escaping @Sendable (Element) -> [UInt8]
    ) -> TypedField where Value == [Element] {
        TypedField(name, .array(of: .object(schema), count: count), about: about) {
            payload, place throws(Payload.Corrupted) in
            var values: [Element] = []
            for object in try payload.objects(place) { values.append(try read(object)) }
            return values
        } append: { value, output in
            JSONWriter.append(array: value, to: &output) { $1 += write($0) }
        }
    }

    /// An object, read and written by the caller's functions.
    package static func object(
        _ name: String, _ schema: ObjectSchema, about: String = "",
        read: @escaping @Sendable (Payload) throws(Payload.Corrupted) -> Value,
        write: @escaping @Sendable (Value) -> [UInt8]
    ) -> TypedField {
        TypedField(name, .object(schema), about: about) { payload, place throws(Payload.Corrupted) in
            guard let object = try payload.object(place) else { return nil }
            return try read(object)
        } append: { value, output in
            output += write(value)
        }
    }

    /// Empty if an optional one is absent.
    static func objects<Element: ObjectValue>(
        _ name: String, count: ClosedRange<Int>, _ presence: Field.Presence = .required, about: String = ""
    ) -> TypedField where Value == [Element] {
        TypedField(name, .array(of: .object(Element.schema), count: count), presence, about: about) {
            payload, place throws(Payload.Corrupted) in
            var values: [Element] = []
            for object in try payload.objects(place) { values.append(try Element(object)) }
            return values
        } append: { value, output in
            JSONWriter.append(array: value, to: &output) { $1 += $0.json }
        }
    }
}
