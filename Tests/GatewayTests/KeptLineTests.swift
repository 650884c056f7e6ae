import ClusterContract
import Contract
import TestKit
import Testing

@testable import GatewayCore

/// Which packets a gateway has stored (contract §14.11): lines to all, of a stream whose lines are kept, and nothing else.
@Suite(.timeLimit(.minutes(20))) struct KeptLineTests {
    @Test func aLineToAllBecomesAJob() async throws {
        try await LiveBench.run(gateways: 1) { bench in
            let stream = bench.stream(epoch: 3, content: 9, generation: 2, isTranscribed: true)
            let whisperer = try await bench.whisperer("W", at: 0, stream)
            let (listener, _) = try await bench.listener("L", at: 0, stream)
            try await whisperer.whisper(.snapshot, 1, epoch: 3, generation: 2)
            try await whisperer.whisper(.diff, 2, epoch: 3, generation: 2)
            try await whisperer.whisper(.cue, 3, epoch: 3, generation: 2)
            try await whisperer.whisper(.line, 3, line: 7, epoch: 3, generation: 2, to: listener.identity)
            try await whisperer.whisper(.line, 4, line: 8, epoch: 3, generation: 2, bytes: 40)
            // Refused and dropped ones are no lines: of another epoch, an older generation, a number again.
            try await whisperer.whisper(.line, 5, line: 9, epoch: 2, generation: 2)
            #expect(try await whisperer.next().code == "FORBIDDEN")
            try await whisperer.whisper(.line, 5, line: 9, epoch: 3, generation: 1)
            try await whisperer.whisper(.line, 4, line: 9, epoch: 3, generation: 2)
            // A repeated one is: who stores it knows that it has it.
            try await whisperer.whisper(.line, 5, line: 8, epoch: 3, generation: 2, bytes: 40)
            let share = LiveShare(of: .test)
            for seq in [Int64(4), 5] {
                let expected = LiveLine(
                    conversation: .test, content: UUIDText(high: 0, low: 9),
                    connection: LiveConnection(
                        node: bench.gateways[0].gateway.node, connection: whisperer.connection),
                    position: LivePosition(epoch: 3, seq: seq), line: 8, generation: 2,
                    seal: .init(
                        nonce: Array(0...11), ciphertext: [UInt8](repeating: UInt8(seq), count: 40)))
                guard case .line(let line) = try await bench.gateways[0].nextOfLines(share) else {
                    return #expect(Bool(false), "no line")
                }
                #expect(line == expected)
            }
            #expect(try await listener.next(6) == ["snapshot 1", "diff 2", "cue 3", "line 3", "line 4", "line 5"])
        }
    }

    @Test func withoutTranscriptNothingIsStored() async throws {
        try await LiveBench.run(gateways: 1) { bench in
            let whisperer = try await bench.whisperer()
            try await whisperer.whisper(.snapshot, 1)
            try await whisperer.whisper(.line, 2, line: 1)
            // From the next contentId on.
            try await whisperer.tell(.holds(bench.stream(epoch: 2, content: 2, isTranscribed: true)))
            try await whisperer.whisper(.line, 1, line: 1, epoch: 2)
            guard case .line(let line) = try await bench.gateways[0].nextOfLines(LiveShare(of: .test)) else {
                return #expect(Bool(false), "no line")
            }
            #expect(line.position == LivePosition(epoch: 2, seq: 1))
        }
    }

    /// Some of many lines are held. An end that overtook them would leave them out of the transcript.
    @Test func anEndComesBehindTheLinesBeforeIt() async throws {
        try await LiveBench.run(gateways: 1) { bench in
            let whisperer = try await bench.whisperer("W", at: 0, bench.stream(isTranscribed: true))
            try await whisperer.whisper(.snapshot, 1)
            // So many at once that some are held, and not all.
            let burst = GatewayLimits.linesHeldMax * 3 / 2
            for line in 1...burst { try await whisperer.whisper(.line, 1 + Int64(line), line: line) }
            try await whisperer.stop()
            for number in 1...burst {
                guard case .line(let line) = try await bench.gateways[0].nextOfLines(LiveShare(of: .test)) else {
                    return #expect(Bool(false), "no line \(number)")
                }
                #expect(line.line == number)
            }
            guard case .frame(let request) = try await bench.gateways[0].nextOfLines(LiveShare(of: .test)) else {
                return #expect(Bool(false), "no end")
            }
            #expect(request.type == "live_stop")
        }
    }

    /// Lines count from 1, those for one listener too.
    @Test func aLineHasANumber() async throws {
        try await LiveBench.run(gateways: 1) { bench in
            let whisperer = try await bench.whisperer()
            try await whisperer.whisper(.line, 1, line: 0)
            #expect(try await whisperer.next().code == "INVALID_PAYLOAD")
            try await whisperer.whisper(.line, 1, line: 0, to: whisperer.identity)
            #expect(try await whisperer.next().code == "INVALID_PAYLOAD")
            try await whisperer.whisper(.snapshot, 1, line: 0)
            try await whisperer.whisper(.line, 2, line: 1)
            #expect(try await whisperer.expectSilence())
        }
    }
}

extension GatewayBench {
    /// The next Job that is no report: a gateway reports by its own clock.
    fileprivate func nextOfLines(_ share: LiveShare) async throws -> LiveJob {
        while true {
            let job = try await self.liveJob(of: share)
            if case .report = job { continue }
            return job
        }
    }
}
