import Foundation
import LocalStack
import TestKit

/// The listener's page in one window of a browser, as its hooks for tests show it.
struct ListenerPage {
    let browser: Browser

    static func open(_ link: String, in browser: Browser) async throws -> ListenerPage {
        let page = ListenerPage(browser: browser)
        try await browser.go(to: link)
        return page
    }

    /// As a person does it: names himself, and joins. In a browser where somebody has listened before, it is the same person.
    func join(as name: String = "Zoë 🦉", passcode: String? = nil) async throws {
        try await self.reaches("consent")
        if try await self.browser.isHidden("#returning") {
            try await self.browser.type(name, into: "#name")
        } else {
            try await self.browser.click("#continue")
        }
        if let passcode { try await self.browser.type(passcode, into: "#passcode") }
        try await self.browser.click("#join")
    }

    // MARK: What it shows

    var state: String {
        get async throws {
            try await self.browser.value(of: "return document.querySelector('main').dataset.state").string ?? ""
        }
    }

    var live: String {
        get async throws {
            try await self.browser.value(of: "return document.querySelector('#live').textContent").string ?? ""
        }
    }

    var status: String {
        get async throws {
            try await self.browser.value(of: "return document.querySelector('#status').textContent").string ?? ""
        }
    }

    /// Past text by the numbers of its lines, in the order of the page; marks of missing lines are left out.
    var lines: [String] {
        get async throws {
            try await self.browser.value(
                of:
                    "return [...document.querySelectorAll('#past > [data-line]')].map(p => p.dataset.line + ' ' + p.textContent)"
            ).elements.compactMap(\.string)
        }
    }

    func reaches(_ state: String, within timeout: Duration = .seconds(20)) async throws {
        try await self.shows("state \(state)", within: timeout) { try await self.state == state }
    }

    func shows(live text: String, within timeout: Duration = .seconds(20)) async throws {
        try await self.shows("live text \(text)", within: timeout) { try await self.live == text }
    }

    func shows(lines: [String], within timeout: Duration = .seconds(20)) async throws {
        let numbered = lines.enumerated().map { "\($0.offset + 1) \($0.element)" }
        try await self.shows("lines \(numbered)", within: timeout) { try await self.lines == numbered }
    }

    func says(_ words: String) async throws {
        try await self.shows("words \(words)") { try await self.status.contains(words) }
    }

    private func shows(
        _ what: String, within timeout: Duration = .seconds(20),
        _ condition: nonisolated(nonsending) () async throws -> Bool
    ) async throws {
        do {
            // Between two pages there is nothing to look at.
            try await waitUntil(what, within: timeout, every: .milliseconds(30)) { (try? await condition()) == true }
        } catch {
            let (state, status, live) = (try await self.state, try await self.status, try await self.live)
            throw NotShown(what: what, state: state, status: status, live: live, lines: try await self.lines)
        }
    }

    struct NotShown: Error { var what, state, status, live: String; var lines: [String] }
}
