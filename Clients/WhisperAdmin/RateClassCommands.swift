import ArgumentParser
import Contract
import Foundation
import TerminalText

struct RateClassCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rate-class", abstract: "Give an identity a class of rates, or take it away.",
        discussion: "A class lets a program send more often. The bounds that protect strangers stay.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The Whisper ID.") var id: String
    @Argument(help: "A class, as `rate-classes` lists it, or \(RateClassName.none).") var rateClass: String
    @Option(help: "Why.") var reason: String

    private struct Body: Encodable {
        /// Absent: none.
        var rateClass: String?
        var reason: String
    }

    func run() async throws {
        guard let id = WhisperID(self.id.uppercased()) else { throw ValidationError("\(self.id) is not a Whisper ID.") }
        let name = self.rateClass == RateClassName.none ? nil : self.rateClass
        let body = try await self.options.server().post(
            "admin/identities/\(id)/rate-class", Body(rateClass: name, reason: self.reason), method: "PUT")
        self.options.show(body, "\(id) has \(name.map { "the class \($0)" } ?? "no class") now.")
    }
}

struct RateClassesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rate-classes", abstract: "Classes of rates, and who has them.")

    @OptionGroup var options: AdminOptions

    private struct Answer: Decodable {
        struct Rate: Decodable {
            var name: String
            var uses, burst: Int64
        }
        struct RateClass: Decodable {
            var name: String
            var isKnown: Bool
            var rates: [Rate]
            var whisperIds: [String]
        }
        var classes: [RateClass]
    }

    func run() async throws {
        let body = try await self.options.server().get("admin/rate-classes")
        try self.options.show(body, as: Answer.self) { answer in
            listed(
                answer.classes.flatMap { entry in
                    let rates = entry.rates.map { "\($0.name)=\($0.uses)/\($0.burst)" }.joined(separator: ", ")
                    let text = entry.isKnown ? rates : "the settings do not have it: counts as none"
                    return ["\(harmlessLine(entry.name)): \(text)"] + entry.whisperIds.map { "  \($0)" }
                }, else: "There are no classes.")
        }
    }
}
