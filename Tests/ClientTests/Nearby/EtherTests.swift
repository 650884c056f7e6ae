import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient

/// Links over a radio at a socket, in the air that `Tests/ClusterTests/Core/ether.py` plays.
@Suite(.serialized, .timeLimit(.minutes(20))) struct EtherTests {
    private static let hello = NearbyValue.bytes(Array("hello".utf8))

    /// Two links that know each other.
    private func pair(_ ether: Ether, _ names: [String] = ["Anna", "Bert"]) async throws -> [Phone] {
        let phones = names.map { Phone(ether, $0) }
        for phone in phones { try await phone.find(names.filter { $0 != phone.title }) }
        return phones
    }

    private func connected(_ phones: [Phone]) async throws {
        try await phones[0].connect(phones[1].title)
        for phone in phones { try await phone.connected(isOurs: true) }
    }

    @Test func valuesGoBothWays() async throws {
        let ether = try await Ether("--mtu", "512")
        let phones = try await self.pair(ether)
        try await self.connected(phones)
        let large = NearbyValue.bytes((0..<NearbyLimits.valueBytesMax).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for value in [Self.hello, large, .bytes([]), .text("plain")] {
            for (from, to) in [(phones[0], phones[1]), (phones[1], phones[0])] {
                try await from.send(value)
                #expect(try await to.received() == value)
            }
        }
        phones[1].link.disconnect(try phones[1].current())
        try await phones[0].wait { $0 == .disconnected(try! phones[0].peer("Bert"), .hungUp) }
        try await phones[1].ended(.closed)
        // A phone that was connected shows itself again.
        try await self.connected(phones)
        phones[0].link.disconnect(try phones[0].current())
        try await phones[0].ended(.closed)
        try await phones[1].ended(.hungUp)
    }

    @Test(arguments: [
        ["--mtu", "20", "--drop", "0.1"], ["--mtu", "23", "--unanswered", "0.1"], ["--duplicate", "0.3"],
        ["--full", "0.5"], ["--delay", "0.02"],
        ["--mtu", "100", "--drop", "0.1", "--unanswered", "0.1", "--full", "0.3"],
    ])
    func faultsAreMadeUpFor(faults: [String]) async throws {
        let ether = try await Ether(faults + ["--seed", "1"])
        let phones = try await self.pair(ether)
        try await self.connected(phones)
        for number in 0..<10 {
            let value = NearbyValue.bytes(Array(repeating: UInt8(number), count: 50 * number))
            for (from, to) in [(phones[0], phones[1]), (phones[1], phones[0])] {
                try await from.send(value)
                #expect(try await to.received() == value)
            }
        }
    }

    /// Both want each other at the same moment, with names that hold in both roles, or do not.
    @Test(arguments: [[], ["--two-names"]]) func ofTwoConnectionsOneStays(options: [String]) async throws {
        for round in 0..<5 {
            let ether = try await Ether(options + ["--delay", "0.01", "--seed", "\(round)"])
            let phones = try await self.pair(ether)
            for (one, other) in [(0, 1), (1, 0)] {
                phones[one].link.connect(try phones[one].peer(phones[other].title))
            }
            for phone in phones { try await phone.connected(isOurs: true) }
            try await ether.until { $0.connections == 1 }
            for (from, to) in [(phones[0], phones[1]), (phones[1], phones[0])] {
                try await from.send(Self.hello)
                #expect(try await to.received() == Self.hello)
            }
            #expect(try await ether.show().connections == 1)
            withExtendedLifetime(phones) {}
        }
    }

    @Test func aConnectionThatBreaksIsLost() async throws {
        let ether = try await Ether()
        let phones = try await self.pair(ether)
        try await self.connected(phones)
        try await ether.control(#"{"control":"disconnect"}"#)
        try await phones[0].ended(.lost)
        try await phones[1].ended(.hungUp)
        try await self.connected(phones)
        try await ether.control(#"{"control":"state","radio":"Bert","state":"off"}"#)
        try await phones[0].ended(.lost)
        try await phones[1].ended(.lost)
        try await phones[1].wait { $0 == .radio(.off) }
        try await ether.control(#"{"control":"state","radio":"Bert","state":"on"}"#)
        try await phones[1].wait { $0 == .radio(.on) }
        try await phones[1].find(["Anna"])
        try await self.connected(phones)
    }

    /// Without its chat a phone is none; without fragments it is not one of ours.
    @Test func aMissingCharacteristicCounts() async throws {
        let ether = try await Ether()
        let phones = try await self.pair(ether)
        try await ether.control(#"{"control":"missing","radio":"Bert","characteristics":["920D5472"]}"#)
        let bert = try phones[0].peer("Bert")
        phones[0].link.connect(bert)
        try await phones[0].wait { $0 == .disconnected(bert, .refused) }
        try await ether.control(#"{"control":"missing","radio":"Bert","characteristics":["920D5474"]}"#)
        phones[0].link.connect(bert)
        try await phones[0].connected(isOurs: false)
        try await phones[1].connected(isOurs: false)
        try await phones[1].send(.text("hi"))
        #expect(try await phones[0].received() == .text("hi"))
    }

    /// When the air dies, all is told, and the events end.
    @Test func theEndOfTheAirIsTheEndOfTheRadio() async throws {
        let ether = try await Ether()
        let phones = try await self.pair(ether)
        try await self.connected(phones)
        ether.end()
        for phone in phones {
            let rest = await phone.rest()
            #expect(rest.filter { if case .disconnected(_, .lost) = $0 { true } else { false } }.count == 1)
            #expect(rest.last == .radio(.off))
        }
        let late = Phone(ether, "Carl")
        #expect(await late.rest() == [.radio(.unsupported)])
    }

    /// Lines that are none, and one that is an event behind too many spaces.
    @Test(arguments: ["{}\n", "\n", "[1]\n", String(repeating: " ", count: NearbyLimits.lineBytesMax + 1)])
    func whatIsNoLineEndsTheRadio(text: String) async throws {
        let ether = try await Ether()
        let phones = try await self.pair(ether)
        let text = text.replacing("\n", with: "\\n")
        try await ether.control(#"{"control":"raw","radio":"Bert","text":"\#(text)"}"#)
        #expect(await phones[1].rest().last == .radio(.off))
        try await ether.until { $0.radios == 1 }
        try await ether.control(#"{"control":"kill","radio":"Anna"}"#)
        #expect(await phones[0].rest().last == .radio(.off))
    }

    @Test func aStoppedLinkIsGone() async throws {
        let ether = try await Ether()
        let phones = try await self.pair(ether)
        try await self.connected(phones)
        phones[0].link.stop()
        #expect(await phones[0].rest() == [.disconnected(try phones[0].peer("Bert"), .closed)])
        // Its radio goes right after it has hung up: either may be heard.
        try await phones[1].wait { if case .disconnected = $0 { true } else { false } }
        try await ether.until { $0.radios == 1 }
        // A link goes with the last who holds it.
        withExtendedLifetime(phones) {}
    }

    // MARK: A phone with BlueChat alone

    @Test func aBarePhoneChatsAsAPeripheral() async throws {
        let ether = try await Ether()
        let bare = try Bare(ether, "Bare")
        let anna = Phone(ether, "Anna")
        try await anna.find(["Bare"])
        for isOurEnd in [true, false] {
            try await anna.connect("Bare")
            #expect(try await bare.next("chat")["role"]?.string == "peripheral")
            try await anna.send(.text("grüezi"))
            #expect(try await bare.next("text")["text"]?.string == "grüezi")
            try bare.say("say hoi")
            #expect(try await anna.received() == .text("hoi"))
            anna.link.send(Self.hello, to: try anna.current(), token: 99)
            try await anna.wait { $0 == .sent(99, arrived: false) }
            if isOurEnd { anna.link.disconnect(try anna.current()) } else { try bare.say("leave") }
            try await anna.ended(isOurEnd ? .closed : .hungUp)
            _ = try await bare.next("over")
        }
    }

    @Test func aBarePhoneChatsAsACentral() async throws {
        let ether = try await Ether()
        let bare = try Bare(ether, "Bare")
        let anna = Phone(ether, "Anna")
        for isOurEnd in [true, false] {
            try bare.say("connect Anna")
            try await anna.connected(isOurs: false)
            #expect(try await bare.next("chat")["role"]?.string == "central")
            // It subscribes to the question to go after the chat: what is asked before is asked again.
            try bare.say("say hoi")
            #expect(try await anna.received() == .text("hoi"))
            try await anna.send(.text("grüezi"))
            #expect(try await bare.next("text")["text"]?.string == "grüezi")
            if isOurEnd { anna.link.disconnect(try anna.current()) } else { try bare.say("leave") }
            try await anna.ended(isOurEnd ? .closed : .hungUp)
            _ = try await bare.next("over")
        }
    }
}

// MARK: Processes

/// `ether.py`, which ends with this.
private final class Ether {
    let path: String
    private let folder: TemporaryFolder
    private let script: Script

    convenience init(_ options: String...) async throws { try await self.init(options) }

    init(_ options: [String]) async throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.path + "/air"
        self.script = try Script("ether", [self.path] + options)
        #expect(try await self.script.line()["ready"]?.string == self.path)
    }

    @discardableResult func control(_ line: String) async throws -> JSON {
        try self.script.say(line)
        return try await self.script.line()
    }

    func show() async throws -> (radios: Int, connections: Int) {
        let answer = try await self.control(#"{"control":"show"}"#)
        return (answer["radios"]?.elements.count ?? -1, answer["connections"]?.elements.count ?? -1)
    }

    /// Asks until it is so.
    func until(_ isSo: ((radios: Int, connections: Int)) -> Bool) async throws {
        while !isSo(try await self.show()) { try await Task.sleep(for: .milliseconds(10)) }
    }

    func end() { self.script.end() }
}

/// `bluechat.py`.
private final class Bare {
    private let script: Script

    init(_ ether: Ether, _ title: String) throws { self.script = try Script("bluechat", [ether.path, title]) }

    func say(_ line: String) throws { try self.script.say(line) }

    /// The next happening of a kind.
    func next(_ kind: String) async throws -> JSON {
        while true {
            let happening = try await self.script.line()
            if happening["event"]?.string == kind { return happening }
        }
    }
}

private final class Script {
    private struct Ended: Error {}

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var waiting: [UInt8] = []

    init(_ name: String, _ arguments: [String]) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "ClusterTests/Core")
        self.process.executableURL = URL(filePath: "/usr/bin/python3")
        self.process.arguments = ["-u", folder.appending(path: "\(name).py").path] + arguments
        self.process.standardInput = self.input
        self.process.standardOutput = self.output
        try self.process.run()
        let descriptor = self.output.fileHandleForReading.fileDescriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    deinit { self.end() }

    func end() {
        try? self.input.fileHandleForWriting.close()
        if self.process.isRunning { self.process.terminate() }
    }

    func say(_ line: String) throws { try self.input.fileHandleForWriting.write(contentsOf: Array((line + "\n").utf8)) }

    /// Waits for the next line, and holds no thread meanwhile.
    func line() async throws -> JSON {
        let descriptor = self.output.fileHandleForReading.fileDescriptor
        while true {
            if let end = self.waiting.firstIndex(of: UInt8(ascii: "\n")) {
                defer { self.waiting.removeFirst(end + 1) }
                return try JSON(parsing: Array(self.waiting[..<end]))
            }
            var more = [UInt8](repeating: 0, count: 4_096)
            let count = read(descriptor, &more, more.count)
            guard count < 0, errno == EAGAIN || errno == EINTR else {
                guard count > 0 else { throw Ended() }
                self.waiting += more.prefix(count)
                continue
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}

/// One link, and what it has told.
private final class Phone {
    private struct Ended: Error {}

    let title: String
    let link: any NearbyLink
    private var events: AsyncStream<NearbyEvent>.Iterator
    private var found: [String: NearbyPeer] = [:]
    /// With whom we are connected now.
    private var peer: NearbyPeer?
    private var values: [NearbyValue] = []
    private var token: UInt64 = 0

    init(_ ether: Ether, _ title: String) {
        self.title = title
        self.link = socketLink(path: ether.path)
        self.events = self.link.events.makeAsyncIterator()
        self.link.start(title: title)
    }

    func peer(_ title: String) throws -> NearbyPeer { try #require(self.found[title]) }
    func current() throws -> NearbyPeer { try #require(self.peer) }

    private func next() async throws -> NearbyEvent {
        guard let event = await self.events.next() else { throw Ended() }
        switch event {
        case .found(let peer, let title, _): self.found[title] = peer
        case .lost(let peer): self.found = self.found.filter { $0.value != peer }
        case .connected(let peer, _): self.peer = peer
        case .disconnected(let peer, _): if peer == self.peer { self.peer = nil }
        case .received(_, let value): self.values.append(value)
        case .radio, .sent: break
        }
        return event
    }

    func wait(_ isIt: (NearbyEvent) -> Bool) async throws { while !isIt(try await self.next()) {} }

    func rest() async -> [NearbyEvent] {
        var rest: [NearbyEvent] = []
        while let event = try? await self.next() { rest.append(event) }
        return rest
    }

    func find(_ titles: [String]) async throws {
        while !titles.allSatisfy({ self.found[$0] != nil }) { _ = try await self.next() }
    }

    /// Tries until it is connected: whoever was in a chat shows itself a moment later.
    func connect(_ title: String) async throws {
        while self.peer == nil {
            self.link.connect(try self.peer(title))
            try await self.wait {
                switch $0 {
                case .connected, .disconnected: true
                case .radio, .found, .lost, .received, .sent: false
                }
            }
        }
    }

    func connected(isOurs: Bool) async throws {
        if self.peer != nil { return }
        try await self.wait { if case .connected(_, isOurs) = $0 { true } else { false } }
    }

    func ended(_ end: NearbyEnd) async throws {
        try await self.wait { if case .disconnected(_, end) = $0 { true } else { false } }
    }

    /// Sends, and waits until the other has it. A connection that gave way is not the last word.
    func send(_ value: NearbyValue) async throws {
        while true {
            try await self.connected(isOurs: true)
            self.token += 1
            let token = self.token
            self.link.send(value, to: try self.current(), token: token)
            var hasArrived: Bool?
            while hasArrived == nil { if case .sent(token, let fate) = try await self.next() { hasArrived = fate } }
            if hasArrived == true { return }
        }
    }

    func received() async throws -> NearbyValue {
        while self.values.isEmpty { _ = try await self.next() }
        return self.values.removeFirst()
    }
}
