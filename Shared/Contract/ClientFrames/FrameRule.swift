/// A rule between the fields of one payload.
package enum FrameRule: Sendable {
    /// The first must not be the same Whisper ID as the second.
    case differ(String, String)
    /// Base64 in `field` stands for at most so many bytes while the field `kind` is `word`. Both are required fields.
    /// The bound is a multiple of three, so that the length of the text decides.
    case bounded(String, bytes: Int, while: String, is: String)
    /// The text is a cursor that this server gave out: for a mailbox, or for a list of groups.
    case cursor(String)
    case groupCursor(String)
    /// At most one of the two is there.
    case notBoth(String, String)
    /// Exactly one of the two is there.
    case oneOf(String, String)
    /// The number, if it is there, is one of these.
    case among(String, [Int64])
    /// The first is not there while the second, a required field, is this word.
    case absent(String, while: String, is: String)
    /// The first, an integer, is not 0 while the second is this word. Both are required fields.
    case notZero(String, while: String, is: String)

    typealias Check = @Sendable (Payload) -> PayloadViolation?

    /// The rule with its fields looked up once.
    func check(in schema: ObjectSchema) -> Check {
        func place(_ name: String) -> Int { schema.place(name) }
        switch self {
        case .differ(let first, let second):
            let (a, b) = (place(first), place(second))
            let violation = PayloadViolation(first, "must not be the same as \(second)")
            return { $0.whisperID(a) == $0.whisperID(b) ? violation : nil }
        case .bounded(let name, let bytes, let kind, let word):
            let (field, kindField) = (place(name), place(kind))
            let charactersMax = bytes / 3 * 4
            let violation = PayloadViolation(name, "must be base64 of 1 to \(bytes) bytes when \(kind) is \(word)")
            return { payload in
                guard payload.withText(field, { $0.count }) > charactersMax else { return nil }
                return payload.withText(kindField) { $0.elementsEqual(word.utf8) } ? violation : nil
            }
        case .cursor(let name):
            let field = place(name)
            let violation = PayloadViolation(name, "must be a nextCursor that this server gave out")
            return { $0.has(field) && Cursor($0.text(field)) == nil ? violation : nil }
        case .groupCursor(let name):
            let field = place(name)
            let violation = PayloadViolation(name, "must be a nextCursor that this server gave out")
            return { $0.has(field) && GroupCursor($0.text(field)) == nil ? violation : nil }
        case .notBoth(let first, let second):
            let (a, b) = (place(first), place(second))
            let violation = PayloadViolation(second, "must not be given together with \(first)")
            return { $0.has(a) && $0.has(b) ? violation : nil }
        case .oneOf(let first, let second):
            let (a, b) = (place(first), place(second))
            let violation = PayloadViolation(first, "must be given, or \(second), but not both")
            return { $0.has(a) == $0.has(b) ? violation : nil }
        case .among(let name, let numbers):
            let field = place(name)
            let violation = PayloadViolation(
                name, "must be one of \(numbers.map { "\($0)" }.joined(separator: ", "))")
            return { $0.has(field) && !numbers.contains($0.integer(field)) ? violation : nil }
        case .absent(let name, let kind, let word):
            let (field, kindField) = (place(name), place(kind))
            let violation = PayloadViolation(name, "must not be given when \(kind) is \(word)")
            return { payload in
                guard payload.has(field) else { return nil }
                return payload.withText(kindField) { $0.elementsEqual(word.utf8) } ? violation : nil
            }
        case .notZero(let name, let kind, let word):
            let (field, kindField) = (place(name), place(kind))
            let violation = PayloadViolation(name, "must not be 0 when \(kind) is \(word)")
            return { payload in
                guard payload.integer(field) == 0 else { return nil }
                return payload.withText(kindField) { $0.elementsEqual(word.utf8) } ? violation : nil
            }
        }
    }
}
