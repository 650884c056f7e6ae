import Foundation
import LocalStack
import TestKit
import Testing

/// Rooms in windows of `whisper app`, with a guest at a page of the server.
extension AppCallCluster {
    /// By code and by link, with names, texts that say who has them, pictures, a reload in the middle, and the host's end.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func peopleMeetInARoomByItsCode() async throws {
        let axe = try Axe.source()
        try await AppWindow.two { ann, bob in
            try await bob.browser.value(of: AppWindow.keepingSounds)
            let code = try await ann.opensRoom(as: "Ann")
            try await AppCluster.look(ann, "room-code-light", axe)
            try await bob.joinsRoom("000000", as: "Bob")
            try await bob.shows("that it opens nothing") {
                try await bob.content(of: "#pane form").contains("That code doesn't open a room.")
            }
            try await bob.joinsRoom(code, as: "Bob")
            try await ann.isLinked(with: ["Bob"])
            try await bob.isLinked(with: ["Ann"])
            let number = try await ann.content(of: ".members .number")
            #expect(try await bob.content(of: ".members .number") == number)
            #expect(number.filter { !$0.isWhitespace }.count == 24)
            try await bob.saysInRoom("Hello there")
            try await ann.hears("Hello there", from: "Bob")
            try await bob.shows("who has it") {
                try await bob.texts(".room-said p").last?.hasSuffix("everybody has it") == true
            }
            // A picture in both directions.
            for page in [ann, bob] { try await page.browser.click("#camera") }
            for page in [ann, bob] {
                try await page.shows("a picture that moves", within: .seconds(60)) {
                    try await page.browser.value(
                        of: """
                            const videos = [...document.querySelectorAll(".stage video:not(.own)")];
                            return videos.some((video) => video.videoWidth > 0);
                            """) == .bool(true)
                }
            }
            try await AppCluster.look(ann, "room-light", axe)
            // Her voice is heard in another place of his window, too.
            try await ann.browser.click("#microphone")
            try await bob.browser.press("\u{E00C}")
            try await bob.shows("her sound", within: .seconds(60)) {
                try await bob.browser.value(
                    of: """
                        const isHeard = (each) => !each.paused && each.srcObject?.getAudioTracks().length > 0;
                        return window.sounds.some(isHeard);
                        """) == .bool(true)
            }
            #expect(try await bob.content(of: "#rooms") == "Rooms: in a room")
            try await bob.browser.click("#rooms")
            try await ann.shows("that it is on") { try await ann.content(of: "#rooms").hasSuffix("microphone on") }
            try await Self.aGuestComesAndGoes(ann, bob)
            // After a reload the seat is the same, and the connections are made anew.
            try await bob.browser.reload()
            try await bob.browser.keepFocus()
            try await bob.isLinked(with: ["Ann"])
            try await ann.isLinked(with: ["Bob"])
            try await ann.saysInRoom("Are you back?")
            try await bob.hears("Are you back?", from: "Ann")
            try await bob.browser.click("#leave-room")
            try await bob.shows("the way in") {
                try await bob.content(of: "#pane .care") == "You left the room."
            }
            try await ann.shows("that he left") {
                try await ann.texts(".room-said p.hint").last?.hasSuffix(" left.") == true
            }
            try await ann.browser.click("#close-room")
            try await ann.browser.click("#pane header .loud")
            try await ann.shows("the end") { try await ann.content(of: "#pane .care") == "The room was ended." }
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    /// By the link, with a browser alone.
    private static func aGuestComesAndGoes(_ ann: AppWindow, _ bob: AppWindow) async throws {
        try await Browser.open { third in
            let guest = try await JoinPage.open(in: third)
            try await guest.follow(try await ann.linkOfRoom)
            try await guest.isConnected(with: 2)
            try await guest.say("From a browser")
            for page in [ann, bob] { try await page.hears("From a browser", from: "Guest 3") }
            try await bob.saysInRoom("Welcome")
            try await guest.shows("a message") { try await guest.messages.last?.hasSuffix("Welcome") == true }
            try await third.click("#leave")
            for page in [ann, bob] { try await page.sees("Guest 3 left.") }
        }
    }
}

extension AppWindow {
    /// A script that keeps the sounds of a page in `window.sounds`.
    fileprivate static let keepingSounds = """
        window.sounds = [];
        const Own = Audio;
        window.Audio = function () { const one = new Own(); window.sounds.push(one); return one; };
        """

    /// - Returns: the room's code.
    fileprivate func opensRoom(as name: String) async throws -> String {
        try await self.browser.click("#rooms")
        try await self.browser.type(name, into: "form:has(#open-room) [name=name]")
        try await self.browser.click("#open-room")
        try await self.shows("the code") { try await self.browser.count(".room-code .code") == 1 }
        return try await self.content(of: ".room-code .code").filter(\.isNumber)
    }

    fileprivate var linkOfRoom: String {
        get async throws {
            func result(_ text: String) throws -> JSON? { try JSON(parsing: Array(text.utf8))["result"] }
            let values = try result(await self.ask("host_get"))?["values"]?.elements ?? []
            let id = try #require(values.first { $0["key"]?.string == "room" }?["value"]?.string)
            let room = try result(await self.ask("room_get", #"{"roomId":"\#(id)"}"#))?["room"]
            return try #require(room?["link"]?.string)
        }
    }

    fileprivate func joinsRoom(_ code: String, as name: String) async throws {
        try await self.browser.click("#rooms")
        try await self.browser.value(
            of: "document.querySelectorAll('form:has(#join-room) input').forEach((field) => { field.value = ''; })")
        try await self.browser.type(code, into: "[name=code]")
        try await self.browser.type(name, into: "form:has(#join-room) [name=name]")
        try await self.browser.click("#join-room")
    }

    /// Others are shown by the names that they give themselves, beside what the server vouches for.
    fileprivate func isLinked(with names: [String]) async throws {
        try await self.shows("connected with \(names)", within: .seconds(60)) {
            let rows = try await self.texts(".members .row").map { $0.replacing("✕", with: "") }
            return rows.count == names.count
                && zip(rows, names).allSatisfy { $0.hasPrefix("\($1) · WSP-") && $0.hasSuffix("connected") }
        }
    }

    fileprivate func saysInRoom(_ text: String) async throws {
        try await self.browser.type(text, into: "#room-text")
        try await self.browser.press("\u{E007}")
    }

    fileprivate func hears(_ text: String, from name: String) async throws {
        try await self.shows("\(name): \(text)") {
            try await self.texts(".room-said p").contains { $0.hasPrefix(name) && $0.contains(": \(text)") }
        }
    }

    fileprivate func sees(_ note: String) async throws {
        try await self.shows(note) { try await self.texts(".room-said p.hint").contains(note) }
    }
}
