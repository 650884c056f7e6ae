import Contract
import Foundation
import Testing
import TestKit

/// Damaged frames: the decoder and the slow validator must agree on each, and nothing may crash.
@Suite struct FuzzTests {
    @Test(arguments: Prove.seeds(0..<100))
    func damagedBytesAreJudgedAlike(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<30 {
            var bytes = Array(random.draft().message.utf8)
            for _ in 0...random.upTo(3) { random.damage(&bytes) }
            expectAgreement(on: bytes)
        }
    }

    @Test(arguments: Prove.seeds(1_000..<1_100))
    func exchangedValuesAreJudgedAlike(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<30 {
            var draft = random.draft()
            for _ in 0...random.upTo(2) { random.exchange(&draft) }
            expectAgreement(on: Array(draft.message.utf8))
        }
    }

    @Test(arguments: UInt64(2_000)..<2_040)
    func generatedJSONIsJudgedAlike(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let field = random.one(of: random.one(of: FrameCatalogue.all).schema.fields).name
            let draft = random.draft().with(field, random.json(depth: random.upTo(18)))
            expectAgreement(on: Array(draft.message.utf8))
        }
    }

    @Test(arguments: UInt64(3_000)..<3_040)
    func theSlowParserAgreesWithFoundation(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let json = random.json(depth: 6)
            let foundation = try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
            #expect((SlowJSON.parse(json) != nil) == (foundation != nil), "\(json)")
        }
    }
}

private func expectAgreement(on bytes: [UInt8]) {
    // A message that is no UTF-8 never comes this far.
    guard let message = String(validating: bytes, as: UTF8.self) else { return }
    let field = blamed(message)
    #expect((field == nil) == SlowValidator.isValid(message), "blamed \(field ?? "nothing"): \(message.prefix(1_500))")
    guard field == nil, let frame = try? read(bytes) else { return }
    // A frame that is accepted can be passed on: as JSON, and as a frame of the same kind.
    #expect(throws: Never.self) {
        let json = try frame.payload.json()
        _ = try FrameDecoder.payload(bare: json, schema: frame.definition.schema)
        #expect(SlowJSON.parse(text(json)) != nil)
        if frame.definition.type == SendMessage.definition.type {
            #expect(SlowJSON.parse(text(try SendMessage(frame.payload).relayed())) != nil)
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func draft() -> Draft {
        // Half of them messages: they have the most to get wrong.
        let definition = self.chance(2) ? SendMessage.definition : self.one(of: FrameCatalogue.all)
        return Draft(definition, sample: self.upTo(definition.samples.count))
    }

    fileprivate mutating func damage(_ bytes: inout [UInt8]) {
        let place = self.upTo(bytes.count)
        switch self.upTo(6) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(self.one(of: Array(#"{}[]":,\ 01e.-ntf"#.utf8)), at: place)
        case 2: bytes[place] = UInt8.random(in: .min ... .max, using: &self)
        case 3:
            let end = min(bytes.count, place + self.upTo(40))
            bytes.insert(contentsOf: bytes[place..<end], at: self.upTo(bytes.count))
        case 4: bytes[place] = self.one(of: Array(#"{}[]":,\0=AZ/"#.utf8))
        default:
            // The same character, escaped: valid inside strings, not elsewhere.
            let escaped = String(bytes[place], radix: 16)
            bytes.replaceSubrange(
                place...place, with: Array((#"\u00"# + (escaped.count == 1 ? "0" : "") + escaped).utf8))
        }
        if bytes.isEmpty { bytes = [UInt8(ascii: "{")] }
    }

    fileprivate mutating func exchange(_ draft: inout Draft) {
        let place = self.upTo(max(1, draft.members.count))
        switch self.upTo(7) {
        case 0 where !draft.members.isEmpty: draft.members.remove(at: place)
        case 1 where !draft.members.isEmpty: draft.members.append(draft.members[place])
        case 2 where !draft.members.isEmpty: draft.members[place].value = self.json(depth: 3)
        case 3 where !draft.members.isEmpty:
            // Another field's value, perhaps another frame's.
            let other = self.draft()
            if !other.members.isEmpty { draft.members[place].value = self.one(of: other.members).value }
        case 4:
            draft.members.insert(
                ("\"\(self.one(of: ["x", "from", "objectKey", "", "type"]))\"", self.json(depth: 3)), at: 0)
        case 5: draft.requestID = self.chance(3) ? nil : self.json(depth: 1)
        default: draft.members.shuffle(using: &self)
        }
    }

    /// JSON text, mostly valid.
    fileprivate mutating func json(depth: Int) -> String {
        switch self.upTo(depth > 0 ? 9 : 7) {
        case 0: return self.one(of: ["null", "true", "false"])
        case 1:
            return self.one(of: [
                "0", "-0", "1", "-1", "1.0", "1e0", "2", "100", "101", "50000001", "9223372036854775807",
                "9223372036854775808", "01",
                "1E+2", "-", "1.", "12345678901234567890123",
            ])
        case 2:
            return self.one(of: [#""""#, #""p1-2a""#, #""text""#, #""read""#, #""android""#, #""WSP-AAAA-AAAA-AAAA""#])
        case 3: return "\"" + text(Base64.encode(self.bytes(self.one(of: [1, 23, 24, 25, 32, 64, 65])))) + "\""
        case 4: return "\"\(self.uuid())\""
        case 5: return "\"\(UUIDText.random())\""
        case 6:
            var output: [UInt8] = []
            JSONWriter.append(string: self.anyText(0...6), to: &output)
            return text(output)
        case 7:
            // Deep ones stay narrow.
            let elements = (0..<(depth > 4 ? 1 : self.upTo(4))).map { _ in self.json(depth: depth - 1) }
            return "[" + elements.joined(separator: self.chance(8) ? " , " : ",") + "]"
        default:
            let names = ["nonce", "ciphertext", "objectKey", "👍", "x", "contentType", #"\u0078"#]
            let members = (0..<(depth > 4 ? 1 : self.upTo(4))).map { _ in
                "\"\(self.one(of: names))\":" + self.json(depth: depth - 1)
            }
            return "{" + members.joined(separator: ",") + "}"
        }
    }
}
