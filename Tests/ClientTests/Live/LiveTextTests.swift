import Contract
import TestKit
import Testing

@testable import WhisperClient

/// Live text and the plaintext of packets (contract §14.9, §19.4, §19.7).
@Suite struct LiveTextTests {
    /// Common and hard characters: emoji of several scalars, combining marks, quotes, line ends, controls.
    static let alphabet: [Unicode.Scalar] =
        Array("abc \"\\|\té😀👩👧\u{200D}\u{301}\u{FE0F}\u{1F3FD}".unicodeScalars)
        + ["\n", "\r", "\u{2028}", "\u{2029}", "\u{0}", "\u{7}", "\u{85}", "\u{7F}"]

    static func text(_ count: Int, _ random: inout SeededGenerator) -> String {
        var view = String.UnicodeScalarView()
        for _ in 0..<count { view.append(Self.alphabet.randomElement(using: &random)!) }
        return String(view)
    }

    @Test(arguments: Prove.seeds(0..<100)) func whatIsSplitIsFitForLines(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let input = Self.text(.random(in: 0...60, using: &random), &random)
        let (lines, rest) = TypedText.split(input)
        for text in lines + [rest] { #expect(LiveText(text.string) == text) }
        let ends = input.unicodeScalars.count { ["\n", "\r", "\u{2028}", "\u{2029}"].contains($0) }
        let pairs = zip(input.unicodeScalars, input.unicodeScalars.dropFirst()).count { $0 == "\r" && $1 == "\n" }
        #expect(lines.count == ends - pairs)
        let kept = input.unicodeScalars.filter { scalar in
            scalar == "\t"
                || !(scalar.properties.generalCategory == .control
                    || "\u{2028}\u{2029}".unicodeScalars.contains(scalar))
        }
        #expect((lines + [rest]).flatMap(\.scalars) == Array(kept))
    }

    @Test(arguments: UInt64(0)..<40) func longInputIsBrokenWhereItHasToBe(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let input = Self.text(9_000, &random).unicodeScalars.filter { LiveText.isAllowed($0) }
        let (lines, rest) = TypedText.split(String(String.UnicodeScalarView(input)))
        #expect((lines + [rest]).flatMap(\.scalars) == Array(input))
        for (line, next) in zip(lines, lines.dropFirst() + [rest]) {
            #expect(line.jsonBytes <= LiveLimits.textBytesMax)
            var longer = line
            let hasRoom = longer.append(next.scalars[0])
            #expect(!hasRoom, "it was broken too early")
        }
    }

    @Test(arguments: Prove.seeds(0..<200)) func anEditBringsOneTextToTheOther(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let one = TypedText.split(Self.text(20, &random)).rest
        let other = TypedText.split(Self.text(20, &random)).rest
        // Mostly a common beginning, as when somebody types.
        let next = one.prefix(.random(in: 0...20, using: &random)).applying([TextEdit(offset: 0, text: other)])!
        for (from, to) in [(one, other), (one, next), (one, one)] {
            guard let edit = to.edit(from: from) else {
                #expect(from == to)
                continue
            }
            #expect(from != to && from.applying([edit]) == to)
            // It begins where they differ.
            #expect(from.scalars.prefix(edit.offset) == to.scalars.prefix(edit.offset))
            #expect(edit.text.scalars.first != from.scalars.dropFirst(edit.offset).first || edit.text.isEmpty)
        }
    }

    /// Equal for a reader, but other scalars: offsets would not agree.
    @Test func textsThatLookTheSameDiffer() {
        let (composed, decomposed) = (LiveText("caf\u{E9}")!, LiveText("cafe\u{301}")!)
        #expect(composed.string == decomposed.string)
        #expect(composed != decomposed)
        #expect(decomposed.edit(from: composed) == TextEdit(offset: 3, text: LiveText("e\u{301}")!))
    }

    @Test func whatDoesNotFitIsRefused() {
        let text = LiveText("hello")!
        #expect(text.applying([TextEdit(offset: 6, text: LiveText())]) == nil)
        #expect(text.applying([TextEdit(offset: -1, text: LiveText())]) == nil)
        let long = LiveText(String(repeating: "x", count: LiveLimits.textBytesMax))!
        #expect(text.applying([TextEdit(offset: 0, text: long)]) == long)
        #expect(text.applying([TextEdit(offset: 1, text: long)]) == nil)
        for text in ["a\nb", "\u{85}", "\u{2028}", "\u{1B}[2J", String(repeating: "\"", count: 4_001)] {
            #expect(LiveText(text) == nil)
        }
    }

    @Test(arguments: Prove.seeds(0..<100)) func aPacketIsReadAsItWasWritten(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func text() -> LiveText { TypedText.split(Self.text(.random(in: 0...40, using: &random), &random)).rest }
        let edits = (0..<Int.random(in: 1...5, using: &random)).map { TextEdit(offset: $0, text: text()) }
        let share = SharedTranscript(share: UUIDText(high: 1, low: 2), secret: [UInt8](0..<16))
        let contents: [LiveContent] = [
            .snapshot(text(), count: 7), .diff(edits, count: 3), .line(text()), .cue(.say(text())),
            .cue(.sound(.bikeBell)), .cue(.transcript(share)),
        ]
        for content in contents {
            let plaintext = PacketPlaintext(content, signature: content.kind == .line ? [UInt8](0..<64) : nil)
            #expect(plaintext.bytes.count.isMultiple(of: LiveLimits.paddingBytes))
            #expect(PacketPlaintext(plaintext.bytes, kind: content.kind) == plaintext)
            for kind in LivePacketKind.allCases where kind != content.kind {
                #expect(PacketPlaintext(plaintext.bytes, kind: kind) == nil, "\(content) is no \(kind)")
            }
        }
    }

    @Test func theLongestTextFitsIntoAPacket() {
        for character in ["x", "\"", "\t", "é", "😀"] {
            let line = TypedText.split(String(repeating: character, count: 9_000)).lines[0]
            let plaintext = PacketPlaintext(.line(line), signature: [UInt8](repeating: 0, count: 64))
            #expect(LiveLimits.packetCiphertext.contains(plaintext.bytes.count + LiveLimits.tagBytes))
            #expect(line.jsonBytes > LiveLimits.textBytesMax - 4)
        }
    }

    @Test(arguments: [
        (#"{"p":["0|a"]}"#, LivePacketKind.diff), (#"{"p":[],"n":0}"#, .diff), (#"{"p":["-1|a"],"n":1}"#, .diff),
        (#"{"p":["+1|a"],"n":1}"#, .diff), (#"{"p":["01|a"],"n":1}"#, .diff), (#"{"p":["a"],"n":1}"#, .diff),
        (#"{"p":["0|a\nb"],"n":3}"#, .diff), (#"{"p":["0|\u001b[2J"],"n":4}"#, .diff), (#"{"p":"0|a","n":1}"#, .diff),
        (#"{"p":["-3|a"]}"#, .snapshot), (#"{"p":["-3|a","-3|b"],"n":1}"#, .snapshot),
        (#"{"p":["-2|a"],"n":1}"#, .snapshot),
        (#"{"p":["-2|a"],"sig":"AAAA"}"#, .line), (#"{"p":["-2|a"],"sig":7}"#, .line), (#"{"p":["-9|a"]}"#, .cue),
        (#"{"p":["-50|3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61"]}"#, .cue),
        (#"{"p":["-50|3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61#AAAA"]}"#, .cue), ("[]", .cue), ("", .cue), ("{", .line),
    ])
    func otherPlaintextsAreRefused(json: String, kind: LivePacketKind) {
        #expect(PacketPlaintext(Array(json.utf8), kind: kind) == nil)
    }

    @Test func aDiffHasAtMost64Edits() {
        func json(_ count: Int) -> [UInt8] {
            Array(#"{"p":[\#(Array(repeating: #""0|""#, count: count).joined(separator: ","))],"n":0}"#.utf8)
        }
        #expect(PacketPlaintext(json(64), kind: .diff) != nil)
        #expect(PacketPlaintext(json(65), kind: .diff) == nil)
    }

    @Test func anUnknownSoundIsABikesHorn() {
        let plaintext = PacketPlaintext(Array(#"{"p":["-7|trumpet"]}"#.utf8), kind: .cue)
        #expect(plaintext?.content == .cue(.sound(.bikeHorn)))
    }

    @Test func aTranscriptsSecretIsNotDescribed() {
        let share = SharedTranscript(share: UUIDText(high: 1, low: 2), secret: [0xAB, 0xCD])
        #expect(!"\(LiveContent.cue(.transcript(share)))".contains("171"))
    }
}
