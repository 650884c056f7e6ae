import Foundation
import LocalStack
import TestKit
import Testing

/// Acts about a person, a chat or a group.
extension AppCluster {
    /// The contacts are backed up; the identity is erased by its last four characters alone, and the window begins anew.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func aPersonBacksUpAndLeavesForGood() async throws {
        let axe = try Axe.source()
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await bob.browser.click("#menu")
            try await bob.browser.click("#account")
            let backedUp = "Your contacts are backed up at the server, sealed with your twelve words."
            try await bob.browser.click("#back-up")
            try await bob.shows("that it is backed up") { try await bob.content(of: "#backup-state") == backedUp }
            try await bob.browser.click("#check")
            try await bob.shows("that all is whole") {
                try await bob.content(of: "#backup-state") == "Everything on this computer is whole."
            }
            try await AppCluster.look(bob, "account-light", axe)
            try await bob.browser.click("#leave")
            try await AppCluster.look(bob, "leave-light", axe)
            try await bob.browser.type("AAAA", into: "[name=end]")
            try await bob.browser.click("#leave-now")
            try await bob.shows("the refusal") {
                try await bob.content(of: "dialog:last-of-type form")
                    .contains("These are not the last four characters of your ID.")
            }
            try await bob.browser.value(of: "document.querySelector('[name=end]').value = ''")
            try await bob.browser.type(bobID.suffix(4).lowercased(), into: "[name=end]")
            try await bob.browser.click("dialog:last-of-type [type=checkbox]")
            try await bob.browser.click("#leave-now")
            try await bob.shows("that it is erased", within: .seconds(60)) {
                try await bob.content(of: "main p") == "Your identity is erased, and so is this computer's copy."
            }
            // Nobody reaches it any more, and the folder has room for somebody new.
            try await ann.say("Are you there?")
            try await ann.shows("that it has failed") {
                try await ann.content(of: "article .outcome").hasPrefix("Failed: ")
            }
            try await bob.browser.click("main button")
            // The key file went with the folder: the next identity has a key of its own.
            try await bob.becomesSomebody()
            #expect(try await bob.id != bobID)
            let seal = try await bob.browser.asyncValue(
                of: """
                    const headers = { "Whisper-Key": localStorage.getItem("whisper.key") };
                    return (await (await fetch("/app", { headers })).json()).seal;
                    """)
            #expect(seal.string == "key")
        }
    }

    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func aPollIsAskedAnsweredAndTakenBack() async throws {
        let axe = try Axe.source()
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob Ross")
            try await bob.add(annID, as: "Ann")
            try await ann.browser.click("#pane .who")
            try await ann.browser.click("#new-poll")
            try await ann.browser.type("Which day?", into: "[name=question]")
            for (place, answer) in ["Friday", "Saturday"].enumerated() {
                try await ann.browser.type(answer, into: ".field:nth-child(\(place + 1)) > [name=option]")
            }
            try await AppCluster.look(ann, "new-poll-light", axe)
            try await ann.browser.click("dialog:last-of-type form .main")
            try await ann.browser.value(of: "document.querySelector('dialog')?.close()")
            func answers(_ page: AppWindow, _ wanted: [String]) async throws {
                try await page.shows("\(wanted)") { try await page.texts(".poll button") == wanted }
            }
            for page in [ann, bob] { try await answers(page, ["Friday0", "Saturday0"]) }
            try await bob.browser.click(".poll [data-choice='1']")
            try await answers(ann, ["Friday0", "Saturday1 · Bob Ross"])
            try await answers(bob, ["Friday0", "Saturday1 · You"])
            try await AppCluster.look(bob, "poll-light", axe)
            // By keyboard, and the focus stays where it was.
            try await ann.browser.value(of: "document.querySelector('.poll [data-choice=\"0\"]').focus()")
            try await ann.browser.press("\u{E007}")
            try await answers(bob, ["Friday1 · Ann", "Saturday1 · You"])
            try await answers(ann, ["Friday1 · You", "Saturday1 · Bob Ross"])
            #expect(try await ann.browser.value(of: "return document.activeElement.dataset.choice").string == "0")
            try await bob.browser.click(".poll [data-choice='0']")
            try await answers(ann, ["Friday2 · You, Bob Ross", "Saturday0"])
            try await bob.browser.click(".poll [data-choice='0']")
            try await answers(ann, ["Friday1 · You", "Saturday0"])
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    /// By name, by a right click, and whatever signs somebody hides in a name.
    @Test func peopleAreFoundByName() async throws {
        try await AppWindow.two { ann, bob in
            let bobID = try await bob.id
            try await ann.add(bobID, as: "Bob Ross")
            try await ann.ask("contact_update", #"{"whisperId":"\#(bobID)","name":"Bob \u202eRoss"}"#)
            try await ann.shows("a name") { try await ann.texts("#list li .name") == ["Bob Ross"] }
            try await ann.browser.type("ross", into: "[type=search]")
            try await ann.shows("who was found") { try await ann.texts("#found .named .name") == ["Bob Ross"] }
            try await ann.browser.press("\u{E00C}")
            try await ann.browser.value(
                of: """
                    document.querySelector("#list [data-key] button")
                        .dispatchEvent(new Event("contextmenu", { cancelable: true }));
                    """)
            try await ann.shows("what is known about him") {
                try await ann.content(of: "dialog").contains(bobID)
            }
        }
    }

    private func friends(_ body: (_ ann: AppWindow, _ bob: AppWindow) async throws -> Void) async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await body(ann, bob)
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    @Test func aPersonIsRenamedMutedBlockedAndRemoved() async throws {
        try await self.friends { ann, bob in
            let annID = try await ann.id
            try await ann.say("One")
            try await bob.shows(messages: ["One"])
            // Both see the same number, as the core has it.
            var numbers: Set<String> = []
            for (page, other) in [(ann, try await bob.id), (bob, annID)] {
                try await page.opensDetails()
                let number = try await page.texts("dialog .number span").joined(separator: " ")
                #expect(try await page.ask("contact_safety", #"{"whisperId":"\#(other)"}"#).contains(number))
                numbers.insert(number)
                try await page.browser.press("\u{E00C}")
            }
            #expect(numbers.count == 1 && numbers.allSatisfy { $0.count > 60 }, "\(numbers)")
            try await bob.opensDetails()
            try await bob.browser.type("Ann of the ferry", into: "dialog [name=name]")
            try await bob.browser.click("#rename")
            try await bob.shows("the name") { try await bob.content(of: "#pane .title") == "Ann of the ferry" }
            for (number, sign) in [(1, "Pinned"), (2, "Muted")] {
                try await bob.browser.click("dialog label.row:nth-of-type(\(number)) input")
                try await bob.shows(sign) {
                    try await bob.browser.count("[data-key='\(annID)'] [aria-label=\(sign)]") == 1
                }
            }
            // Each end asks once more.
            try await bob.browser.click("#block")
            #expect(try await bob.browser.count("[data-key='\(annID)'] [aria-label=Blocked]") == 0)
            try await bob.browser.click("dialog .loud")
            try await bob.shows("blocked") { try await bob.content(of: "#pane .bar").contains("blocked this person") }
            try await ann.say("Into nothing")
            try await ann.shows(state: "Delivered")
            try await bob.browser.click("#pane .bar button")
            try await bob.shows("the composer") { try await !bob.browser.isHidden("#text") }
            try await ann.say("And back")
            try await bob.shows(messages: ["One", "And back"])
            try await bob.opensDetails()
            try await bob.browser.click("#remove")
            try await bob.browser.click("dialog .loud")
            try await bob.shows("no contact") { try await !bob.ask("contact_list").contains(annID) }
        }
    }

    @Test func aTimerIsSetAndSeenOnBothSides() async throws {
        try await self.friends { ann, bob in
            try await ann.say("Stays")
            try await bob.shows(messages: ["Stays"])
            try await ann.opensDetails()
            try await ann.browser.click("#timer option[value='86400']")
            try await ann.browser.press("\u{E00C}")
            for (page, text) in [
                (ann, "You set messages to disappear after 1 day."),
                (bob, "Ann set messages to disappear after 1 day."),
            ] {
                try await page.shows(text) { try await page.texts("article .event") == [text] }
                try await page.shows("the timer") {
                    try await page.content(of: "#pane .status").contains("disappears after 1 day")
                }
            }
            try await bob.say("Goes")
            try await ann.shows(messages: ["> Stays", "Goes"])
            // It stands where it was set, also after a reload.
            try await bob.browser.reload()
            try await bob.browser.keepFocus()
            try await bob.shows("the note") { try await bob.content(of: "article .event").contains("Ann set") }
            #expect(try await bob.browser.count("article:first-of-type .event") == 1)
            try await bob.opensDetails()
            #expect(try await bob.browser.value(of: "return document.querySelector('#timer').value").string == "86400")
            try await bob.browser.click("#timer option[value='0']")
            try await ann.shows("the end of it") {
                try await ann.texts("article .event").last == "Bob turned disappearing messages off."
            }
        }
    }

    /// The operators get what a person agreed to, and no more.
    @Test func aStrangerIsBlockedAndReported() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await ann.say("Buy my secret words")
            let row = "[data-key='\(annID)'] button"
            try await bob.shows("a request") { try await bob.browser.count(row) == 1 }
            try await bob.browser.click(row)
            try await bob.browser.click("#block-and-report")
            try await bob.shows("what is told") {
                try await bob.content(of: "dialog form").contains("can't read it.")
            }
            try await bob.browser.click("#reason option[value=abuse]")
            try await bob.browser.type("Third time today", into: "dialog [name=note]")
            try await bob.browser.click("#send-report")
            try await bob.shows("thanks") { try await bob.content(of: "dialog h2") == "Reported" }
            try await bob.browser.press("\u{E00C}")
            try await bob.shows("blocked") { try await bob.content(of: "#pane .bar").contains("blocked this person") }
            let report = try await Cluster.database(
                "SELECT reason, note, convert_from(evidence, 'UTF8') FROM auth.reports WHERE note = 'Third time today'")
            #expect(report.contains("abuse") && report.contains("ciphertext") && report.contains(annID), "\(report)")
            #expect(!report.contains("secret words"))
        }
    }

    @Test func aGroupIsRenamedAndItsRolesChange() async throws {
        try await self.friends { ann, bob in
            let bobID = try await bob.id
            try await ann.browser.click("#add")
            try await ann.browser.click("#new-group")
            try await ann.browser.type("Hiking", into: "dialog [name=title]")
            try await ann.browser.click("dialog [value='\(bobID)']")
            try await ann.browser.click("dialog form .main")
            try await ann.shows("the group") { try await ann.content(of: "#pane .title") == "Hiking" }
            try await ann.opensDetails()
            try await ann.browser.click("[data-rank='\(bobID)']")
            try await ann.shows("the change") { try await ann.browser.count("dialog") == 0 }
            try await bob.shows("the group") { try await bob.browser.count("[data-key^='grp-'] button") == 1 }
            try await bob.browser.click("[data-key^='grp-'] button")
            try await bob.opensDetails()
            try await bob.shows("his role") { try await bob.content(of: ".members").contains("Youadmin") }
            try await bob.browser.type("Swimming", into: "dialog [name=title]")
            try await bob.browser.click("#rename")
            for page in [ann, bob] {
                try await page.shows("the title") { try await page.content(of: "#pane .title") == "Swimming" }
            }
            // Nothing was written yet: the lines stand above what comes.
            try await bob.browser.value(of: "document.querySelector('dialog')?.close()")
            for (page, lines) in [
                (ann, ["You added Bob.", "Bob named the group Swimming."]),
                (bob, ["Ann added you.", "You named the group Swimming."]),
            ] {
                try await page.shows("\(lines)") { try await page.texts("#pane .event") == lines }
            }
        }
    }
}

extension AppWindow {
    /// Facts of the person or group of the open chat.
    fileprivate func opensDetails() async throws {
        try await self.browser.click("#pane .who")
        try await self.shows("details") { try await self.browser.count("dialog #rename") == 1 }
    }
}
