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
            try await ann.hears("Bob: Hello there")
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
            // A guest comes by the link, with a browser alone.
            try await Browser.open { third in
                let guest = try await JoinPage.open(in: third)
                try await guest.follow(try await ann.linkOfRoom)
                try await guest.isConnected(with: 2)
                try await guest.say("From a browser")
                for page in [ann, bob] { try await page.hears("Guest 3: From a browser") }
                try await bob.saysInRoom("Welcome")
                try await guest.shows("a message") { try await guest.messages.last?.hasSuffix("Welcome") == true }
                try await third.click("#leave")
                for page in [ann, bob] { try await page.hears("Guest 3 left.") }
            }
            // After a reload the seat is the same, and the connections are made anew.
            try await bob.browser.reload()
            try await bob.browser.keepFocus()
            try await bob.isLinked(with: ["Ann"])
            try await ann.isLinked(with: ["Bob"])
            try await ann.saysInRoom("Are you back?")
            try await bob.hears("Ann: Are you back?")
            try await bob.browser.click("#leave-room")
            try await bob.shows("the way in") {
                try await bob.content(of: "#pane .care") == "You left the room."
            }
            try await ann.hears("Bob left.")
            try await ann.browser.click("#close-room")
            try await ann.browser.click("#pane header .loud")
            try await ann.shows("the end") { try await ann.content(of: "#pane .care") == "The room was ended." }
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }
}

extension AppWindow {
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

    fileprivate func isLinked(with names: [String]) async throws {
        try await self.shows("connected with \(names)", within: .seconds(60)) {
            try await self.texts(".members .row").map { $0.replacing("✕", with: "") } == names.map { "\($0)connected" }
        }
    }

    fileprivate func saysInRoom(_ text: String) async throws {
        try await self.browser.type(text, into: "#room-text")
        try await self.browser.press("\u{E007}")
    }

    fileprivate func hears(_ line: String) async throws {
        try await self.shows(line) { try await self.texts(".room-said p").contains { $0.hasPrefix(line) } }
    }
}
