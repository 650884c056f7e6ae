import Contract
import WhisperClient

extension Verb {
    private static let prefix = TypedField.text("prefix", 1...16, about: "The beginning of a word, in either case.")
    private static let phrase = TypedField.text(
        "words", 1...1_000, about: "The words so far, in either case, with any white space between them.")

    static let wordsDraw = Verb(
        "words_draw", of: "identity",
        about:
            "Draws twelve words and makes nothing of them. A host that first has them written down makes the identity by `identity_restore`.",
        type: "wordsDrawn", [Field("words", .text(1...200), about: "Twelve words. Keep no copy.")],
        samples: (
            "{}",
            #"{"type":"wordsDrawn","words":"legal winner thank year wave sausage worth useful legal winner thank yellow"}"#
        ),
        .look { _, _, json in json.add("words", Mnemonic.random().phrase) })

    static let wordsFind = Verb(
        "words_find", of: "identity",
        about: "Completes a word of a phrase: the first \(CoreLimits.wordsFoundMax) of the list that begin so.",
        [Self.prefix.field], type: "wordsFound",
        [Field("words", .array(of: .text(1...8), count: 0...CoreLimits.wordsFoundMax))],
        samples: (#"{"prefix":"aba"}"#, #"{"type":"wordsFound","words":["abandon"]}"#),
        .look { _, parameters, json in
            let prefix = try parameters[Self.prefix].lowercased()
            let words = Wordlist.english.filter { $0.hasPrefix(prefix) }.prefix(CoreLimits.wordsFoundMax)
            json.add("words", strings: words.map(String.init))
        })

    static let wordsCheck = Verb(
        "words_check", of: "identity", about: "Says whether words are a phrase. It keeps none of them.",
        [Self.phrase.field], type: "wordsChecked",
        [
            Field("isPhrase", .bool),
            Field("count", .integer(0...500)),
            Field(
                "unknown", .array(of: .integer(1...500), count: 0...500),
                about: "Places of words that are not on the list, from 1 on."),
        ],
        samples: (
            #"{"words":"legal winer"}"#, #"{"type":"wordsChecked","isPhrase":false,"count":2,"unknown":[2]}"#
        ),
        .look { _, parameters, json in
            let phrase = try parameters[Self.phrase]
            let words = phrase.lowercased().split(whereSeparator: \.isWhitespace)
            json.add("isPhrase", (try? Mnemonic(phrase: phrase)) != nil)
            json.add("count", Int64(words.count))
            let unknown = words.indices.filter { !Wordlist.contains(words[$0]) }.map { "\($0 + 1)" }
            json.add("unknown", json: Array("[\(unknown.joined(separator: ","))]".utf8))
        })
}
