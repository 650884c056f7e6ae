import Contract
import Synchronization
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// Events that are given to a program by HTTP.
@Suite(.timeLimit(.minutes(20))) struct WebhookTests {
    private struct State {
        var posted: [String] = []
        var pauses: [Duration] = []
        /// The program's answers in turn. After the last it takes everything.
        var answers: [Bool] = []
    }

    /// A program that takes events.
    private final class Program: Sendable {
        let state = Mutex(State())
        let (taken, continuation) = AsyncStream.makeStream(of: String.self)

        func post(_ event: [UInt8]) -> Bool {
            let name = (try? JSON(parsing: event))?["event"]?["contact"]?["name"]?.string ?? "?"
            let isTaken = self.state.withLock { state in
                state.posted.append(name)
                return state.answers.isEmpty || state.answers.removeFirst()
            }
            if isTaken { self.continuation.yield(name) }
            return isTaken
        }
    }

    private func run(_ core: Core, _ program: Program) async throws -> (task: Task<Void, Never>, seat: CoreSeat) {
        let seat = try #require(core.seat())
        #expect(await seat.refusalToRead(for: Webhook.consumer) == nil)
        let hook = Webhook(seat: seat) {
            program.post($0)
        } wait: { pause in
            program.state.withLock { $0.pauses.append(pause) }
            try Task.checkCancellation()
        }
        return (Task { await hook.run() }, seat)
    }

    @Test func anEventIsRepeatedUntilItIsTakenAndOrderIsKept() async throws {
        let hosts = try CoreHosts()
        let (ann, bob) = (try await hosts.online("ann"), try await hosts.online("bob").id)
        try await ann.perform(#"settings_set {"backup":false}"#)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)"}"#)
        let core = ann.core
        core.leaveEventsToSeats()
        let program = Program()
        program.state.withLock { $0.answers = [false, false, true, false] }
        let (task, seat) = try await self.run(core, program)
        for name in ["one", "two", "three"] {
            try await ann.perform(#"contact_update {"whisperId":"\#(bob)","name":"\#(name)"}"#)
        }
        var taken = program.taken.makeAsyncIterator()
        // Each event has the contact's current name.
        for _ in 0..<3 { _ = await taken.next() }
        let state = program.state.withLock { $0 }
        #expect(state.posted.count == 6)
        #expect(state.pauses.count == 3)
        // Half of a pause is certain.
        for (pause, whole) in zip(state.pauses, [1, 2, 1]) {
            #expect(pause >= .milliseconds(500 * whole) && pause <= .seconds(whole))
        }
        #expect(Webhook.pauses.pause(after: 100) == .seconds(300))
        // Another life has nothing to do again.
        while core.query(#"events_list {"consumer":"webhook"}"#).contains("seq") { await Task.yield() }
        seat.leave()
        await task.value
        await core.close()
    }

    @Test func whatWasNotTakenComesInTheNextLife() async throws {
        let hosts = try CoreHosts()
        let (ann, bob) = (try await hosts.online("ann"), try await hosts.online("bob").id)
        try await ann.perform(#"settings_set {"backup":false}"#)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)"}"#)
        let core = ann.core
        core.leaveEventsToSeats()
        let deaf = Program()
        deaf.state.withLock { $0.answers = Array(repeating: false, count: 1_000_000) }
        let (task, seat) = try await self.run(core, deaf)
        try await ann.perform(#"contact_update {"whisperId":"\#(bob)","name":"one"}"#)
        while deaf.state.withLock({ $0.posted.count }) < 3 { await Task.yield() }
        task.cancel()
        await task.value
        seat.leave()
        let program = Program()
        let second = try await self.run(core, program)
        var taken = program.taken.makeAsyncIterator()
        #expect(await taken.next() == "one")
        second.seat.leave()
        await second.task.value
        await core.close()
    }

    @Test func aSignatureIsOfTimeAndEvent() {
        let (event, time) = (Array(#"{"seq":1}"#.utf8), Timestamp(milliseconds: 1_767_225_600_000))
        let key = Array("0123456789abcdef0123456789abcdef".utf8)
        // printf '%s' '1767225600000.{"seq":1}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
        #expect(
            WebhookLink.signature(of: event, at: time, key: key)
                == "b4072e9704ed059869b1cefd9424a392f94c440020bc43b07e68a99386c63250")
        #expect(
            WebhookLink.signature(of: event, at: Timestamp(milliseconds: 1), key: key)
                != "b4072e9704ed059869b1cefd9424a392f94c440020bc43b07e68a99386c63250")
    }

    @Test func whatIsNotSealedStaysOnThisMachine() {
        for url in ["https://hook.example/a?b=c", "http://127.0.0.1:8080/", "http://[::1]:80/x", "HTTP://localhost/x"] {
            #expect(WebhookLink.isAllowed(url), "\(url)")
        }
        for url in [
            "http://hook.example/", "ws://127.0.0.1/", "ftp://127.0.0.1/", "http://127.0.0.1.example/", "hook",
            "http://user@127.0.0.1/", "http://10.0.0.1/", "https://a b/",
        ] {
            #expect(!WebhookLink.isAllowed(url), "\(url)")
        }
    }
}
