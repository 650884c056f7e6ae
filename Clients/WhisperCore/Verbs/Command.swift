import Contract

/// A command as it was read: `verb`, or `verb {…}`.
struct Command: Sendable {
    var verb: Verb
    var parameters: Payload
    var corrID: String?

    /// - Throws: why it is none, with what could be read of its `corrId`.
    static func read(_ text: [UInt8]) throws(Refused) -> Command {
        guard text.count <= CoreLimits.commandBytesMax else { throw Refused(CoreError(.tooLong)) }
        guard String(validating: text, as: UTF8.self) != nil else { throw Refused(CoreError(.invalidCommand)) }
        let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        let trimmed = text.drop(while: isSpace)
        let name = String(decoding: trimmed.prefix { !isSpace($0) && $0 != UInt8(ascii: "{") }, as: UTF8.self)
        let rest = Array(trimmed.dropFirst(name.utf8.count).drop(while: isSpace))
        return try Self.read(verb: name, rest.isEmpty ? Array("{}".utf8) : rest)
    }

    /// - Parameter object: one JSON object.
    static func read(verb name: String, _ object: [UInt8]) throws(Refused) -> Command {
        guard let verb = VerbCatalogue.byName[name] else {
            guard !name.isEmpty, name.utf8.count <= 64 else { throw Refused(CoreError(.invalidCommand)) }
            var error = CoreError(.unknownVerb)
            error.similar = VerbCatalogue.similar(to: name)
            throw Refused(error)
        }
        do throws(CoreError) {
            let payload = try StrictObject.read(object, verb.parameters)
            return Command(verb: verb, parameters: payload, corrID: (try? payload[Verb.corrID]) ?? nil)
        } catch {
            throw Refused(error, corrID: Self.corrID(of: object))
        }
    }

    struct Refused: Error {
        var error: CoreError
        var corrID: String?

        init(_ error: CoreError, corrID: String? = nil) {
            self.error = error
            self.corrID = corrID
        }
    }

    private static let corrIDAlone = ObjectSchema([Verb.corrID.field])

    private static func corrID(of object: [UInt8]) -> String? {
        guard let payload = try? FrameDecoder.payload(bare: object, schema: Self.corrIDAlone) else { return nil }
        return (try? payload[Verb.corrID]) ?? nil
    }
}
