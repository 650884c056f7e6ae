import Contract
import Foundation
import LocalStack
import TestKit
import Testing
import WhisperClient

/// The pages of links that Whisper opens (contract §20.6, §20.8), in a real browser.
extension PageCluster {
    private static let token = "AAECAwQFBgcICQoLDA0ODw"

    /// - Parameter name: as its writer has put it in.
    private static func link(name: String? = nil) throws -> String {
        let server = try #require(ServerAddress(Cluster.stack.publicURL))
        let keys = IdentityKeys(Mnemonic.random()).publicKeys
        let link = ContactLink(id: keys.id(counter: 0), keys: keys, server: server).text(.web)
        return link + (name.map { "&n=" + PercentCoding.encode($0) } ?? "")
    }

    @Test func pagesOfLinksAreServedAsTheOthersAre() async throws {
        for path in ["/add", "/invite"] {
            let page = try await Self.ask(path)
            let other = try await Self.ask("/join")
            #expect(page.status == 200)
            for name in [
                "content-type", "content-security-policy", "referrer-policy", "x-content-type-options", "cache-control",
                "cross-origin-opener-policy", "cross-origin-resource-policy", "etag",
            ] {
                #expect(page.headers[name] != nil && page.headers[name] == other.headers[name], "\(name)")
            }
            #expect(page.headers["permissions-policy"] == "camera=(), microphone=(), geolocation=()")
            #expect(try await Self.ask(path, method: "POST").status == 405)
            #expect(try await Self.ask(path + "/x").status == 404)
        }
    }

    /// The page shows the link itself, for a command and for a camera, and asks the server for files alone.
    @Test func aLinkIsShownAndGoesNowhere() async throws {
        let contact = try Self.link(name: "Zoë “the\u{202E} ferry”")
        let invitation = Cluster.stack.publicURL + "/invite#" + Self.token
        for (link, command) in [(contact, "whisper add"), (invitation, "whisper init --invitation")] {
            try await Browser.open { browser in
                try await browser.resize(width: 320, height: 568)
                try await browser.go(to: "about:blank")
                try await browser.go(to: link)
                try await waitUntil("the link is shown", within: .seconds(20)) {
                    try await !browser.isHidden("#door")
                }
                #expect(try await browser.value(of: "return document.querySelector('#link').value").string == link)
                #expect(try await browser.text(of: "#command") == "\(command) '\(link)'")
                #expect(Cluster.stack.publicURL.hasSuffix(try await browser.text(of: "#server")))
                if link == contact { #expect(try await browser.text(of: "#name") == "Zoë “the ferry”") }
                #expect(try await Self.code(in: browser) == link)
                let asked = try await browser.traffic().filter { $0.method == "Network.requestWillBeSent" }
                #expect(asked.count >= 4)
                for request in asked.compactMap({ $0.parameters["request"] }) {
                    let path = request["url"]?.string?.dropFirst(Cluster.stack.publicURL.count) ?? "none"
                    #expect(path.hasPrefix("/web/") || path == "/add" || path == "/invite", "\(path)")
                    #expect(request["method"]?.string == "GET" && request["postData"] == nil)
                    #expect(request["headers"]?.text.contains(link.split(separator: "#")[1]) == false)
                }
                #expect(try await Self.overhang(browser) == 0)
                try await Self.picture(link == contact ? "add-320" : "invite-320", browser)
                #expect(try await browser.complaints() == [])
            }
        }
    }

    /// A link that is not whole, or would mean something to a shell, is not shown.
    @Test func aLinkThatIsNotWholeIsNotShown() async throws {
        let contact = try Self.link()
        try await Browser.open { browser in
            for link in [
                Cluster.stack.publicURL + "/add", String(contact.dropLast(30)), contact + "&x=';reboot;'",
                Cluster.stack.publicURL + "/invite#" + Self.token.dropLast(),
                Cluster.stack.publicURL + "/invite#" + Self.token + "$(reboot)",
            ] {
                try await browser.go(to: "about:blank")
                try await browser.go(to: link)
                try await waitUntil("it is refused", within: .seconds(20)) {
                    try await browser.value(of: "return document.querySelector('main').dataset.state").string
                        == "refused"
                }
                #expect(try await browser.isHidden("#door"), "\(link)")
                #expect(try await browser.text(of: "#status").contains("incomplete"))
            }
            // A link that is put into the same window is shown.
            try await browser.go(to: Cluster.stack.publicURL + "/invite#" + Self.token)
            try await waitUntil("it is shown", within: .seconds(20)) { try await !browser.isHidden("#door") }
        }
    }

    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func nothingSeriousKeepsPeopleFromLinks() async throws {
        let axe = try Axe.source()
        let links = [try Self.link(name: "Zoë"), Cluster.stack.publicURL + "/invite#" + Self.token]
        try await Browser.open { browser in
            for isDark in [false, true] {
                try await browser.prefer(dark: isDark)
                for (name, link) in zip(["add", "invite"], links) {
                    try await browser.go(to: "about:blank")
                    try await browser.go(to: link)
                    try await waitUntil("the link is shown", within: .seconds(20)) {
                        try await !browser.isHidden("#door")
                    }
                    try await Self.examine(browser, axe, "\(name) \(isDark)")
                    try await Self.picture("\(name)-\(isDark ? "dark" : "light")", browser)
                }
            }
        }
    }

    /// Reads the picture as a phone would.
    private static func code(in browser: Browser) async throws -> String {
        let size = try #require(
            try await browser.value(of: "return document.querySelector('#code svg').viewBox.baseVal.width").integer)
        let path = try #require(
            try await browser.value(of: "return document.querySelectorAll('#code path')[1].getAttribute('d')").string)
        let side = Int(size)
        var dark = [Bool](repeating: false, count: side * side)
        for match in path.matches(of: /M(\d+) (\d+)h1v1h-1z/) { dark[Int(match.2)! * side + Int(match.1)!] = true }
        let dots = 4
        let rows = (0..<side).flatMap { y in
            let row = (0..<side).flatMap { x in Array(repeating: dark[y * side + x] ? "0" : "1", count: dots) }
            return Array(repeating: row.joined(separator: " "), count: dots)
        }
        let folder = try TemporaryFolder(named: "code")
        defer { folder.remove() }
        let file = folder.path + "/code.pgm"
        try "P2\n\(side * dots) \(side * dots)\n1\n\(rows.joined(separator: "\n"))\n"
            .write(toFile: file, atomically: true, encoding: .ascii)
        let read = try await Command("/usr/bin/zbarimg", ["--quiet", "--raw", file]).output(name: "zbarimg")
        // It may say more on its other stream.
        return read.split(whereSeparator: \.isNewline).map(String.init).first { $0.hasPrefix("http") } ?? read
    }
}
