import LocalStack
import TestKit

/// The page of a shared transcript in one window of a browser, as its hooks for tests show it.
struct TranscriptPage {
    let browser: Browser

    static func open(_ link: String, in browser: Browser) async throws -> TranscriptPage {
        try await browser.go(to: link)
        return TranscriptPage(browser: browser)
    }

    /// A line as it stands on the page.
    struct Line: Hashable {
        var number: Int
        var text: String
        var isVerified = true
        /// The remark before the line that lines are missing there.
        var gap: String?
    }

    var state: String {
        get async throws {
            try await self.browser.value(of: "return document.querySelector('main').dataset.state").string ?? ""
        }
    }

    var status: String {
        get async throws {
            try await self.browser.value(of: "return document.querySelector('#status').textContent").string ?? ""
        }
    }

    var lines: [Line] {
        get async throws {
            try await self.browser.value(
                of: """
                    return [...document.querySelector("#lines").children].map((line) =>
                        [Number(line.dataset.line), line.textContent, line.dataset.verified === "true", line.dataset.missing ?? null]);
                    """
            ).elements.map { fields in
                Line(
                    number: Int(fields[0]?.integer ?? 0), text: fields[1]?.string ?? "",
                    isVerified: fields[2] == .bool(true), gap: fields[3]?.string)
            }
        }
    }

    func reaches(_ state: String) async throws {
        try await self.shows("state \(state)") { try await self.state == state }
    }

    func says(_ words: String) async throws {
        try await self.shows("words \(words)") { try await self.status.contains(words) }
    }

    func shows(_ lines: [Line]) async throws {
        try await self.shows("\(lines.count) lines") { try await self.lines == lines }
    }

    /// - Parameter timeout: the page looks every 10 s for lines that are new.
    private func shows(
        _ what: String, within timeout: Duration = .seconds(60),
        _ condition: nonisolated(nonsending) () async throws -> Bool
    ) async throws {
        do {
            try await waitUntil(what, within: timeout, every: .milliseconds(50)) { (try? await condition()) == true }
        } catch {
            throw NotShown(
                what: what, state: try await self.state, status: try await self.status, lines: try await self.lines)
        }
    }

    struct NotShown: Error {
        var what, state, status: String
        var lines: [Line]
    }
}
