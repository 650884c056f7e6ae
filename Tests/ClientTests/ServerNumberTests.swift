import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// A hostile server cannot end the client's process with a number (contract §13b): every number of every frame, at and beyond
/// its bounds.
@Suite(.timeLimit(.minutes(20))) struct ServerNumberTests {
    private static let types = ServerFrameCatalogue.all.map(\.type)

    /// The bounds of each field that some frame has, and the numbers just beyond them.
    static let numbers: [Int64] = {
        var numbers: Set<Int64> = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
        for bound in [
            Limits.timestamps.upperBound, Limits.numberMax, Int64(Int32.max), Limits.retryAfterMillisecondsMax,
            Limits.turnSecondsMax,
        ] {
            numbers.formUnion([bound - 1, bound, bound + 1])
        }
        return numbers.sorted()
    }()

    /// Nobody has asked for it.
    @Test(arguments: Self.types)
    func aFrameOutOfNowhere(type: String) async throws {
        let engine = try EngineTests()
        let alice = try engine.client("alice", aliceWords)
        let samples = try #require(ServerFrameCatalogue.frame(of: type)).definition.samples
        try await engine.running([alice]) {
            await engine.online(alice)
            engine.server.set { $0.numbers = Self.numbers }
            let events = await alice.events()
            for sample in samples { engine.server.tell(type, sample, to: "\(aliceWords.id)") }
            engine.server.set { $0.isAway = true }
            engine.server.breakConnections()
            // All that came before has been taken then.
            await engine.wait(alice, for: events) { event in
                switch event {
                case .connection(.away), .connection(.stopped): true
                default: false
                }
            }
        }
        let varies = samples.contains { !FakeServer.variants(of: $0, numbers: [.min]).isEmpty }
        // Answers to the login may still be on their way, and vary too.
        if varies { #expect(await alice.refusedFrames > 0) }
    }

    /// Answers and news of people who talk, call and meet. Wrong ones within the bounds are taken, so nothing else is sure.
    @Test func theFramesOfAConversation() async throws {
        let hosts = try CoreHosts()
        let (ann, bob) = (try await hosts.online("ann"), try await hosts.online("bob"))
        let (annID, bobID) = (try await ann.id, try await bob.id)
        _ = try await ann.ask(#"contact_add {"whisperId":"\#(bobID)"}"#)
        _ = try await bob.ask(#"contact_add {"whisperId":"\#(annID)"}"#)
        hosts.server.set { $0.numbers = Self.numbers }
        for (host, command) in [
            (ann, "room_create"), (bob, #"room_join {"code":"402917"}"#), (ann, "room_list"), (ann, "call_turn"),
            (ann, #"group_create {"title":"Us","members":["\#(bobID)"]}"#),
            (ann, #"call_start {"chat":"\#(bobID)","sdp":"v=0","isVideo":false}"#),
            (ann, #"typing {"chat":"\#(bobID)","isTyping":true}"#),
            (ann, #"message_send {"to":"\#(bobID)","text":"hello"}"#), (bob, "room_list"), (ann, "live_list"),
        ] {
            guard let request = try JSON(parsing: Array(await host.core.perform(command).utf8))["result"]?["request"]
            else { continue }
            try await host.next("answer") { $0["request"] == request }
        }
        for host in [ann, bob] {
            let status = try await host.perform("session_status")
            #expect(try #require(status["refusedFrames"]?.integer) > 0)
            await host.core.close()
        }
    }
}

extension FakeServer {
    /// The payload with each of its numbers at each of those that were ordered.
    func hostile(_ payload: String) -> [String] {
        Self.variants(of: payload, numbers: self.state.withLock { $0.faults.numbers })
    }

    static func variants(of payload: String, numbers: [Int64]) -> [String] {
        guard !numbers.isEmpty, let json = try? JSON(parsing: Array(payload.utf8)) else { return [] }
        return Self.variants(of: json, numbers: numbers).map(\.text)
    }

    private static func variants(of json: JSON, numbers: [Int64]) -> [JSON] {
        switch json {
        case .integer: numbers.map { .integer($0) }
        case .array(let elements):
            elements.indices.flatMap { place in
                Self.variants(of: elements[place], numbers: numbers).map { variant in
                    var elements = elements
                    elements[place] = variant
                    return JSON.array(elements)
                }
            }
        case .object(let members):
            members.flatMap { name, value in
                Self.variants(of: value, numbers: numbers).map { variant in
                    JSON.object(members.merging([name: variant]) { $1 })
                }
            }
        default: []
        }
    }
}
