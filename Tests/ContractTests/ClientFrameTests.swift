import Contract
import Testing

/// Frames of clients, read and written by the one type that each of them has.
@Suite struct ClientFrameTests {
    /// Clients write these, also where a sample leaves them to their defaults.
    private static let withDefaults: Set = ["participantsMax", "codeDigits", "codeTtlSeconds", "sentMail"]

    private static let types = FrameCatalogue.all.map(\.type)

    private func kind(_ type: String) throws -> any ClientFrame.Type {
        try #require(FrameCatalogue.frames.first { $0.type == type })
    }

    /// A frame that is read is written again: reader, writer and schema agree.
    @Test(arguments: Self.types)
    func samplesComeBackWhole(type: String) throws {
        let kind = try self.kind(type)
        for sample in kind.definition.samples {
            let token = Self.token(in: sample)
            let payload = try FrameDecoder.payload(bare: Array(sample.utf8), schema: kind.definition.schema)
            let message = try kind.init(payload).text(requestID: "7", token: token)
            let frame = try read(message)
            #expect(frame.definition === kind.definition && frame.requestID == "7")
            let written = try Self.members(text(frame.payload.json()))
            // An attachment of null is none, and neither is an empty list of removals.
            let expected = try Self.members(
                sample.replacing(#","attachment":null}"#, with: "}").replacing(#","removeMembers":[]"#, with: ""))
            #expect(written.filter { expected[$0.key] != nil || !Self.withDefaults.contains($0.key) } == expected)
            // It is written as it was.
            #expect(try kind.init(frame.payload).text(requestID: "7", token: token) == message)
        }
    }

    /// The token goes where the frame has a field for it, and nowhere else.
    @Test(arguments: Self.types)
    func aFrameCarriesOnlyTheTokenThatItHasAFieldFor(type: String) throws {
        let kind = try self.kind(type)
        let sample = kind.definition.samples[0]
        let frame = try kind.init(FrameDecoder.payload(bare: Array(sample.utf8), schema: kind.definition.schema))
        for (token, field) in [(ClientToken.session("t"), "sessionToken"), (.guest("t"), "guestToken")] {
            let members = try Self.members(text(try read(frame.text(requestID: nil, token: token)).payload.json()))
            let mayHaveIt = kind.definition.schema.fields.contains { $0.name == field }
            #expect(members.keys.filter { ["sessionToken", "guestToken"].contains($0) } == (mayHaveIt ? [field] : []))
        }
    }

    private static func token(in sample: String) -> ClientToken? {
        guard let members = try? self.members(sample) else { return nil }
        func text(_ name: String) -> String? { members[name].map { String($0.dropFirst().dropLast()) } }
        return text("guestToken").map { .guest($0) } ?? text("sessionToken").map { .session($0) }
    }

    private static func members(_ json: String) throws -> [String: String] {
        guard case .object(let members)? = SlowJSON.parse(json) else { throw PayloadViolation("", "is no object") }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.name, sorted($0.value)) })
    }
}
