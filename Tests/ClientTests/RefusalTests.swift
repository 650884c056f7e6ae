import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// A refusal names the parameter that is wrong, and the true reason.
@Suite(.timeLimit(.minutes(20))) struct RefusalTests {
    /// They would end the core that the others are asked of, or wait for somebody.
    private static let others: Set<String> = ["identity_create", "identity_restore", "connect", "disconnect", "logout"]

    /// Verbs that ask the server, and look at their parameters before.
    private static let asking: Set<String> = [
        "contact_add", "live_look", "live_listen", "live_update", "group_create",
    ]

    /// Codes that say something of what was given, and of nothing else.
    private static let ofParameters: Set<String> = [
        "invalidField", "tooLong", "unknownContact", "bannedContact", "blockedContact", "toSelf", "conflict", "notText",
        "unknownConsumer", "nameTaken", "words", "file", "tooLarge",
    ]

    /// Short texts that many a field does not take.
    private static let texts = [
        "", " ", "\u{1}", "a\u{7}b", "a\nb", "\u{85}", "\u{2028}", "a\u{202E}b", "\u{0}", "é", "🙂",
    ]

    /// Values that stand for a sample's own.
    private static func values(of field: Field, sample: JSON?) -> [JSON] {
        switch field.type {
        case .integer(let range):
            [.integer(range.lowerBound), .integer(range.lowerBound - 1)]
                + (range.upperBound < .max ? [.integer(range.upperBound), .integer(range.upperBound + 1)] : [])
        case .bool, .object, .array, .reactions: [.integer(1), .string("x")]
        default: Self.texts.map { .string($0) } + [.integer(1)]
        }
    }

    @Test func everyVerbNamesWhatIsWrong() async throws {
        let hosts = try CoreHosts()
        let ann = try await hosts.offline("ann")
        for verb in VerbCatalogue.all where !Self.others.contains(verb.name) {
            let sample = try JSON(parsing: Array(verb.samples.parameters.utf8)).members
            for field in verb.parameters.fields {
                for value in Self.values(of: field, sample: sample[field.name]) {
                    let parameters = JSON.object(sample.merging([field.name: value]) { $1 }).text
                    let command = "\(verb.name) \(parameters)"
                    var answer = try JSON(parsing: Array(await ann.core.perform(command).utf8))
                    if let request = answer["result"]?["request"], Self.asking.contains(verb.name) {
                        answer = try await ann.next("answer") { $0["request"] == request }
                    }
                    guard let error = answer["error"], let code = error["code"]?.string else { continue }
                    let name = error["field"]?.string
                    #expect(code != "tooLong", "\(command): \(error.text)")
                    if let name {
                        #expect(verb.parameters.fields.contains { $0.name == name }, "\(command): \(error.text)")
                    } else {
                        #expect(!Self.ofParameters.contains(code), "\(command): \(error.text)")
                    }
                }
            }
        }
        await ann.core.close()
    }

    @Test func aLineThatIsSaidIsNotTooLongForItsCharacters() async throws {
        let hosts = try CoreHosts()
        let ann = try await hosts.offline("ann")
        func cue(_ text: String) -> String {
            #"live_cue {"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","say":"\#(text)"}"#
        }
        #expect(try await ann.refusal(cue(#"a\u0007b"#)) == "invalidField say")
        #expect(try await ann.refusal(cue(#"a\nb"#)) == "invalidField say")
        #expect(try await ann.refusal(cue(String(repeating: "é", count: 4_001))) == "tooLong say")
        #expect(try await ann.refusal(cue("hello")) == "notFound conversationId")
        await ann.core.close()
    }
}
