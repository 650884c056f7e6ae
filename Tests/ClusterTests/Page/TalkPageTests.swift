import Foundation
import TestKit
import Testing

/// Messages in the page of rooms: whoever has a seat gets each of them once, and its author sees who has it.
extension PageCluster {
    /// One of three is still connecting while two messages are said.
    @Test func whoIsStillConnectingMissesNothing() async throws {
        try await JoinPage.windows(3) { pages in
            let (alice, bob, carol) = (pages[0], pages[1], pages[2])
            try await carol.begins(with: Self.held)
            let link = try await alice.create(for: 3).link
            try await bob.follow(link)
            for page in [alice, bob] { try await page.isConnected(with: 1) }
            try await carol.follow(link)
            try await alice.shows("somebody who connects") {
                try await alice.browser.count("#people [data-seat='3'][data-state=connecting]") == 1
            }
            for text in ["one", "two"] { try await alice.say(text) }
            try await bob.shows(messages: ["Person 1: one", "Person 1: two"])
            try await alice.shows(deliveries: ["not yet: Person 3", "not yet: Person 3"])
            try await alice.delivery("Person 3 lacks 2 messages.")
            #expect(try await carol.messages == [])
            try await carol.browser.value(of: "window.release()")
            for page in pages { try await page.isConnected(with: 2) }
            try await alice.shows(deliveries: ["everybody", "everybody"])
            try await alice.delivery("Everybody has your messages.")
            try await carol.say("three")
            for (page, author) in [(bob, "Person 3"), (carol, "You")] {
                try await page.shows(messages: ["Person 1: one", "Person 1: two", "\(author): three"])
            }
            for page in pages { #expect(try await page.browser.complaints() == []) }
        }
    }

    /// The receipt is lost with its connection: over the next one the message goes again, and is shown once.
    @Test func aMessageThatGoesAgainIsShownOnce() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            try await bob.begins(with: Self.swallows("got"))
            try await bob.join(code: try await alice.create().code)
            for page in pages { try await page.isConnected(with: 1) }
            try await alice.say("once")
            try await bob.shows(messages: ["Person 1: once"])
            #expect(try await alice.deliveries == ["not yet: Person 2"])
            try await bob.browser.value(of: "window.swallows = false")
            try await alice.browser.value(of: "window.made.at(-1).close()")
            try await alice.shows(deliveries: ["everybody"], within: JoinPage.threeAttempts)
            #expect(try await alice.browser.value(of: "return window.made.length").integer == 2)
            try await alice.say("again")
            try await bob.shows(messages: ["Person 1: once", "Person 1: again"])
        }
    }

    /// A page of before: it greets nobody, and hears nothing over the channel that it does not know.
    @Test(arguments: [0, 1]) func aPageOfBeforeStaysUsable(older: Int) async throws {
        try await JoinPage.windows(2) { pages in
            let (new, old) = (pages[1 - older], pages[older])
            try await old.begins(with: Self.swallows("[a-z]+"))
            try await pages[1].join(code: try await pages[0].create().code)
            for page in pages { try await page.isConnected(with: 1) }
            let (seat, own) = (older + 1, 2 - older)
            try await new.say("to a page of before")
            try await old.shows(messages: ["Person \(own): to a page of before"])
            try await new.shows(deliveries: ["sent, without a receipt: Person \(seat)"])
            try await new.shows("that it is older") {
                try await new.content(of: "#people").contains("on an older page")
            }
            try await old.say("from it")
            try await new.shows(messages: ["You: to a page of before", "Person \(seat): from it"])
        }
    }

    /// A name goes to the others alone, and does not stand by itself until the numbers were compared.
    @Test func namesAreForThoseInTheRoom() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            let code = try await alice.create().code
            try await bob.browser.value(of: "document.querySelector('#name').value = '\\u202eZoro\\u200baster'")
            try await bob.join(code: code)
            for page in pages { try await page.isConnected(with: 1) }
            try await bob.say("hello")
            try await alice.shows(messages: ["Zoroaster (Person 2): hello"])
            #expect(try await alice.content(of: "#people bdi") == "Zoroaster")
            try await alice.browser.click("#people button")
            #expect(try await alice.content(of: "#people small") == "compared")
            try await bob.say("it is me")
            try await alice.shows(messages: ["Zoroaster (Person 2): hello", "Zoroaster (Person 2): it is me"])
            for (method, parameters) in try await bob.browser.traffic() where method == "Network.webSocketFrameSent" {
                let text = parameters["response"]?["payloadData"]?.text ?? ""
                #expect(!text.contains("aster"))
            }
        }
    }

    /// A waiting message goes with the page, which says so. Its bound names those who take no more.
    @Test func whatWaitsIsBoundedAndGoesWithThePage() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            try await bob.join(code: try await alice.create().code)
            for page in pages { try await page.isConnected(with: 1) }
            try await bob.browser.go(to: "about:blank")
            try await alice.shows("that somebody is away") {
                try await alice.browser.count("#people [data-state=connected]") == 0
            }
            try await alice.browser.value(
                of: """
                    for (let n = 0; n < 64; n += 1) {
                        document.querySelector("#message").value = `number ${n}`;
                        document.querySelector("#say").requestSubmit();
                    }
                    """)
            try await alice.delivery("Person 2 lacks 64 messages.")
            try await alice.say("one more")
            try await alice.delivery("Too much waits for Person 2. Send again, and the others get it.")
            #expect(try await alice.messages.count == 64)
            try await alice.browser.click("#send")
            try await alice.delivery("Person 2 lacks 64 messages. Person 2 never got 1 message.")
            #expect(try await alice.deliveries.last == "never: Person 2")
            try await alice.browser.reload()
            try await alice.delivery("This page was loaded again. Messages that somebody lacked are lost.")
        }
    }

    /// Takes no description of anybody until the test says so.
    private static let held = """
        const take = RTCPeerConnection.prototype.setRemoteDescription;
        const released = new Promise((release) => (window.release = release));
        RTCPeerConnection.prototype.setRemoteDescription = async function (...values) {
            await released;
            return take.apply(this, values);
        };
        """

    /// Frames of these kinds go nowhere, and come from nowhere.
    private static func swallows(_ kinds: String) -> String {
        """
        window.swallows = true;
        const isOne = (data) => window.swallows && /^\\{"t":"(\(kinds))"/.test(data);
        const send = RTCDataChannel.prototype.send;
        RTCDataChannel.prototype.send = function (data) { if (!isOne(data)) send.call(this, data); };
        const handler = Object.getOwnPropertyDescriptor(RTCDataChannel.prototype, "onmessage");
        Object.defineProperty(RTCDataChannel.prototype, "onmessage", {
            set(heard) { handler.set.call(this, (event) => { if (!isOne(event.data)) heard(event); }); },
        });
        """
    }
}

extension JoinPage {
    /// Loads the page anew, behind a script.
    fileprivate func begins(with script: String) async throws {
        try await self.browser.runBeforePages(script)
        try await self.browser.reload()
        try await self.reaches("entry")
    }

    fileprivate func delivery(_ words: String) async throws {
        try await self.shows("\"\(words)\"") { try await self.content(of: "#delivery").contains(words) }
    }
}
