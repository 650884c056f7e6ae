import Contract
import Foundation
import LocalStack
import TestKit
import Testing

@testable import WhisperClient

extension CalmCluster {
    /// Contract §14 with the program that people use: one whispers, others listen.
    @Suite(.timeLimit(.minutes(20))) struct LiveTerminals {
        @Test func whatIsSaidArrivesUntilSomebodyIsRemoved() async throws {
            let room = try await LiveRoom("anna", "bert", "carl")
            defer { room.folder.remove() }
            let anna = try await TerminalProcess.start(
                room.folder, "anna", "whisper", "talk", "--title", "Tea", "--as", "Anna", "--passcode", "sesame")
            let link = try await room.link(of: anna)
            try await anna.prints("● You are live.")

            let wrong = try await TerminalProcess.start(
                room.folder, "bert", "listen", link, "--name", "Bert", "--passcode", "guess")
            try await wrong.prints("The passcode is wrong.")
            #expect(await !wrong.end())

            let bert = try await TerminalProcess.start(
                room.folder, "bert", "listen", link, "--name", "Bert", "--passcode", "sesame")
            try await bert.prints("Tea, whispered by Anna. Lines are not kept.")
            try await bert.prints("● Connected.")
            let carl = try await TerminalProcess.start(
                room.folder, "carl", "listen", link, "--name", "Carl", "--passcode", "sesame")
            try await carl.prints("● Connected.")
            try await anna.prints("+ Carl listens (2 listen).")
            for line in ["one", "two 👩‍👩‍👧", "//three", "four"] { anna.types(line) }
            try await bert.prints("four")
            try await carl.prints("four")
            let said = ["one", "two 👩‍👩‍👧", "/three", "four"]
            #expect(bert.lines.suffix(4) == said[...] && carl.lines.suffix(4) == said[...])

            anna.types("/remove Bert")
            try await bert.prints("Anna removed you.")
            #expect(await !bert.end())
            try await anna.prints("New keys are in use (number 2).")
            anna.types("between us")
            try await carl.prints("between us")
            #expect(!bert.lines.contains("between us"))
            // Whoever was removed may knock again.
            let again = try await TerminalProcess.start(
                room.folder, "bert", "listen", link, "--name", "Bert", "--passcode", "sesame", "--once")
            try await again.prints("● Connected.")
            anna.types("/who")
            try await anna.prints("● Bert (WSP-")

            try anna.endsInput()
            #expect(await anna.end())
            try await carl.prints("Anna has ended.")
            #expect(await again.end())
            #expect(await carl.interrupt())
        }

        @Test func theWhispererDecidesAboutWhoKnocks() async throws {
            let room = try await LiveRoom("anna", "bert", "carl")
            defer { room.folder.remove() }
            let anna = try await TerminalProcess.start(room.folder, "anna", "live", "talk")
            let link = try await room.link(of: anna)
            let bert = try await TerminalProcess.start(room.folder, "bert", "listen", link, "--name", "Bert")
            try await bert.prints("○ Waiting for")
            try await anna.prints("? Bert asks to listen")
            let carl = try await TerminalProcess.start(room.folder, "carl", "listen", link, "--name", "Carl")
            try await anna.prints("? Carl asks to listen")
            anna.types("/decline Carl")
            try await carl.prints("does not let you in.")
            anna.types("/accept")
            try await bert.prints("● Connected.")
            anna.types("hello")
            try await bert.prints("hello")
            anna.types("/block Bert")
            try await bert.prints("removed you.")
            let blocked = try await TerminalProcess.start(room.folder, "bert", "listen", link, "--name", "Bert")
            try await blocked.prints("does not let you knock.")
            for process in [anna, bert, carl, blocked] { await process.kill() }
        }

        /// The stream is taken up where it was, and the listener need not ask again.
        @Test func aWhispererThatWasKilledGoesOn() async throws {
            let room = try await LiveRoom("anna", "bert")
            defer { room.folder.remove() }
            var anna = try await TerminalProcess.start(
                room.folder, "anna", "whisper", "talk", "--admission", "link")
            let link = try await room.link(of: anna)
            let bert = try await TerminalProcess.start(room.folder, "bert", "listen", link, "--name", "Bert")
            try await bert.prints("● Connected.")
            anna.types("before")
            try await bert.prints("before")
            await anna.kill()
            anna = try await TerminalProcess.start(room.folder, "anna", "whisper", "talk")
            #expect(try await room.link(of: anna) == link)
            try await anna.prints("● The stream goes on.")
            anna.types("after")
            try await bert.prints("after")
            #expect(bert.lines.filter { $0 == "before" || $0 == "after" } == ["before", "after"])
            #expect(!bert.lines.contains { $0.contains("missing") })
            for process in [anna, bert] { await process.kill() }
        }

        /// Contract §14.6, §14.11: the link is changed, lines are shared and taken back, and all of it ends.
        @Test func aConversationIsChangedSharedAndDeleted() async throws {
            let room = try await LiveRoom("anna", "bert")
            defer { room.folder.remove() }
            let anna = try await TerminalProcess.start(
                room.folder, "anna", "whisper", "talk", "--title", "Tea", "--as", "Anna", "--admission", "link",
                "--keep", "30")
            let link = try await room.link(of: anna)
            try await anna.prints("● You are live.")
            for line in ["one", "two"] { anna.types(line) }
            try anna.endsInput()
            #expect(await anna.end())

            try await room.says("talk (Tea): nobody whispers, link, lines are kept for 30 d", "list")
            let listed = try await room.says(", 2 lines, kept until ", "transcripts", "talk")
            let shared = try await room.says("Link: ", "share", "talk", "--days", "1")
            let share = try SharedTranscript(link: String(shared.dropFirst("Link: ".count)))
            let read = try await share.read()
            #expect(listed.hasPrefix("\(read.content) ") && read.title == "Tea" && read.lines == ["one", "two"])

            let changed = try await room.says(
                "Link: ", "update", "talk", "--title", "Coffee", "--new-link", "--keep", "0")
            let old = try await TerminalProcess.start(room.folder, "bert", "listen", link, "--name", "Bert")
            try await old.prints("This link is incomplete or has expired.")
            #expect(await !old.end())
            let next = String(changed.dropFirst("Link: ".count))
            let bert = try await TerminalProcess.start(room.folder, "bert", "listen", next, "--name", "Bert")
            try await bert.prints("Coffee, whispered by Anna. Lines are not kept.")
            try await bert.prints("○ Waiting for Anna")

            try await room.does("unshare", "talk", share.id)
            #expect(try await share.isGone)
            let again = try SharedTranscript(
                link: String(try await room.says("Link: ", "share", "talk").dropFirst("Link: ".count)))
            #expect(try await again.read().title == "Coffee")
            try await room.does("delete-transcript", "talk", share.content)
            #expect(try await again.isGone)
            try await room.says("The server keeps no line of it.", "transcripts", "talk")
            try await room.does("delete", "talk")
            try await bert.prints("The conversation is no more.")
            #expect(await !bert.end())
            try await room.says("You have no conversation.", "list")
        }
    }
}

/// A transcript as whoever has its link reads it.
private final class SharedTranscript {
    let id: String
    private let keys: ShareKeys
    private(set) var content = ""

    init(link: String) throws {
        let halves = link.split(separator: "#")
        self.id = String(try #require(halves.first?.split(separator: "/").last))
        let secret = try #require(halves.last.flatMap { Base64URL.decode($0) })
        self.keys = ShareKeys(secret: SecretBytes(secret))
    }

    private func open() async throws -> HTTPCall.Answer {
        let body = Person.versions.with(["shareProof": self.keys.proof.base64])
        return try await HTTPCall(
            "POST", Cluster.stack.publicURL + "/live/shares/\(self.id)", headers: ["Content-Type": "application/json"],
            body: Array(body.json.text.utf8)
        ).answer()
    }

    var isGone: Bool { get async throws { try await self.open().status == 404 } }

    func read() async throws -> (content: String, title: String?, lines: [String]) {
        let answer = try await self.open().json
        let conversation = try #require(ConversationID(answer["conversationId"]?.string ?? ""))
        self.content = try #require(answer["contentId"]?.string)
        let content = try #require(UUIDText(self.content))
        let place = LiveSeals.share(conversation, content: content)
        let opened = try #require(Self.sealed(answer).open(key: self.keys.sealKey, vouchingFor: place))
        let words = try JSON(parsing: opened)
        let lines = try answer["lines"]?.elements.map { line in
            let generation = Int(line["generation"]?.integer ?? 0)
            let header = LivePacketHeader(
                conversation: conversation,
                position: LivePosition(epoch: line["epoch"]?.integer ?? 0, seq: line["seq"]?.integer ?? 0), kind: .line,
                line: Int(line["line"]?.integer ?? 0), generation: generation, to: nil)
            let key = try #require(Base64.decode(words["lineKeys"]?["\(generation)"]?.string ?? ""))
            let plain = try #require(
                Self.sealed(line).open(key: SecretBytes(key), vouchingFor: LiveSeals.packet(header)))
            // "-2|line"
            return String(try JSON(parsing: plain)["p"]?[0]?.string?.dropFirst(3) ?? "")
        }
        return (self.content, words["conversation"]?.string, lines ?? [])
    }

    private static func sealed(_ json: JSON) -> SealedBytes {
        SealedBytes(
            nonce: Base64.decode(json["nonce"]?.string ?? "") ?? [],
            ciphertext: Base64.decode(json["ciphertext"]?.string ?? "") ?? [])
    }
}

extension MistreatedCluster {
    /// Contract §14.12: every line once, whichever gateway dies, the listener's or the whisperer's. One that was lost with a
    /// gateway comes later than those behind it, and says its number.
    @Test(.timeLimit(.minutes(20))) func everyLineIsReadOnceThoughGatewaysDie() async throws {
        try await Cluster.calm()
        let room = try await LiveRoom("anna", "bert")
        defer { room.folder.remove() }
        let anna = try await TerminalProcess.start(room.folder, "anna", "whisper", "talk", "--admission", "link")
        let link = try await room.link(of: anna)
        let bert = try await TerminalProcess.start(room.folder, "bert", "listen", link, "--name", "Bert")
        try await bert.prints("● Connected.")
        var said: [String] = []
        func say(_ line: String) async throws {
            said.append(line)
            anna.types(line)
            // As people type: lines are under way when the gateway dies.
            try await Task.sleep(for: .milliseconds(100))
        }
        for gateway in [1, 2] {
            for number in 0..<10 { try await say("line \(gateway) before \(number)") }
            await Cluster.stack.kill(.gateway(gateway))
            for number in 0..<10 { try await say("line \(gateway) after \(number)") }
            try await Cluster.stack.start(.gateway(gateway))
            try await bert.prints("line \(gateway) after 9", within: .seconds(40))
            // The balancer has both again.
            try await Cluster.calm()
        }
        // A line that was lost with a gateway is sent again, and may come after the last one that was typed.
        func read() -> [Substring] {
            bert.lines.compactMap { $0.firstMatch(of: /^(?:… line \d+: )?(line . (?:before|after) .)$/)?.1 }
        }
        try await waitUntil("every line is read", within: .seconds(40)) { read().count >= said.count }
        // Behind every copy that is still under way.
        anna.types("that was all")
        try await bert.prints("that was all")
        #expect(read().sorted() == said.map { $0[...] }.sorted())
        let inTime = bert.lines.filter { $0.hasPrefix("line ") }
        #expect(inTime == said.filter { inTime.contains($0) })
        #expect(!bert.lines.contains { $0.contains("missing") })
        for process in [anna, bert] { await process.kill() }
    }
}

/// People with a profile each, on one machine.
private struct LiveRoom {
    let folder: TemporaryFolder

    init(_ people: String...) async throws {
        self.folder = try TemporaryFolder(named: "live")
        let server = "ws://127.0.0.1:\(Cluster.stack.ports.public)"
        for name in people {
            let program = "\(Cluster.stack.configuration.programs)/whisper"
            try await Command(
                program, ["init", "--profile", name, "--server", server],
                environment: ["WHISPER_HOME": self.folder.path + "/home"]
            ).run(name: "whisper init")
        }
    }

    /// Anna's `whisper conversation` with these arguments.
    /// - Returns: the line that has `words` in it.
    @discardableResult
    func says(_ words: String, _ arguments: String...) async throws -> String {
        let program = try await TerminalProcess.start(self.folder, "anna", ["conversation"] + arguments)
        let line = try await program.prints(words)
        #expect(await program.end())
        return line
    }

    func does(_ arguments: String...) async throws {
        let program = try await TerminalProcess.start(self.folder, "anna", ["conversation"] + arguments)
        #expect(await program.end())
    }

    func link(of whisperer: TerminalProcess) async throws -> String {
        let link = try await whisperer.prints("/listen/")
        #expect(link.hasPrefix("http"), "the link is not alone on its line: \(link)")
        return link
    }
}
