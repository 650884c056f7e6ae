import Foundation
import TerminalText
import TestKit
import Testing

@testable import WhisperAdmin

@Suite struct HarmlessTests {
    @Test func nothingATerminalObeysIsLeft() {
        #expect(harmless("a\u{1B}[2J\u{07}\u{202E}b\u{9B}c\td\n") == "a\u{FFFD}[2J\u{FFFD}\u{FFFD}b\u{FFFD}c d\n")
    }

    /// JSON keeps its values, and nothing of it is raw that a terminal would obey.
    @Test func jsonForATerminalIsEscaped() throws {
        let values = "\u{9B}2J\u{202E}\u{200F}\u{061C}\u{2066}\u{2028}\u{7F}é👍"
        let json = #"{"a":"\#(values)"}"#
        let shown = harmlessJSON(json)
        #expect(shown == #"{"a":"\u009b2J\u202e\u200f\u061c\u2066\u2028\u007fé👍"}"#)
        #expect(try JSON(parsing: Array(shown.utf8)) == JSON(parsing: Array(json.utf8)))
        #expect(harmlessLine("a\u{200F}b\u{61C}c") == "abc")
    }

    /// The note of a report is text of whoever reports.
    @Test(arguments: ["\u{202E}", "\u{202A}", "\u{2066}", "\u{2069}", "\u{2028}", "\n", "\r", "\u{1B}"])
    func aNoteDoesNotFakeAnotherLine(mark: String) {
        let report = ReportLine(
            id: "1", targetId: "t", reason: "spam", status: "open", reporterId: "r", note: "a\(mark)b",
            evidenceVerified: false, createdAt: 0)
        #expect(report.text.hasSuffix("spam, without evidence “a\u{FFFD}b”"))
        #expect(!report.text.contains(mark))
    }

    /// One erased person among the reporters took the whole list of reports away.
    @Test func aReportOfAnErasedPersonIsShown() throws {
        let body = """
            {"id":"1","targetId":"t","reason":"spam","evidenceVerified":false,"status":"open","createdAt":0}
            """
        let report = try JSONDecoder().decode(ReportLine.self, from: Data(body.utf8))
        #expect(report.text.contains("t by somebody who has left: spam"))
    }
}
