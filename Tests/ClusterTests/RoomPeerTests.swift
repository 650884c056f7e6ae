import Foundation
import Glibc
import LocalStack
import TestKit
import Testing

/// Rooms with a real WebRTC stack beside the terminal client, over a real relay and no other way (contract §15, §17.2).
@Suite(.serialized, .cluster { $0.hasRelay = true }, .timeLimit(.minutes(20)))
struct MeetingCluster {
    @Test func twoPeersChatThroughTheRelay() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let anna = try await meeting.peer("anna", "create")
        let code = try await anna.word(after: "code ")
        #expect(code.count == 6)
        let bert = try await meeting.peer("bert", "join", code)
        // The one with the lower seat has made the offer; channel and path are as the contract wants them.
        for peer in [anna, bert] { try await peer.prints("linked 1 chat True relay-relay") }
        try await anna.prints("offer 1 ")
        try await bert.prints("answer 1 ")
        #expect(!bert.lines.contains { $0.hasPrefix("offer ") })
        let number = try await anna.word(after: "safety ")
        #expect(try await bert.word(after: "safety ") == number && number.count == 24)
        try await meeting.expectTalk(anna, bert)

        anna.says("/leave")
        // Told by `bye`, before the seat is given up.
        try await bert.prints("drop 1")
        let own = try await bert.word(after: "own ")
        try await bert.prints("host \(own)")
        try await anna.prints("ended 0")
        #expect(!bert.lines.contains { $0.hasPrefix("error") } && !anna.lines.contains { $0.hasPrefix("error") })
    }

    /// By link, in a room of three: each pair has its own connection, with the link's secret in its keys.
    @Test func threePeersAreAMesh() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let anna = try await meeting.peer("anna", "create", "--participants", "3")
        let link = try await anna.word(after: "link ")
        let bert = try await meeting.peer("bert", "join", link)
        try await bert.prints("linked 1 ")
        let carl = try await meeting.peer("carl", "join", link)
        for peer in [anna, bert, carl] {
            try await peer.prints("linked 2 ")
            try await peer.prints("linked 1 ")
        }
        anna.says("to all")
        for peer in [bert, carl] { try await peer.prints("heard to all") }
        carl.says("of carl")
        for peer in [anna, bert] { try await peer.prints("heard of carl") }
    }

    /// Two implementations of the contract: the page in Chromium, and the terminal's client with a stack beside it.
    @Test(arguments: ["page", "terminal"]) func aBrowserAndAPeerTalk(first: String) async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        try await Browser.open { browser in
            let page = try await JoinPage.open("/join?relay", in: browser)
            try await page.reaches("entry")
            let peer: Peer
            if first == "page" {
                peer = try await meeting.peer("anna", "join", try await page.create().link)
            } else {
                peer = try await meeting.peer("anna", "create")
                try await page.follow(try await peer.word(after: "link "))
            }
            try await page.isConnected(with: 1)
            try await peer.prints("linked 1 ")
            // Only the participant with the lower seat sends an offer.
            let kinds = peer.lines.map { $0.prefix { $0 != " " } }.filter { ["offer", "answer"].contains($0) }
            #expect(kinds == [first == "page" ? "answer" : "offer"])
            let number = try await peer.word(after: "safety ")
            #expect(try await page.numbers.values.map { $0.filter { $0 != " " } } == [number])
            let seat = first == "page" ? 2 : 1
            #expect(try await page.content(of: "#people [data-seat=\"\(seat)\"] small") == "came by the link")
            try await page.say("from the page")
            try await peer.prints("heard from the page")
            try await page.shows(deliveries: ["everybody"])
            peer.says("from the peer")
            try await page.shows(messages: ["You: from the page", "Person \(seat): from the peer"])
            try await peer.prints("state got ")
        }
    }

    /// A page and a terminal, one of which is still connecting, or knows the channel `chat` alone.
    @Test(arguments: [false, true]) func aPageAndATerminalSeeWhoHasWhat(isPlain: Bool) async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        try await Browser.open { browser in
            let page = try await JoinPage.open("/join?relay", in: browser)
            try await page.reaches("entry")
            let peer = try await meeting.peer("anna", isPlain: isPlain, "create", "--name", "Anna")
            if !isPlain { peer.says("/hold") }
            try await page.follow(try await peer.word(after: "link "))
            if isPlain {
                try await page.isConnected(with: 1)
            } else {
                try await page.shows("somebody who connects") {
                    try await browser.count("#people [data-state=connecting]") == 1
                }
            }
            for text in ["one", "two"] { try await page.say(text) }
            if !isPlain {
                try await page.shows(deliveries: ["not yet: Person 1", "not yet: Person 1"])
                peer.says("before")
                peer.says("/release")
                try await peer.prints("state waiting ")
            }
            for text in ["one", "two"] { try await peer.prints("heard \(text)") }
            let delivery = isPlain ? "sent, without a receipt: Person 1" : "everybody"
            try await page.shows("its deliveries") {
                try await page.deliveries.allSatisfy { $0.hasPrefix(delivery) || $0 == "everybody" }
            }
            if isPlain {
                peer.says("after")
                try await page.shows(messages: ["You: one", "You: two", "Person 1: after"])
            } else {
                try await page.shows(messages: ["You: one", "You: two", "Anna (Person 1): before"])
                try await peer.prints("state got ")
                // Over another connection nothing comes twice.
                peer.says("/fail")
                try await peer.prints("linked 2 ", within: JoinPage.threeAttempts)
                peer.says("again")
                try await page.shows("the message") { try await page.messages.last == "Anna (Person 1): again" }
                #expect(try await page.messages.count == 4)
                #expect(peer.lines.count { $0.hasPrefix("heard ") } == 2)
            }
        }
    }

    @Test func theChannelOutlivesItsGateways() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let (anna, bert) = try await meeting.linked()
        await Cluster.stack.kill(.gateway(1))
        await Cluster.stack.kill(.gateway(2))
        for peer in [anna, bert] { try await peer.prints("offline") }
        try await meeting.expectTalk(anna, bert)
        for gateway in [1, 2] { try await Cluster.stack.start(.gateway(gateway)) }
        for peer in [anna, bert] { try await peer.prints("online again", within: .seconds(60)) }
        try await meeting.expectTalk(anna, bert)
        #expect(!anna.lines.contains { $0.hasPrefix("lost") } && !bert.lines.contains { $0.hasPrefix("lost") })
        // Signalling is back by itself: a connection that breaks now is made anew.
        anna.says("/fail")
        try await anna.prints("lost 1")
        for peer in [anna, bert] { try await peer.prints("linked 2 ", within: .seconds(90)) }
        try await meeting.expectTalk(anna, bert)
    }

    @Test func anOfferOutlivesCalls() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let (anna, bert) = try await meeting.linked()
        await Cluster.stack.kill(.calls(1))
        anna.says("/fail")
        try await anna.prints("offer 2 ")
        // It is out, and nobody takes it.
        #expect(!bert.lines.contains { $0.hasPrefix("answer 2 ") })
        try await Cluster.stack.start(.calls(1))
        for peer in [anna, bert] { try await peer.printsMatch(#/linked [2-9] /#, within: .seconds(120)) }
        try await meeting.expectTalk(anna, bert)
    }

    /// The room goes while nobody can tell its participants.
    @Test func whoeverMissedTheEndHearsOfIt() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let anna = try await meeting.peer("anna", "create")
        try await Cluster.endUntold(room: try await anna.word(after: "roomId "))
        try await anna.prints("ended ", within: .seconds(60))
    }

    /// 15 s after its connection somebody is away, and keeps its seat and its channel.
    @Test(.long) func theChannelOutlivesACutNetwork() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let gateway = try #require(Cluster.stack.ports[.gateway, 2]?.http)
        try await meeting.makeProfile("dora", server: "ws://127.0.0.1:\(gateway)")
        let anna = try await meeting.peer("anna", "create")
        let dora = try await meeting.peer("dora", "join", try await anna.word(after: "code "))
        for peer in [anna, dora] { try await peer.prints("linked 1 ") }
        await Cluster.stack.kill(.gateway(2))
        let id = try await dora.word(after: "own ")
        try await anna.prints("event away \(id)", within: .seconds(60))
        try await meeting.expectTalk(anna, dora)
        try await Cluster.stack.start(.gateway(2))
        try await anna.prints("event back \(id)", within: .seconds(60))
        try await meeting.expectTalk(anna, dora)
        for peer in [anna, dora] { #expect(!peer.lines.contains { $0.hasPrefix("lost") || $0.hasPrefix("linked 2") }) }
    }

    /// Contract §15.4: after five minutes without its host the room is handed over, and the seat stays.
    @Test func theRoomOutlivesAHostThatVanishes() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let (anna, bert) = try await meeting.linked()
        let (host, guest) = (try await anna.word(after: "own "), try await bert.word(after: "own "))
        let room = try await anna.word(after: "roomId ")
        anna.says("/vanish")
        try await anna.prints("ended -9")
        try await bert.prints("event away \(host)", within: .seconds(60))
        #expect(!bert.lines.contains { $0 == "host \(guest)" })
        // Nobody waits for five minutes here. The owner reads the room anew and finds that they have passed.
        _ = try await Cluster.database(
            "UPDATE calls.room_participants SET away_since = away_since - interval '5 minutes' WHERE room_id = '\(room)'"
        )
        try await Cluster.stack.restart(.calls(1))
        try await bert.prints("event host \(guest)", within: .seconds(60))
        try await bert.prints("host \(guest)")

        // Back to its seat, with nothing but the room's id. The other one still has half a connection, or has noticed.
        let again = try await meeting.peer("anna", "join", room)
        try await bert.prints("event back \(host)", within: .seconds(60))
        try await again.prints("linked ", within: .seconds(90))
        try await bert.prints("linked 2 ", within: .seconds(90))
        #expect(try await again.word(after: "own ") == host)
        try await meeting.expectTalk(again, bert)
    }

    @Test func ofTwoWithOneCodeOneComesIn() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let anna = try await meeting.peer("anna", "create")
        let code = try await anna.word(after: "code ")
        let others = [try await meeting.peer("bert", "join", code), try await meeting.peer("carl", "join", code)]
        try await waitUntil("both know", within: .seconds(60)) {
            others.count { $0.lines.contains { $0.hasPrefix("linked 1 ") } } == 1
                && others.count { $0.lines.contains("ended 1") } == 1
        }
        try await anna.prints("linked 1 ")
        #expect(anna.lines.count { $0.hasPrefix("linked") } == 1)
    }

    /// Without a stack: who comes and goes, the code, the safety number; and what else can be asked.
    @Test func peopleSeeWhoComesAndGoes() async throws {
        let meeting = try await Meeting()
        defer { meeting.folder.remove() }
        let anna = try await TerminalProcess.start(meeting.folder, "anna", "room", "create", "--participants", "3")
        let code = try await anna.prints("Code: ").dropFirst("Code: ".count)
        let room = String(try await anna.prints("Room: ").dropFirst("Room: ".count))
        let bert = try await TerminalProcess.start(meeting.folder, "bert", "room", "join", String(code))
        let came = try await anna.prints(" has come in.")
        let id = came.dropFirst(2).prefix { $0 != " " }
        let number = try await anna.prints("Safety number with \(id): ").split(separator: " ").last
        #expect(try await bert.prints("Safety number with ").split(separator: " ").last == number)
        #expect(await bert.interrupt())
        try await anna.prints("- \(id) left.")
        #expect(await anna.interrupt())
        let listed = try await TerminalProcess.start(meeting.folder, "anna", "room", "list")
        // The last one's leaving has ended it.
        try await listed.prints("You have a seat in no room.")
        let lost = try await TerminalProcess.start(meeting.folder, "bert", "room", "join", room)
        try await lost.prints("That code doesn't open a room.")
    }
}

/// People with a profile each, on one machine, and WebRTC stacks for them.
private struct Meeting {
    private static let here = URL(filePath: #filePath).deletingLastPathComponent()
    private static let python = here.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: ".build/webrtc/bin/python3").path
    private static var program: String { "\(Cluster.stack.configuration.programs)/whisper" }

    let folder: TemporaryFolder

    init() async throws {
        try #require(
            FileManager.default.isExecutableFile(atPath: Self.python), "deploy/install-python-tools.sh installs it")
        self.folder = try TemporaryFolder(named: "meeting")
        for name in ["anna", "bert", "carl"] {
            try await self.makeProfile(name, server: "ws://127.0.0.1:\(Cluster.stack.ports.public)")
        }
    }

    func makeProfile(_ name: String, server: String) async throws {
        try await Command(
            Self.program, ["init", "--profile", name, "--server", server],
            environment: ["WHISPER_HOME": self.folder.path + "/home"]
        ).run(name: "whisper init")
    }

    /// - Parameter words: of `whisper room`.
    func peer(_ name: String, isPlain: Bool = false, _ words: String...) async throws -> Peer {
        let script = Self.here.appending(path: "WebRTC/peer.py").path
        return try await Peer.start(
            self.folder, Self.python,
            [script] + (isPlain ? ["--plain"] : []) + [Self.program, "room"] + words + ["--profile", name, "--signals"])
    }

    func linked() async throws -> (Peer, Peer) {
        let anna = try await self.peer("anna", "create")
        let bert = try await self.peer("bert", "join", try await anna.word(after: "code "))
        for peer in [anna, bert] { try await peer.prints("linked 1 ") }
        return (anna, bert)
    }

    /// A text goes each way.
    func expectTalk(_ one: Peer, _ other: Peer) async throws {
        for (speaker, listener) in [(one, other), (other, one)] {
            let text = "text \(newUUID())"
            speaker.says(text)
            try await listener.prints("heard \(text)")
        }
    }
}

/// `peer.py` as it runs: its standard input is a pipe that the test holds.
private struct Peer {
    private let process: ChildProcess
    private let pipe: FileHandle
    private let log: String

    static func start(_ folder: TemporaryFolder, _ python: String, _ words: [String]) async throws -> Self {
        let name = folder.path + "/\(newUUID())"
        let (pipe, log) = (name + ".in", name + ".out")
        try #require(mkfifo(pipe, 0o600) == 0)
        // For both directions: opening does not wait for the program.
        let handle = try #require(FileHandle(forUpdatingAtPath: pipe))
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let process = try await ChildProcess.start(
            Command(
                "/bin/sh", ["-c", "exec \"$0\" \"$@\" < '\(pipe)'", python] + words,
                environment: ["WHISPER_HOME": folder.path + "/home", "PYTHONDONTWRITEBYTECODE": "1"], log: log),
            name: "peer.py")
        return Self(process: process, pipe: handle, log: log)
    }

    var lines: [String] {
        (try? String(contentsOfFile: self.log, encoding: .utf8))?.split(separator: "\n").map { String($0) } ?? []
    }

    func says(_ line: String) { self.pipe.write(Data((line + "\n").utf8)) }

    /// Waits for a line that begins so.
    @discardableResult
    func prints(_ text: String, within timeout: Duration = .seconds(45)) async throws -> String {
        try await self.waits("\"\(text)\"", within: timeout) { line in line.hasPrefix(text) }
    }

    func printsMatch(_ pattern: some RegexComponent, within timeout: Duration) async throws {
        try await self.waits("a line", within: timeout) { line in line.prefixMatch(of: pattern) != nil }
    }

    @discardableResult
    private func waits(_ what: String, within timeout: Duration, _ isIt: (String) -> Bool) async throws -> String {
        do {
            try await waitUntil("\(what) is printed", within: timeout, every: .milliseconds(50)) {
                self.lines.contains(where: isIt)
            }
        } catch {
            Issue.record("\(what) is not in \(self.lines)")
            throw error
        }
        return self.lines.first(where: isIt)!
    }

    func word(after text: String) async throws -> String {
        String(try await self.prints(text).dropFirst(text.count))
    }
}
