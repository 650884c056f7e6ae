import Foundation
import LocalStack
import TestKit
import Testing

/// The pages in a real browser, with two gateways, a relay and a whisperer on the wire (contract §16).
///
/// A whisperer that is away is waited for only shortly.
@Suite(
    .serialized,
    .cluster(.long) {
        $0.environment[.calls] = ["LIVE_PAUSE_SECONDS": "3"]
        $0.hasRelay = true
    },
    .browser) struct PageCluster
{
    /// From the link to the text, past the whisperer's decision, and out again.
    @Test func aFirstVisitorIsLetInAndReads() async throws {
        let alice = try await PageWhisperer()
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(name: "Story time!"), in: browser)
            try await page.reaches("consent")
            #expect(try await browser.text(of: "#conversation") == "Story time")
            #expect(try await browser.text(of: "#whisperer") == "Alice")
            for hidden in ["#passcode", "#transcribed"] { #expect(try await browser.isHidden(hidden), "\(hidden)") }
            // Nobody is connected before consent, and nobody joins without a name.
            #expect(try await browser.value(of: "return document.querySelector('#join').disabled") == .bool(true))
            try await page.join(as: "Zoë 🦉")
            let knock = try await alice.knock()
            #expect(knock.name == "Zoë 🦉")
            try await page.reaches("waiting")
            try await page.says("Waiting for Alice")
            await alice.admit(knock)
            try await page.reaches("connected")

            try await alice.types("Once")
            try await page.shows(live: "Once")
            try await alice.types("Once upon a time 👩‍👩‍👧\n\nthere was")
            try await page.shows(live: "there was")
            try await page.shows(lines: ["Once upon a time 👩‍👩‍👧", ""])
            try await alice.types("there is https://example.org/a?b=c.\n")
            try await page.shows(lines: ["Once upon a time 👩‍👩‍👧", "", "there is https://example.org/a?b=c."])
            let link = "document.querySelector('#past a')"
            #expect(try await browser.value(of: "return \(link).href").string == "https://example.org/a?b=c")
            #expect(try await browser.value(of: "return \(link).rel").string == "noopener noreferrer")

            // Text that wants to be more than text.
            let hostile = #"<img src=x onerror="document.title='owned'"> javascript:alert(1)"#
            try await alice.says(hostile)
            try await page.shows(
                lines: ["Once upon a time 👩‍👩‍👧", "", "there is https://example.org/a?b=c.", hostile])
            #expect(try await browser.count("#past img") == 0)

            try await browser.click("#attention")
            try await waitUntil("a hand is up", within: .seconds(10)) {
                await alice.heard("live_attention").map { $0["want"]?.string } == ["hand"]
            }
            try await browser.click("#leave")
            try await page.reaches("consent")
            try await waitUntil("the listener is gone", within: .seconds(10)) {
                await alice.heard("live_listener").last?["status"]?.string == "left"
            }
            // The name is remembered, and a known guest goes in without being asked about, if it says that it is the same person.
            #expect(try await browser.text(of: "#before-name") == "Zoë 🦉")
            #expect(try await browser.value(of: "return document.querySelector('#join').disabled") == .bool(true))
            #expect(try await browser.isHidden("#name-field"))
            try await browser.click("#continue")
            try await browser.click("#join")
            try await page.reaches("connected")
            #expect(await alice.knocks.isEmpty)
            // Somebody else at the same computer is somebody else to the whisperer.
            try await browser.click("#leave")
            try await page.reaches("consent")
            try await browser.click("#somebody")
            try await browser.type("Max", into: "#name")
            try await browser.click("#join")
            let other = try await alice.knock()
            #expect(other.name == "Max" && other.listener != knock.listener)
            try await page.reaches("waiting")
            #expect(try await browser.complaints() == [])
        }
        await alice.end()
    }
}
