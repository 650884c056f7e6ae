import Foundation
import LocalStack
import TestKit
import Testing

/// Who comes in and who does not (contract §14.7, §16.3).
extension PageCluster {
    @Test func aWrongPasscodeIsRefusedAndTheRightOneOpens() async throws {
        let alice = try await PageWhisperer(admission: .passcode("open, sesame"))
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join(passcode: "barley")
            try await page.says("That is not the passcode.")
            try await page.reaches("consent")
            // The form is as it was, and the next word goes into its field.
            #expect(try await browser.value(of: "return document.activeElement.id").string == "passcode")
            #expect(try await browser.value(of: "return document.querySelector('#continue').checked") == .bool(true))
            try await browser.press("open, sesame\u{E007}")
            try await page.reaches("connected")
            try await alice.types("in")
            try await page.shows(live: "in")
        }
        await alice.end()
    }

    @Test func aRemovedListenerIsToldAndReadsNoMore() async throws {
        let alice = try await PageWhisperer(transcriptDays: 1)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.reaches("consent")
            #expect(try await !browser.isHidden("#transcribed"))
            try await page.join()
            let knock = try await alice.knock()
            await alice.admit(knock)
            try await page.reaches("connected")
            try await alice.types("one\n")
            try await page.shows(lines: ["one"])
            // Those who are left get the next key; with it, text goes on.
            try await alice.rotate()
            try await alice.types("two")
            try await page.shows(live: "two")
            await alice.refuse(knock.listener, "removed", note: "see you <b>tomorrow</b>")
            try await page.reaches("refused")
            try await page.says("Alice removed you. “see you <b>tomorrow</b>”")
            #expect(
                try await browser.value(of: "return document.querySelector('#status').ariaLive").string == "assertive")
            try await alice.types("three\n")
            try await browser.click("#again")
            #expect(try await page.lines == ["1 one"])
            // Whoever was removed may ask again.
            try await browser.click("#continue")
            try await browser.click("#join")
            try await page.reaches("waiting")
            let again = try await alice.knock()
            #expect(again.listener == knock.listener)
            await alice.refuse(again.listener, "declined", box: again.encPublicKey)
            try await page.reaches("refused")
            try await page.says("Alice did not let you in.")
        }
        await alice.end()
    }

    /// The same guest in two tabs: the newer has it, until the older is told to take it back.
    @Test func anotherTabTakesOverAndGivesBack() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await alice.types("one\ntw")
            try await page.shows(lines: ["one"])
            let first = try await browser.tab
            let second = try await browser.openTab()
            _ = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await page.shows(live: "tw")
            try await browser.turn(to: first)
            try await page.reaches("replaced")
            #expect(try await page.lines == ["1 one"])
            try await alice.types("two\nthree\n")
            try await browser.click("#use-here")
            try await page.reaches("connected")
            try await page.shows(lines: ["one", "two", "three"])
            try await browser.turn(to: second)
            try await page.reaches("replaced")
        }
        await alice.end()
    }

    /// The server erases the guest, the browser its keys and name: whoever asks next is somebody new.
    @Test func whoeverIsForgottenIsSomebodyNewAfterwards() async throws {
        let alice = try await PageWhisperer()
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            let knock = try await alice.knock()
            await alice.admit(knock)
            try await page.reaches("connected")
            try await browser.click("#leave")
            try await page.reaches("consent")
            try await browser.click("#forget")
            try await page.reaches("forgotten")
            try await page.says("You're forgotten")
            #expect(
                try await Cluster.database(
                    "SELECT count(*) FROM auth.guests WHERE 'gst-' || replace(guest_id::text, '-', '') = '\(knock.listener)'"
                )
                    == "0")
            _ = try await ListenerPage.open("about:blank", in: browser)
            _ = try await ListenerPage.open(alice.link(), in: browser)
            try await page.reaches("consent")
            #expect(try await browser.isHidden("#returning"))
            try await page.join()
            #expect(try await alice.knock().listener != knock.listener)
            #expect(try await browser.complaints() == [])
        }
        await alice.end()
    }

    @Test func aDeletedConversationEndsAndIsUnknownAfterwards() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await alice.types("last words\n")
            try await page.shows(lines: ["last words"])
            await alice.delete()
            try await page.reaches("ended")
            try await page.says("Alice has deleted this conversation.")
            #expect(try await page.lines == ["1 last words"])
            try await browser.reload()
            try await page.reaches("notfound")
            // A link without its secret, and one with another's.
            try await browser.go(to: "about:blank")
            _ = try await ListenerPage.open(String(alice.link().split(separator: "#")[0]), in: browser)
            try await page.reaches("notfound")
            let other = try await PageWhisperer()
            try await browser.go(to: "about:blank")
            let foreign = other.link().split(separator: "#")[0] + "#" + alice.link().split(separator: "#")[1]
            _ = try await ListenerPage.open(String(foreign), in: browser)
            try await page.reaches("notfound")
            await other.end()
        }
        await alice.end()
    }
}
