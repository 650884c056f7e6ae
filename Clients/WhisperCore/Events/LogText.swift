import Contract
import WhisperClient

extension EventText {
    /// - Parameters:
    ///   - message: constant text.
    ///   - facts: those of `LogFact` alone.
    static func log(_ level: CoreConfiguration.LogLevel, _ message: String, _ facts: [String: String]) -> [UInt8] {
        var json = JSONWriter()
        json.add("type", "log")
        json.add("level", level.rawValue)
        json.add("message", message.prefix(utf8: CoreLimits.logTextBytesMax))
        json.add("facts", objects: facts.sorted { $0.key < $1.key }.prefix(CoreLimits.logFactsMax)) { fact, json in
            json.add("name", fact.key)
            json.add("value", fact.value.prefix(utf8: CoreLimits.logTextBytesMax))
        }
        // The account stands in the store, which may be what the line is about.
        return Self.envelope(json.finished(), number: nil, account: nil)
    }
}

extension EventDefinition {
    static let log = EventDefinition(
        "log",
        about:
            "A log line of the core for developers, if the configuration's `logLevel` asks for it. It has no key, token, address, or id or text of a message. At most \(CoreLimits.logsWaitingMax) wait for the reader; beyond it the newest are left out.",
        isKept: false,
        [
            Field("level", .choice(CoreConfiguration.LogLevel.allCases.map(\.rawValue))),
            Field(
                "message", .text(1...CoreLimits.logTextBytesMax),
                about: "In English. Later releases may word it otherwise."),
            Field(
                "facts",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("name", .text(1...64)), Field("value", .text(0...CoreLimits.logTextBytesMax)),
                        ])), count: 0...CoreLimits.logFactsMax)),
        ],
        sample:
            #"{"type":"log","level":"warning","message":"the server refused a frame","facts":[{"name":"code","value":"RATE_LIMITED"},{"name":"frame","value":"receipt"}]}"#
    )
}

extension String {
    /// As many whole characters as these bytes hold.
    fileprivate func prefix(utf8 most: Int) -> String {
        guard self.utf8.count > most else { return self }
        var text = ""
        for character in self {
            guard text.utf8.count + character.utf8.count <= most else { break }
            text.append(character)
        }
        return text
    }
}
