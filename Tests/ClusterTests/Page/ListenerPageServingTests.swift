import Foundation
import LocalStack
import TestKit
import Testing

/// How pages and their files are served (contract §16.1), and what the page keeps to itself.
extension PageCluster {
    private static let conversation = "3f0c2b1a-9d8e-4c7b-a605-f4e3d2c1b0a9"

    @Test func pagesAreTheSameForEveryWellFormedID() async throws {
        let page = try await Self.ask("/listen/\(Self.conversation)")
        #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
        #expect(
            page.headers["content-security-policy"]
                == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        )
        for (name, value) in [
            "referrer-policy": "no-referrer", "x-content-type-options": "nosniff", "cache-control": "no-cache",
            "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
        ] {
            #expect(page.headers[name] == value, "\(name)")
        }
        let tag = try #require(page.headers["etag"])
        let unchanged = try await Self.ask(
            "/listen/\(Self.conversation)", headers: ["If-None-Match": "\"x\", W/\(tag)"])
        #expect(unchanged.status == 304 && unchanged.body.isEmpty && unchanged.headers["etag"] == tag)
        let head = try await Self.ask("/listen/\(Self.conversation)", method: "HEAD")
        #expect(head.status == 200 && head.headers["etag"] == tag)
        #expect(head.headers["content-length"] == "\(page.body.count)")
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let answer = try await Self.ask("/listen/\(Self.conversation)", method: method)
            #expect(answer.status == 405 && answer.headers["allow"] == "GET, HEAD", "\(method)")
        }
        for path in [
            "\(newUUID())", "\(Self.conversation)/Story-time",
            "\(Self.conversation)/\(String(repeating: "%C3%A9", count: 200))",
        ] {
            #expect(try await Self.ask("/listen/\(path)").body == page.body, "\(path)")
        }
    }

    @Test(arguments: [
        "", "x", "3F0C2B1A-9D8E-4C7B-A605-F4E3D2C1B0A9", "3f0c2b1a9d8e4c7ba605f4e3d2c1b0a9",
        "3f0c2b1a-9d8e-4c7b-a605-f4e3d2c1b0a9/a/b",
        "3f0c2b1a-9d8e-4c7b-a605-f4e3d2c1b0a9/\(String(repeating: "a", count: 201))",
        "..%2f", "%00",
    ])
    func malformedAddressesGetAPage(path: String) async throws {
        let answer = try await Self.ask("/listen/\(path)")
        #expect(answer.status == 404 && answer.headers["content-type"] == "text/html; charset=utf-8")
        #expect(answer.headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
        #expect(String(decoding: answer.body, as: UTF8.self).contains("There is no such page"))
        #expect(answer.headers["etag"] == nil)
    }

    /// All that the pages load, and how much it is.
    @Test func filesNeverChangeUnderTheirHash() async throws {
        let page = String(decoding: try await Self.ask("/listen/\(Self.conversation)").body, as: UTF8.self)
        let folder = try #require(page.firstMatch(of: #/\/web\/[0-9a-f]{32}/#)).0
        #expect(!page.contains("{hash}"))
        var (wanted, seen, bytes) = (["start.js", "page.css", "icon.svg"], Set<String>(), page.utf8.count)
        while let name = wanted.popLast() {
            guard seen.insert(name).inserted else { continue }
            let file = try await Self.ask("\(folder)/\(name)")
            #expect(file.status == 200 && file.headers["cache-control"] == "public, max-age=31536000, immutable")
            #expect(file.headers["x-content-type-options"] == "nosniff")
            let text = String(decoding: file.body, as: UTF8.self)
            // Another page's start script is not loaded.
            wanted += text.matches(of: #/"\.\/([a-z]+\.js)"/#).map { String($0.1) }.filter { $0 != "join.js" }
            bytes += file.body.count
        }
        #expect(seen.count > 10 && bytes <= 80 * 1_024, "\(seen.count) files, \(bytes) bytes")
        #expect(try await Self.ask("\(folder)/other.js").is(404, "NOT_FOUND"))
        #expect(try await Self.ask("\(folder)/start.js", method: "HEAD").status == 200)
        #expect(try await Self.ask("\(folder)/start.js", method: "POST").status == 405)
        // For another release, only the script that loads the page again is served.
        let other = "/web/\(String(repeating: "0", count: 32))"
        #expect(try await Self.ask("\(other)/start.js").headers["cache-control"] == "no-store")
        #expect(try await Self.ask("\(other)/wire.js").is(404, "NOT_FOUND"))
    }

    /// Another release answers for a while: the page is loaded again until its own files are there.
    @Test func aPageOfAnotherReleaseLoadsItselfAgain() async throws {
        try await Browser.open { browser in
            try await browser.go(to: Cluster.stack.publicURL + "/listen/\(Self.conversation)")
            let page = ListenerPage(browser: browser)
            try await page.reaches("notfound")
            // As if the process that answered for the page had been another one.
            _ = try await browser.asyncValue(
                of: "await import(`/web/${'0'.repeat(32)}/start.js`); await new Promise((go) => setTimeout(go, 300));")
            #expect(try await browser.value(of: "return sessionStorage.getItem('whisper.reloads')").string == "1")
            try await waitUntil("the page is loaded again", within: .seconds(10), every: .milliseconds(100)) {
                try await browser.value(of: "return sessionStorage.getItem('whisper.reloads')") == .null
            }
            try await page.reaches("notfound")
        }
    }

    /// The secret of a link stays in the address bar: no request, no frame, no title, no storage and no log has it.
    @Test func theFragmentNeverLeavesTheBrowser() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(name: "Story time"), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await alice.types("one\n")
            try await page.shows(lines: ["one"])
            let secret = alice.linkSecret
            let fragment = String(alice.link().split(separator: "#")[1])
            let spellings = [fragment, secret.base64, secret.map { String(format: "%02x", $0) }.joined()]
            var sent = 0
            for (method, parameters) in try await browser.traffic() {
                let texts: [JSON?] =
                    switch method {
                    case "Network.requestWillBeSent":
                        [
                            parameters["request"]?["url"], parameters["request"]?["postData"],
                            parameters["request"]?["headers"],
                        ]
                    case "Network.requestWillBeSentExtraInfo": [parameters["headers"]]
                    case "Network.webSocketCreated": [parameters["url"]]
                    case "Network.webSocketFrameSent": [parameters["response"]?["payloadData"]]
                    default: []
                    }
                for text in texts.compactMap({ $0?.text }) {
                    sent += 1
                    for spelling in spellings { #expect(!text.contains(spelling), "\(method)") }
                }
            }
            #expect(sent > 20)
            let kept = try await browser.asyncValue(
                of: """
                    const databases = [];
                    for (const { name } of await indexedDB.databases()) {
                        const opened = await new Promise((done) => { const asked = indexedDB.open(name); asked.onsuccess = () => done(asked.result); });
                        for (const store of opened.objectStoreNames) {
                            const objects = opened.transaction(store).objectStore(store);
                            const all = await new Promise((done) => { const asked = objects.getAll(); asked.onsuccess = () => done(asked.result); });
                            databases.push(...all.flatMap((pairs) => Object.values(pairs)).map((pair) => pair.privateKey.extractable));
                        }
                        opened.close();
                    }
                    return [document.title, document.cookie, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), String(databases)];
                    """
            ).elements.compactMap(\.string)
            // The guest's two private keys cannot be taken out.
            #expect(kept.count == 5 && kept[4] == "false,false")
            #expect(kept[0] == "Story time · Whisper" && kept[1] == "")
            for spelling in spellings { #expect(!kept.contains { $0.contains(spelling) }) }
            for process in Cluster.stack.processes {
                let log = Cluster.stack.log(of: process)
                for spelling in spellings + ["Story-time"] { #expect(!log.contains(spelling), "\(process)") }
            }
            #expect(try await browser.complaints() == [])
        }
        await alice.end()
    }

    @Test func aBrowserThatLacksAnAlgorithmSendsNothing() async throws {
        let alice = try await PageWhisperer()
        try await Browser.open { browser in
            try await browser.runBeforePages(
                """
                const generate = SubtleCrypto.prototype.generateKey;
                SubtleCrypto.prototype.generateKey = function (name, ...rest) {
                    return name === "X25519" ? Promise.reject(new DOMException("", "NotSupportedError")) : generate.call(this, name, ...rest);
                };
                """)
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.reaches("unsupported")
            try await page.says("Firefox 130")
            let asked = try await browser.traffic().filter { $0.method == "Network.requestWillBeSent" }
                .compactMap { $0.parameters["request"]?["url"]?.string }
            #expect(asked.count >= 3)
            for url in asked {
                let path = url.dropFirst(Cluster.stack.publicURL.count)
                #expect(path.hasPrefix("/listen/") || path.hasPrefix("/web/") || !url.hasPrefix("http"), "\(url)")
            }
        }
        await alice.end()
    }

    static func ask(
        _ path: some StringProtocol, method: String = "GET", headers: [String: String] = [:]
    ) async throws -> HTTPCall.Answer {
        try await HTTPCall(method, Cluster.stack.publicURL + path, headers: headers).answer()
    }
}
