import LocalStack
import TestKit
import Testing

/// Requests that fail or take long, beside a person and a server that go on meanwhile.
extension AppCluster {
    /// `window.holds` names a verb whose requests wait for `window.release()`. Requests that `window.fails` names are refused.
    private static let slowFetch = """
        const ask = window.fetch;
        [window.held, window.holds, window.fails] = [[], /^$/, /^$/];
        window.fetch = async (path, options) => {
            const { method = "" } = path.startsWith("/rpc") ? JSON.parse(options.body) : {};
            if (window.holds.test(method)) await new Promise((go) => window.held.push(go));
            if (window.fails.test(method)) {
                const error = { code: -32000, message: "no", data: { code: "store", message: "It doesn't work now." } };
                return Response.json({ jsonrpc: "2.0", id: 1, error });
            }
            return ask(path, options);
        };
        window.release = () => window.held.splice(0).forEach((go) => go());
        """

    @Test func wordsSurviveSlowAndRefusedRequests() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await ann.say("First")
            try await ann.shows(messages: ["> First"])
            try await ann.browser.value(of: Self.slowFetch)
            // The next words are typed while a message is on its way, and the chat is left.
            try await ann.browser.value(of: "window.holds = /message_send/")
            try await ann.say("Second")
            try await ann.shows("a request") {
                try await ann.browser.value(of: "return window.held.length").integer == 1
            }
            try await ann.browser.type("Third, later", into: "#text")
            try await ann.browser.value(of: "window.holds = /^$/; window.release()")
            try await ann.shows(messages: ["> First", "> Second"])
            try await ann.reopens(bobID)
            try await ann.writes("Third, later")
            // A message that is refused stays in the composer, and in the draft.
            try await ann.browser.value(of: "window.fails = /message_send/")
            try await ann.browser.press("\u{E007}")
            try await ann.shows("a fault") { try await ann.content(of: "#text-fault").contains("doesn't work now") }
            try await ann.writes("Third, later")
            try await ann.reopens(bobID)
            try await ann.writes("Third, later")
            try await ann.browser.value(of: "window.fails = /^$/; document.querySelector('#text').select()")
            try await ann.browser.press("\u{E017}")
            // An edit that is refused is an edit still, and no message.
            try await ann.browser.press("\u{E013}")
            try await ann.writes("Second")
            try await ann.browser.value(of: "window.fails = /message_edit/")
            try await ann.browser.type("Second, edited", into: "#text")
            try await ann.browser.press("\u{E007}")
            try await ann.shows("a fault") { try await ann.content(of: "#text-fault").contains("doesn't work now") }
            try await ann.browser.value(of: "window.fails = /^$/")
            try await ann.browser.press("\u{E007}")
            try await bob.shows(messages: ["First", "Second, edited"])
        }
    }

    /// Frames end when a window is hidden, also those that were asked for before.
    @Test func eventsNeedNoFrame() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await ann.browser.value(of: "window.requestAnimationFrame = () => 0")
            try await bob.say("Are you there?")
            try await ann.shows(messages: ["Are you there?"])
        }
    }

    /// The list comes in pages. Its first one has the chat of the latest message.
    @Test func eachPageOfTheListIsRead() async throws {
        try await AppWindow.two { ann, bob in
            let bobID = try await bob.id
            try await ann.add(bobID, as: "Bob")
            try await ann.say("To you alone")
            try await ann.ask("group_create", #"{"title":"Hiking","members":["\#(bobID)"],"corrId":"hiking"}"#)
            var group = ""
            try await ann.shows("a group") {
                let listed = try await ann.ask("group_list")
                group = listed.firstMatch(of: #/"groupId":"([^"]+)"/#).map { String($0.1) } ?? ""
                return !group.isEmpty
            }
            try await ann.ask("message_send", #"{"to":"\#(group)","text":"To all"}"#)
            try await ann.browser.runBeforePages(
                """
                const ask = window.fetch;
                window.fetch = (path, options) => {
                    const asked = path.startsWith("/rpc") ? JSON.parse(options.body) : {};
                    if (asked.method === "chat_list") asked.params.limit = 1;
                    return ask(path, asked.method ? { ...options, body: JSON.stringify(asked) } : options);
                };
                """)
            try await ann.browser.reload()
            try await ann.browser.keepFocus()
            try await ann.shows("two chats") {
                try await ann.texts("#list .chats .last").map { $0.contains("To all") || $0.contains("To you alone") }
                    == [true, true]
            }
        }
    }
}

extension AppWindow {
    /// Leaves the chat, and comes back to it.
    fileprivate func reopens(_ id: String) async throws {
        try await self.browser.press("\u{E00C}")
        try await self.shows("the list alone") { try await self.browser.count("#text") == 0 }
        try await self.browser.click("[data-key='\(id)'] button")
    }

    fileprivate func writes(_ text: String) async throws {
        try await self.shows("\(text) in the composer") {
            try await self.browser.value(of: "return document.querySelector('#text')?.value").string == text
        }
    }
}
