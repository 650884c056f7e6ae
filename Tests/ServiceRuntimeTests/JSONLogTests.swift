import Contract
import Logging
import Synchronization
import Telemetry
import Testing

@testable import ServiceRuntime

@Suite struct JSONLogTests {
    /// Keeps what a logger writes, each line without its time.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }

        func logger(level: Logger.Level = .debug) -> Logger {
            Logger(label: "test") { _ in
                JSONLogHandler(service: "push", instance: 2, level: level) { line in
                    let text = String(decoding: line, as: UTF8.self)
                    self.lines.withLock { $0.append(String(text[text.firstIndex(of: ",")!...])) }
                }
            }
        }
    }

    private let lines = Lines()

    @Test func aLineIsConstantTextAndFacts() {
        var logger = self.lines.logger()
        logger[.node] = "n1"
        logger.notice("listening", [.port: .number(8090), .reason: "asked \"twice\""])
        #expect(
            self.lines.all == [
                #","level":"notice","service":"push","instance":2,"event":"listening","node":"n1","port":8090,"reason":"asked \"twice\""}"#
                    + "\n"
            ])
    }

    @Test func theTimeIsISO8601InMilliseconds() {
        #expect(
            JSONLogHandler.text(of: Timestamp(milliseconds: 1_769_860_805_007)) == "2026-01-31T12:00:05.007Z")
    }

    @Test(arguments: [
        ("a\"b\\c", #"a\"b\\c"#), ("a\nb\r\tc", #"a\nb\u000d\u0009c"#), ("\0\u{1B}\u{7F}", #"\u0000\u001b\u007f"#),
        ("\u{2028}", #"\u2028"#), ("grüße 😀", "grüße 😀"),
    ])
    func textIsEscaped(text: String, written: String) {
        self.lines.logger().notice("x", [.reason: .string(text)])
        #expect(self.lines.all[0].hasSuffix(#""reason":"\#(written)"}"# + "\n"))
    }

    @Test func longTextIsCut() {
        self.lines.logger().notice("x", [.reason: .string(String(repeating: "a", count: 100_000))])
        #expect(self.lines.all[0].utf8.count < RuntimeLimits.logValueBytesMax + 200)
        #expect(self.lines.all[0].hasSuffix("a…\"}\n"))
    }

    @Test func factsWithoutALogKeyAreDropped() {
        self.lines.logger().notice("x", metadata: ["sessionToken": "abc", "code": "NOT_FOUND"])
        #expect(
            self.lines.all == [
                #","level":"notice","service":"push","instance":2,"event":"x","code":"NOT_FOUND"}"# + "\n"
            ])
    }

    @Test func factsAreNotBuiltWhenTheLevelIsOff() {
        func never() -> Facts {
            Issue.record("built")
            return [:]
        }
        self.lines.logger(level: .notice).debug("x", never())
        #expect(self.lines.all.isEmpty)
    }

    @Test func listsAndObjectsAreJSON() {
        self.lines.logger().notice("x", [.reason: .array(["a", .number(1)]), .error: .dictionary(["k": "v"])])
        #expect(self.lines.all[0].hasSuffix(#""error":{"k":"v"},"reason":["a",1]}"# + "\n"))
    }

    @Test func aSecretPrintsAsStars() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        #expect("\(secret)" == "***")
        #expect(String(reflecting: [secret]) == "[***]")
        #expect(!dumped.contains("hunter2"))
    }
}
