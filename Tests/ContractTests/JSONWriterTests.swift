import Contract
import Foundation
import Testing
import TestKit

@Suite struct JSONWriterTests {
    @Test(arguments: UInt64(0)..<50)
    func anyTextIsWrittenAsJSON(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let value = random.anyText(0...40)
            var writer = JSONWriter()
            writer.add("text", value)
            writer.add("absent", String?.none)
            writer.add("number", Int64.min)
            writer.add("time", Timestamp(milliseconds: .max))
            writer.add("flag", true)
            let json = text(writer.finished())
            guard case .object(let members)? = SlowJSON.parse(json) else { return #expect(Bool(false), "\(json)") }
            #expect(members.map(\.name) == ["text", "number", "time", "flag"])
            guard case .string(let read) = members[0].value else { return #expect(Bool(false)) }
            #expect(Array(read.utf8) == Array(value.utf8))
            #expect(json.hasSuffix(#""number":-9223372036854775808,"time":9223372036854775807,"flag":true}"#))
        }
    }

    @Test func everyControlCharacterIsEscaped() throws {
        let value = String(String.UnicodeScalarView((0..<0x80).map { Unicode.Scalar(UInt8($0)) }))
        var output: [UInt8] = []
        JSONWriter.append(string: value, to: &output)
        #expect(output.allSatisfy { $0 >= 0x20 })
        let read = try JSONSerialization.jsonObject(with: Data(output), options: .fragmentsAllowed)
        #expect(read as? String == value)
    }

    @Test func namesAndTextOfALogAreEscapedAndCut() throws {
        var writer = JSONWriter()
        writer.add("a\"b") { JSONWriter.append(lineText: "x\u{7F}\u{2029}\u{1}", bytesMax: 64, to: &$0) }
        writer.add("c") { JSONWriter.append(lineText: "grün", bytesMax: 3, to: &$0) }
        #expect(text(writer.finished()) == #"{"a\"b":"x\u007f\u2029\u0001","c":"grü…"}"#)
    }

    @Test func anEmptyObjectIsAnObject() {
        #expect(text(JSONWriter().finished()) == "{}")
    }

    @Test func valuesAreWrittenByTheirType() throws {
        var writer = JSONWriter()
        writer.add("id", try #require(WhisperID("WSP-JBPU-D452-TLT4")))
        writer.add("uuid", try #require(UUIDText("9B2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10")))
        writer.add("bytes", base64: [0xFF, 0xEF])
        writer.add("json", json: "[1]".utf8)
        #expect(
            text(writer.finished())
                == #"{"id":"WSP-JBPU-D452-TLT4","uuid":"9B2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","bytes":"/+8=","json":[1]}"#
        )
    }
}
