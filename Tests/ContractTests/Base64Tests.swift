import Contract
import Foundation
import Testing
import TestKit

/// Base64 by the letter of RFC 4648 §4, slowly: bits as characters.
private func referenceDecode(_ text: [UInt8]) -> [UInt8]? {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    guard text.count.isMultiple(of: 4) else { return nil }
    var symbols = text
    var padding = 0
    while padding < 2, symbols.last == UInt8(ascii: "=") {
        symbols.removeLast()
        padding += 1
    }
    var bits = ""
    for symbol in symbols {
        guard let value = alphabet.firstIndex(of: symbol) else { return nil }
        let digits = String(value, radix: 2)
        bits += String(repeating: "0", count: 6 - digits.count) + digits
    }
    let count = bits.count / 8
    guard bits.dropFirst(count * 8).allSatisfy({ $0 == "0" }) else { return nil }
    return (0..<count).map { index in UInt8(bits.dropFirst(index * 8).prefix(8), radix: 2)! }
}

private func decode(_ text: [UInt8]) -> [UInt8]? { text.withUnsafeBufferPointer { Base64.decode($0) } }
private func count(_ text: [UInt8]) -> Int? { text.withUnsafeBufferPointer { Base64.decodedCount($0) } }

@Suite struct Base64Tests {
    @Test(arguments: 0..<70)
    func encodesLikeFoundationAndReadsItBack(size: Int) {
        var random = SeededGenerator(seed: UInt64(size))
        for _ in 0..<20 {
            let bytes = random.bytes(size)
            let text = Base64.encode(bytes)
            #expect(String(decoding: text, as: UTF8.self) == Data(bytes).base64EncodedString())
            #expect(decode(text) == bytes)
            #expect(count(text) == size)
        }
    }

    /// Each of the 64 × 64 endings of one byte and 64 of two: sixteen and four spell the same bytes, one is canonical.
    @Test func strayBitsAreRefusedEverywhere() {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var accepted = 0
        for first in alphabet {
            for second in alphabet {
                for text in [[first, second, 61, 61], [65, first, second, 61]] {
                    let expected = referenceDecode(text)
                    #expect(decode(text) == expected)
                    #expect(count(text) == expected?.count)
                    if expected != nil { accepted += 1 }
                }
            }
        }
        // Every first symbol with each fourth of two bits, or each sixteenth of four.
        #expect(accepted == 64 * 4 + 64 * 16)
    }

    @Test func eachByteInEachPlaceIsJudgedLikeTheReference() {
        for byte in UInt8.min ... .max {
            for place in 0..<8 {
                var text = Array("QUJDREVG".utf8)
                text[place] = byte
                #expect(decode(text) == referenceDecode(text), "\(byte) at \(place)")
                #expect(count(text) == referenceDecode(text)?.count)
            }
        }
    }

    @Test(arguments: [
        "=", "==", "===", "====", "A", "AA", "AAA", "A===", "AA=A", "=AAA", "A=AA", "AAAA====", "AA==AAAA", "AAA=AAAA",
        "AAA\n", "AAAA\n", "AA\r\nAA", " AAA", "AA-_", "AAAA=", "AB==", "AAB=",
    ])
    func otherSpellingsAreRefused(text: String) {
        #expect(Base64.decode(text) == nil)
        #expect(count(Array(text.utf8)) == nil)
    }

    @Test(arguments: UInt64(0)..<50)
    func mutatedTextIsJudgedLikeTheReference(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            var text = Base64.encode(random.bytes(random.upTo(12)))
            for _ in 0..<random.upTo(3) where !text.isEmpty {
                text[random.upTo(text.count)] = random.one(of: Array("AQgw=/+-_9z\n".utf8))
            }
            if random.chance(4) { text.append(UInt8(ascii: "=")) }
            #expect(decode(text) == referenceDecode(text))
            #expect(count(text) == referenceDecode(text)?.count)
        }
    }

    @Test func nothingIsCanonical() {
        #expect(Base64.decode("") == [])
        #expect(count([]) == 0)
    }
}
