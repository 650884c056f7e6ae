import Bus
import Contract
import LocalStack
import Testing

@testable import PushCore

/// Calls: at once, only while they ring, and ended where a ring may have been heard.
@Suite(.timeLimit(.minutes(20))) struct CallPusherTests {
    private let alice = WhisperID(bits: 1)!

    @Test func aCallAndItsEndGoToTheTokenForCalls() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice, push: "aa", voip: "bb")
            let (provider, wake) = (ScriptedProvider(), UUIDText.random())
            let until = Timestamp.now + .seconds(45)
            try await bench.running(provider) {
                try await bench.call(self.alice, .call(isVideo: true, until: until), wake)
                try await provider.wait(for: 1)
                try await bench.call(self.alice, .callOver, wake)
                try await provider.wait(for: 2)
            }
            #expect(provider.kinds == [.call(isVideo: true), .callOver])
            #expect(
                provider.sent.allSatisfy {
                    $0.token == "bb" && $0.isVoIP && $0.push.wakeID == wake && $0.push.expires == until
                })
            #expect(try await bench.depth() == [0, 0])
        }
    }

    /// Contract §14.14: never to the token for calls, which must ring.
    @Test func aKnockGoesToTheTokenForMailUntilItIsWorthNothing() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice, push: "aa", voip: "bb")
            let (provider, wake) = (ScriptedProvider(), UUIDText.random())
            let until = Timestamp.now + .seconds(600)
            try await bench.running(provider) {
                try await bench.call(self.alice, .knock(until: .now - .seconds(1)), .random())
                try await bench.call(self.alice, .knock(until: until), wake)
                try await provider.wait(for: 1)
                try await waitUntil("both are answered", within: .seconds(10)) { try await bench.depth() == [0, 0] }
            }
            #expect(provider.kinds == [.knock])
            let sent = provider.sent[0]
            #expect(sent.token == "aa" && !sent.isVoIP && sent.push.wakeID == wake && sent.push.expires == until)
            #expect(sent.push.isUrgent && sent.push.collapseKey == "\(wake)")
        }
    }

    @Test func aCallThatRingsNoLongerIsDropped() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            let provider = ScriptedProvider()
            try await bench.call(self.alice, .call(isVideo: false, until: .now - .seconds(1)), .random())
            try await bench.running(provider) {
                try await waitUntil("it is dropped", within: .seconds(10)) { try await bench.depth() == [0, 0] }
            }
            #expect(provider.sent.isEmpty)
        }
    }

    @Test func anEndWithoutARingIsNotPushedAndSilencesALateRing() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            let (provider, wake) = (ScriptedProvider(), UUIDText.random())
            try await bench.running(provider) {
                try await bench.call(self.alice, .callOver, wake)
                try await waitUntil("it is taken", within: .seconds(10)) { try await bench.depth() == [0, 0] }
                try await bench.call(self.alice, .call(isVideo: false, until: .now + .seconds(45)), wake)
                try await waitUntil("it is taken", within: .seconds(10)) { try await bench.depth() == [0, 0] }
            }
            #expect(provider.sent.isEmpty)
        }
    }

    @Test func aRingThatFailsIsTriedAgainUntilTheCallIsOver() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            let wake = UUIDText.random()
            let provider = ScriptedProvider { _, push in
                push.kind == .callOver ? .sent : .later(.unavailable, after: nil)
            }
            try await bench.running(provider) {
                try await bench.call(self.alice, .call(isVideo: false, until: .now + .seconds(45)), wake)
                try await provider.wait(for: 2)
                try await bench.call(self.alice, .callOver, wake)
                try await waitUntil("all is done", within: .seconds(20)) { try await bench.depth() == [0, 0] }
            }
            // A ring that was tried was perhaps heard.
            #expect(provider.kinds.filter { $0 == .callOver }.count == 1)
            #expect(try await bench.sql("SELECT count(*) FROM push.dead_letters") == "0")
        }
    }

    /// The end overtakes the ring on its way to the provider: it is pushed again behind it.
    @Test func aRingThatArrivesBehindItsEndIsEndedAgain() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            let (wake, isOver) = (UUIDText.random(), AsyncStream.makeStream(of: Void.self))
            let provider = ScriptedProvider { _, push in
                if push.kind == .callOver {
                    isOver.continuation.yield()
                } else {
                    for await _ in isOver.stream { break }
                }
                return .sent
            }
            try await bench.running(provider) {
                try await bench.call(self.alice, .call(isVideo: false, until: .now + .seconds(45)), wake)
                try await provider.wait(for: 1)
                try await bench.call(self.alice, .callOver, wake)
                try await waitUntil("all is done", within: .seconds(20)) { try await bench.depth() == [0, 0] }
            }
            #expect(provider.kinds == [.call(isVideo: false), .callOver, .callOver])
        }
    }

    @Test func aRingThatFailsToItsEndIsADeadLetter() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            let provider = ScriptedProvider { _, _ in .later(.unavailable, after: nil) }
            try await bench.running(provider) {
                try await bench.call(self.alice, .call(isVideo: false, until: .now + .seconds(6)), .random())
                try await waitUntil("it is given up", within: .seconds(40)) {
                    try await bench.sql("SELECT kind || reason FROM push.dead_letters") == "callunavailable"
                }
            }
            #expect(try await bench.depth() == [0, 0])
        }
    }

    @Test func aRingThatFoundNoRoomIsTriedAgain() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            let provider = ScriptedProvider { number, _ in number < 3 ? .busy : .sent }
            try await bench.running(provider) {
                try await bench.call(self.alice, .call(isVideo: false, until: .now + .seconds(45)), .random())
                try await provider.wait(for: 3)
                try await waitUntil("all is done", within: .seconds(20)) { try await bench.depth() == [0, 0] }
            }
            #expect(provider.kinds == [.call(isVideo: false), .call(isVideo: false), .call(isVideo: false)])
        }
    }

    @Test func callsDoNotWaitBehindMail() async throws {
        try await PushBench.with { bench in
            _ = try await bench.sql(
                "INSERT INTO auth.push_tokens SELECT n, 'ios', 'aa', NULL FROM generate_series(1, 300) AS n")
            _ = try await bench.sql("INSERT INTO router.waiting SELECT n, now() FROM generate_series(1, 300) AS n")
            // Mail's provider hangs with all it can take.
            let provider = ScriptedProvider { _, push in
                if case .mail = push.kind { try? await Task.sleep(for: .seconds(3_600)) }
                return .sent
            }
            for bits in 1...300 { try await bench.wake(WhisperID(bits: UInt64(bits))!) }
            try await bench.running(provider, drains: false) {
                try await provider.wait(for: PushLimits.takeMax)
                try await bench.call(self.alice, .call(isVideo: false, until: .now + .seconds(45)), .random())
                try await waitUntil("it rings", within: .seconds(20)) { provider.kinds.contains(.call(isVideo: false)) }
            }
        }
    }
}
