import Foundation
import LocalStack
import TestKit

/// The page of rooms in one window of a browser, as its hooks for tests show it.
struct JoinPage {
    let browser: Browser

    /// Shows which way each connection goes: whatever the page makes is kept where a test finds it.
    static let kept = """
        window.made = [];
        window.RTCPeerConnection = class extends RTCPeerConnection {
            constructor(...values) { super(...values); window.made.push(this); }
        };
        """

    static func open(_ address: String = "/join", in browser: Browser) async throws -> JoinPage {
        let page = JoinPage(browser: browser)
        try await browser.runBeforePages(Self.kept)
        try await browser.go(to: address.hasPrefix("/") ? Cluster.stack.publicURL + address : address)
        return page
    }

    /// Several windows of several people: a guest is at one place only.
    static func windows(
        _ count: Int, at address: String = "/join", _ body: ([JoinPage]) async throws -> Void
    ) async throws {
        try await self.more(count, address, [], body)
    }

    private static func more(
        _ count: Int, _ address: String, _ pages: [JoinPage], _ body: ([JoinPage]) async throws -> Void
    ) async throws {
        guard pages.count < count else { return try await body(pages) }
        try await Browser.open { browser in
            let page = try await JoinPage.open(address, in: browser)
            try await page.reaches("entry")
            try await self.more(count, address, pages + [page], body)
        }
    }

    // MARK: What a person does

    /// - Returns: code and link of a new room.
    func create(for people: Int = 2) async throws -> (code: String, link: String) {
        try await self.browser.type("\(people)", into: "#seats")
        try await self.browser.click("#create")
        try await self.reaches("waiting")
        return (try await self.content(of: "#shown-code"), try await self.content(of: "#link"))
    }

    static func roomID(in link: String) -> String? { URL(string: link)?.lastPathComponent }

    func join(code: String, pin: String? = nil) async throws {
        try await self.browser.type(code, into: "#code")
        if let pin { try await self.browser.type(pin, into: "#pin") }
        try await self.browser.click("#join")
    }

    func follow(_ link: String) async throws {
        try await self.browser.go(to: "about:blank")
        try await self.browser.go(to: link)
        try await self.reaches("entry")
        try await self.browser.click("#join")
    }

    /// By the form: a line about what was said may come above the button, and the driver clicks where that was.
    func say(_ text: String) async throws {
        try await self.browser.type(text, into: "#message")
        try await self.browser.value(of: "document.querySelector('#say').requestSubmit()")
    }

    // MARK: What it shows

    var state: String {
        get async throws {
            try await self.browser.value(of: "return document.querySelector('main').dataset.state").string ?? ""
        }
    }

    var status: String { get async throws { try await self.content(of: "#status") } }

    /// By whom, as the page names them, and what.
    var messages: [String] {
        get async throws {
            try await self.browser.value(
                of:
                    "return [...document.querySelectorAll('#messages > p')].map((p) => [...p.querySelectorAll('strong, bdi')].filter((part) => !part.parentElement.matches('strong')).map((part) => part.textContent).join(': '))"
            ).elements.compactMap(\.string)
        }
    }

    /// The people who have each of our own messages.
    var deliveries: [String] {
        get async throws {
            try await self.browser.value(
                of: "return [...document.querySelectorAll('#messages small')].map((line) => line.textContent)"
            ).elements.compactMap(\.string)
        }
    }

    func shows(deliveries: [String], within timeout: Duration = .seconds(20)) async throws {
        try await self.shows("deliveries \(deliveries)", within: timeout) { try await self.deliveries == deliveries }
    }

    /// Safety numbers by seat.
    var numbers: [String: String] {
        get async throws {
            let rows = try await self.browser.value(
                of:
                    "return [...document.querySelectorAll('#safety [data-seat]')].map((row) => [row.dataset.seat, row.querySelector('code').textContent])"
            ).elements.map { $0.elements.compactMap(\.string) }
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        }
    }

    func content(of selector: String) async throws -> String {
        try await self.browser.value(of: "return document.querySelector('\(selector)').textContent").string ?? ""
    }

    /// Whether the video of a seat is there, and moves.
    func sees(_ seat: Int) async throws {
        try await self.shows("video of seat \(seat)", within: .seconds(40)) {
            try await self.browser.value(
                of:
                    "const video = document.querySelector('#videos [data-seat=\"\(seat)\"]'); return video?.videoWidth > 0 && video.currentTime > 0"
            ) == .bool(true)
        }
    }

    /// A page tries to connect for 15 s, then for 30 s, then for 60 s.
    static let threeAttempts = Duration.seconds(105)

    func reaches(_ state: String, within timeout: Duration = Self.threeAttempts) async throws {
        try await self.shows("state \(state)", within: timeout) { try await self.state == state }
    }

    func says(_ words: String, within timeout: Duration = .seconds(20)) async throws {
        try await self.shows("words \(words)", within: timeout) { try await self.status.contains(words) }
    }

    func shows(messages: [String]) async throws {
        try await self.shows("messages \(messages)") { try await self.messages == messages }
    }

    /// With so many others a channel is open.
    func isConnected(with others: Int) async throws {
        try await self.shows("connected with \(others)", within: Self.threeAttempts) {
            try await self.browser.count("#people [data-state=connected]") == others
        }
    }

    func shows(
        _ what: String, within timeout: Duration = .seconds(20),
        _ condition: nonisolated(nonsending) () async throws -> Bool
    ) async throws {
        do {
            // Between two pages there is nothing to look at.
            try await waitUntil(what, within: timeout, every: .milliseconds(50)) { (try? await condition()) == true }
        } catch {
            throw NotShown(
                what: what, state: try await self.state, text: try await self.browser.text(),
                connections: try await self.connections)
        }
    }

    struct NotShown: Error {
        var what, state, text: String
        var connections: [String]
    }

    /// The states of each peer connection that the page has made.
    private var connections: [String] {
        get async throws {
            try await self.browser.value(
                of: """
                    return (window.made ?? []).map((made) => [made.signalingState, made.iceGatheringState,
                        made.iceConnectionState, made.connectionState].join(" "))
                    """
            ).elements.compactMap(\.string)
        }
    }
}
