import Foundation
import LocalStack
import TestKit
import Testing

/// Pages of others in the browser that has the window (docs/app.md).
extension AppCluster {
    /// Somebody serves a page on another port of this machine, and knows the page's key. Under the window's own name the browser sends it the
    /// cookie, too.
    @Test func pagesOfOthersGetNothingFromTheDoor() async throws {
        let folder = try TemporaryFolder(named: "attack")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            try await ann.becomesSomebody()
            let own = try await browser.tab
            let door = try #require(try await browser.value(of: "return location.origin").string)
            let name = try #require(URL(string: door)?.host())
            #expect(try await browser.cookie("__Host-session")["httpOnly"] == .bool(true))
            #expect(try await browser.value(of: "return document.cookie") == .string(""))
            let key = try await browser.value(of: "return localStorage['whisper.key']").string ?? ""
            #expect(key.count == 64)
            let port = LoopbackPort.free()
            try Self.attack.write(toFile: folder.path + "/attack.html", atomically: true, encoding: .utf8)
            let server = try await ChildProcess.start(
                Command(
                    "/usr/bin/python3",
                    ["-m", "http.server", "--bind", "127.0.0.1", "--directory", folder.path, "\(port)"],
                    log: folder.path + "/served"), name: "http.server")
            try await waitUntil("the page is served", within: readyTimeout) {
                let answer = try? await HTTPCall("GET", "http://127.0.0.1:\(port)/attack.html").answer()
                return answer?.status == 200
            }
            for host in ["127.0.0.1", name] {
                _ = try await browser.openTab()
                try await browser.go(to: "http://\(host):\(port)/attack.html#\(door),\(key)")
                _ = try await browser.traffic()
                let told = try await browser.asyncValue(of: "return JSON.stringify(await attack())")
                let results = try JSON(parsing: Array((told.string ?? "").utf8))
                for (attempt, result) in results.members {
                    #expect(result.string == "refused", "\(host): \(attempt)")
                }
                #expect(results.members.count == 10)
                try await Self.everyAnswerRefused(of: door, to: "http://\(host):\(port)", in: browser)

                // A window that it opens is out of its hands, and a form's answer is a refusal.
                try await browser.click("#open")
                try await waitUntil("the opened window is not its own", within: .seconds(30)) {
                    try await browser.value(of: "return opened.closed") == .bool(true)
                }
                try await browser.click("#post")
                try await waitUntil("the form is answered", within: .seconds(30)) {
                    try await browser.value(of: "return typeof attack") == .string("undefined")
                }
                let shown = try await browser.value(of: "return document.body.innerText").string
                #expect(shown?.contains("Whisper") != true)
            }
            // Nothing had an effect: the window still has its session, and its settings.
            try await browser.turn(to: own)
            #expect(try await ann.ask("settings_get").contains(#""readReceipts":true"#))
            _ = await server.kill()
            await ann.process.kill()
        }
    }

    /// Each request for the door that a page of `origin` has made, and each document of the door in a frame.
    private static func everyAnswerRefused(of door: String, to origin: String, in browser: Browser) async throws {
        let events = try await browser.traffic()
        var asked: Set<String> = []
        for event in events where event.method == "Network.requestWillBeSent" {
            guard event.parameters["request"]?["url"]?.string?.hasPrefix(door) == true,
                event.parameters["documentURL"]?.string?.hasPrefix(origin) == true
                    || event.parameters["type"]?.string == "Document",
                let id = event.parameters["requestId"]?.string
            else { continue }
            asked.insert(id)
        }
        #expect(asked.count >= 5)
        for event in events where event.method == "Network.responseReceived" {
            guard let id = event.parameters["requestId"]?.string, asked.contains(id) else { continue }
            let status = event.parameters["response"]?["status"]?.integer ?? 0
            let address = event.parameters["response"]?["url"]?.string ?? ""
            #expect([401, 403, 404, 405, 415].contains(status), "\(status) for \(address)")
        }
    }

    private static let attack = """
        <!doctype html><meta charset="utf-8"><title>attack</title>
        <form method="post" enctype="text/plain"><input type="hidden" name='{"quit":true,"x":"' value='"}'></form>
        <button id="open">open</button><button id="post">post</button>
        <script>
        const [door, key] = location.hash.slice(1).split(",");
        const question = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "settings_set", params: { readReceipts: false } });
        const ask = (path, more) => fetch(door + path, { credentials: "include", ...more });
        const post = (path, body, more) => ask(path, { method: "POST", body, ...more });
        const json = { "Content-Type": "application/json", "Whisper-Key": key };
        const loaded = (element) => new Promise((done, failed) => {
            [element.onload, element.onerror] = [done, failed];
            document.head.append(element);
        });
        const attempts = {
            shell: async () => (await ask("/")).text(),
            state: async () => (await ask("/app")).text(),
            events: async () => (await ask("/events?consumer=app&take=1")).text(),
            question: async () => (await post("/rpc?consumer=app", question, { headers: json })).text(),
            questionUnread: async () => (await post("/rpc?consumer=app", question, { mode: "no-cors" })).type,
            endUnread: async () => (await post("/session/end", '{"quit":true}', { mode: "no-cors" })).type,
            session: async () => (await post("/session", "{}", { headers: json })).text(),
            script: () => loaded(Object.assign(document.createElement("script"), { src: door + "/a/x/start.js" })),
            worker: () => navigator.serviceWorker.register(door + "/a/x/start.js"),
            frame: async () => {
                const frame = Object.assign(document.createElement("iframe"), { src: door + "/" });
                await loaded(frame);
                return frame.contentWindow.document.body.innerText;
            },
        };
        async function attack() {
            const told = {};
            for (const [name, act] of Object.entries(attempts)) {
                try { told[name] = await act(); } catch { told[name] = "refused"; }
            }
            return told;
        }
        let opened;
        document.querySelector("#open").onclick = () => { opened = window.open(door + "/"); };
        document.querySelector("#post").onclick = () => {
            document.forms[0].action = door + "/session/end";
            document.forms[0].submit();
        };
        </script>
        """
}
