import ClusterContract
import Contract
import TestKit
import Testing

@testable import GatewayCore

/// Content of live conversations, from a whisperer's socket to listeners' sockets, at two gateways (contract §14.9, §14.10).
@Suite(.timeLimit(.minutes(20))) struct LiveContentTests {
    @Test func aKeystrokeReachesListenersOfAllGateways() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (here, joined) = try await bench.listener("H", at: 0)
            #expect(joined.type == "live_joined" && joined.requestID == "j" && joined.seq == 0 && joined.epoch == 1)
            let (there, _) = try await bench.listener("T", at: 1)
            try await whisperer.whisper(.snapshot, 1)
            try await whisperer.whisper(.diff, 2)
            try await whisperer.whisper(.cue, 3)
            for listener in [here, there] {
                let first = try await listener.next()
                #expect(
                    first.fields == [
                        "conversationId", "epoch", "seq", "kind", "line", "generation", "nonce", "ciphertext",
                    ])
                #expect(first.short == "snapshot 1")
                #expect(try await listener.next(2) == ["diff 2", "cue 3"])
            }
            // Nothing comes back to the whisperer.
            #expect(try await whisperer.expectSilence())
        }
    }

    /// Contract §14.9, §19.3, §19.6, §19.7c.
    @Test func whatMayNotBeSaidIsRefusedOrDropped() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer("W", at: 0, bench.stream(epoch: 3, generation: 2))
            let (listener, _) = try await bench.listener("L", at: 0, bench.stream(epoch: 3, generation: 2))
            func code() async throws -> String? { try await whisperer.next().code }
            try await whisperer.whisper(.snapshot, 1, epoch: 2, generation: 2)
            #expect(try await code() == "FORBIDDEN")
            try await whisperer.whisper(.snapshot, 1, epoch: 4, generation: 2)
            #expect(try await code() == "FORBIDDEN")
            try await whisperer.whisper(.snapshot, 1, epoch: 3, generation: 3)
            #expect(try await code() == "FORBIDDEN")
            try await whisperer.whisper(.diff, 1, epoch: 3, generation: 2, to: listener.identity)
            #expect(try await code() == "INVALID_PAYLOAD")
            try await listener.whisper(.snapshot, 1, epoch: 3, generation: 2)
            #expect(try await listener.next().code == "FORBIDDEN")
            try await whisperer.whisper(.snapshot, 5, epoch: 3, generation: 2)
            // Dropped without a word: a number again, one before, an older generation, a wrong number for one.
            try await whisperer.whisper(.diff, 5, epoch: 3, generation: 2)
            try await whisperer.whisper(.diff, 4, epoch: 3, generation: 2)
            try await whisperer.whisper(.diff, 6, epoch: 3, generation: 1)
            try await whisperer.whisper(.line, 4, line: 1, epoch: 3, generation: 2, to: listener.identity)
            try await whisperer.whisper(.diff, 6, epoch: 3, generation: 2)
            #expect(try await whisperer.expectSilence())
            #expect(try await listener.next(2) == ["snapshot 5", "diff 6"])
            // A client that has not joined is refused, whatever exists.
            try await whisperer.resync(0)
            #expect(try await code() == "FORBIDDEN")
            try await whisperer.wants("hand")
            #expect(try await code() == "FORBIDDEN")
        }
    }

    /// Contract §14.10: the live text of now, and no line from before.
    @Test(arguments: [0, 1]) func whoJoinsLateGetsTheTextOfNow(gateway: Int) async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            try await whisperer.whisper(.snapshot, 1)
            try await whisperer.whisper(.line, 2, line: 1)
            try await whisperer.whisper(.snapshot, 3, line: 1)
            try await whisperer.whisper(.diff, 4, line: 1)
            #expect(try await whisperer.expectSilence())
            let (late, joined) = try await bench.listener("L", at: gateway, since: .now + .milliseconds(1))
            #expect(joined.seq == 4 && joined.line == 1)
            #expect(try await late.next(2) == ["snapshot 3", "diff 4"])
            try await whisperer.whisper(.diff, 5, line: 1)
            #expect(try await late.next().short == "diff 5")
        }
    }

    @Test(arguments: [0, 1]) func whoComesBackGetsMissedLinesOnceAndInOrder(gateway: Int) async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let since = Timestamp.now - .milliseconds(1)
            var seq: Int64 = 0
            func say(_ kind: LivePacketKind, line: Int) async throws {
                seq += 1
                try await whisperer.whisper(kind, seq, line: line)
            }
            try await say(.snapshot, line: 0)
            for line in 1...3 {
                try await say(.line, line: line)
                try await say(.snapshot, line: line)
            }
            try await say(.diff, line: 3)
            #expect(try await whisperer.expectSilence())
            let after = LivePoint(
                content: UUIDText(high: 0, low: 1), position: LivePosition(epoch: 1, seq: 3), line: 1)
            let (listener, _) = try await bench.listener("L", at: gateway, since: since, after: after)
            #expect(try await listener.next(4) == ["line 4", "line 6", "snapshot 7", "diff 8"])
            // The listener has nothing of another content.
            let other = LivePoint(
                content: UUIDText(high: 0, low: 9), position: LivePosition(epoch: 1, seq: 3), line: 1)
            _ = try await bench.join(listener, since: since, after: other)
            #expect(try await listener.next(2) == ["snapshot 7", "diff 8"])
            #expect(try await listener.expectSilence())
        }
    }

    @Test(arguments: [0, 1]) func whoIsRemovedGetsNothingMore(gateway: Int) async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: gateway)
            try await whisperer.whisper(.snapshot, 1)
            #expect(try await listener.next().short == "snapshot 1")
            try await listener.tell(.attendsNoLonger(.test))
            try await whisperer.whisper(.diff, 2)
            #expect(try await whisperer.expectSilence())
            try await listener.resync(1)
            #expect(try await listener.next().code == "FORBIDDEN")
            #expect(await !bench.gateways[0].gateway.isAttendedElsewhere)
        }
    }

    /// Every question has an answer, also one that waits for a home that is silent.
    @Test func whoLeavesBeforeItHasJoinedIsAnswered() async throws {
        try await LiveBench.run { bench in
            let listener = try await bench.client("L", at: 1)
            var stream = bench.stream(at: 0)
            stream.home = NodeID(value: 99)
            try await listener.tell(
                .attends(
                    LiveAttendance(
                        stream: stream, since: .now, after: nil, requestID: "j", isAnswer: true, grant: nil)))
            try await listener.tell(.attendsNoLonger(.test))
            let answer = try await listener.next()
            #expect(answer.code == "FORBIDDEN" && answer.requestID == "j")
        }
    }

    /// Contract §14.8, §19.7d: another device takes over. The state comes before its packets.
    @Test func anotherDeviceTakesOver() async throws {
        try await LiveBench.run { bench in
            let first = try await bench.whisperer()
            let (here, _) = try await bench.listener("H", at: 0)
            let (there, _) = try await bench.listener("T", at: 1)
            try await first.whisper(.snapshot, 1)
            for listener in [here, there] { #expect(try await listener.next().short == "snapshot 1") }
            let taken = bench.stream(epoch: 2, at: 1)
            try await first.tell(.holdsNoLonger(.test, epoch: 1))
            let second = try await bench.whisperer("V", at: 1, taken)
            // The gateway of the first one hears of it last.
            try await second.whisper(.snapshot, 1, epoch: 2)
            #expect(try await there.next(2) == ["live_state", "snapshot 1"])
            try await here.tell(.stream(taken))
            #expect(try await here.next(2) == ["live_state", "snapshot 1"])
            try await second.whisper(.diff, 2, epoch: 2)
            for listener in [here, there] { #expect(try await listener.next().short == "diff 2") }
            try await first.whisper(.diff, 2)
            #expect(try await first.next().code == "FORBIDDEN")
        }
    }

    /// For a while calls may take a holder for gone that is not (contract §14.12).
    @Test func aHolderGoesOnWhenCallsMissesIt() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            try await whisperer.whisper(.snapshot, 1)
            let (listener, _) = try await bench.listener("L", at: 0, bench.stream(at: nil))
            #expect(try await listener.next().short == "snapshot 1")
            try await whisperer.whisper(.diff, 2)
            #expect(try await listener.next().short == "diff 2")
        }
    }

    @Test func listenersHearWhatBecomesOfTheStream() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: 1)
            try await whisperer.whisper(.snapshot, 1)
            #expect(try await listener.next().short == "snapshot 1")
            await whisperer.socket.close()
            try await listener.tell(.stream(bench.stream(at: nil, state: .paused, changedAt: 10)))
            let paused = try await listener.next()
            #expect(paused.type == "live_state" && paused.state == "paused")
            // Told again, it is no news.
            try await listener.tell(.stream(bench.stream(at: nil, state: .paused, changedAt: 10)))
            try await listener.tell(.stream(bench.stream(at: nil, state: .idle, ending: .timeout, changedAt: 20)))
            let ended = try await listener.next()
            #expect(ended.state == "ended" && ended.fields.contains("reason") && ended.fields.contains("contentId"))
            let next = bench.stream(epoch: 2, at: 0, content: 2)
            let again = try await bench.whisperer("V", at: 0, next)
            try await listener.tell(.stream(next))
            #expect(try await listener.next().state == "live")
            try await again.whisper(.snapshot, 1, epoch: 2)
            #expect(try await listener.next().short == "snapshot 1")
        }
    }

    /// Contract §14.12: nobody says a word, and the listener has what was lost.
    @Test func whatIsLostBetweenGatewaysIsAskedOfTheHome() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: 1)
            try await whisperer.whisper(.snapshot, 1)
            #expect(try await listener.next().short == "snapshot 1")
            bench.gateways[0].bus.lose { $0.hasPrefix("feed:") }
            try await whisperer.whisper(.diff, 2)
            try await whisperer.whisper(.line, 3, line: 1)
            try await whisperer.whisper(.snapshot, 4, line: 1)
            #expect(try await whisperer.expectSilence())
            bench.gateways[0].bus.lose(nil)
            try await whisperer.whisper(.diff, 5, line: 1)
            #expect(try await listener.next(3) == ["line 3", "snapshot 4", "diff 5"])
            try await whisperer.whisper(.diff, 6, line: 1)
            #expect(try await listener.next().short == "diff 6")
            #expect(try await whisperer.expectSilence())
        }
    }

    /// A loss at the end is noticed with the gateway's next attendance.
    @Test func aLossAtTheEndIsNoticed() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: 1)
            bench.gateways[0].bus.lose { $0.hasPrefix("feed:") }
            try await whisperer.whisper(.snapshot, 1)
            #expect(try await whisperer.expectSilence())
            bench.gateways[0].bus.lose(nil)
            #expect(try await listener.next().short == "snapshot 1")
        }
    }

    /// Redis goes and comes back: healed without a word of any client.
    @Test func whatRedisHasLostIsAskedForAtItsReturn() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (here, _) = try await bench.listener("H", at: 0)
            let (there, _) = try await bench.listener("T", at: 1)
            try await whisperer.whisper(.snapshot, 1)
            #expect(try await there.next().short == "snapshot 1")
            try await bench.gateways[0].bus.goAway()
            try await whisperer.whisper(.diff, 2)
            #expect(try await here.next(2) == ["snapshot 1", "diff 2"])
            try await bench.gateways[0].bus.comeBack()
            #expect(try await there.next().short == "diff 2")
        }
    }

    // MARK: What nobody remembers

    /// Asked once for all who wait (contract §14.10).
    @Test func aSnapshotIsWantedOnceForAll() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            try await whisperer.whisper(.snapshot, 1)
            try await whisperer.whisper(.line, 2, line: 1)
            #expect(try await whisperer.expectSilence())
            let since = Timestamp.now + .milliseconds(1)
            let (here, _) = try await bench.listener("H", at: 0, since: since)
            let wanted = try await whisperer.next()
            #expect(wanted.type == "live_wanted" && wanted.want == "snapshot" && wanted.epoch == 1)
            let (there, _) = try await bench.listener("T", at: 1, since: since)
            // It comes for both.
            try await whisperer.whisper(.snapshot, 3, line: 1)
            for listener in [here, there] { #expect(try await listener.next().short == "snapshot 3") }
        }
    }

    @Test(arguments: [0, 1]) func missingLinesAreAskedOfTheWhisperer(gateway: Int) async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer("W", at: 0, bench.stream(epoch: 2))
            let (other, _) = try await bench.listener("O", at: gateway, bench.stream(epoch: 2))
            // The home has changed, and the new one does not know the five lines before.
            try await whisperer.whisper(.snapshot, 1, line: 5, epoch: 2)
            #expect(try await other.next().short == "snapshot 1")
            let after = LivePoint(
                content: UUIDText(high: 0, low: 1), position: LivePosition(epoch: 1, seq: 9), line: 3)
            let since = Timestamp(milliseconds: 77)
            let (listener, joined) = try await bench.listener(
                "L", at: gateway, bench.stream(epoch: 2), since: since, after: after)
            #expect(joined.line == 5)
            #expect(try await listener.next().short == "snapshot 1")
            let wanted = try await whisperer.next()
            #expect(wanted.want == "lines" && wanted.fromLine == 4 && wanted.listener == "\(listener.identity)")
            // To that listener alone, and nobody's numbers move.
            for line in 4...5 {
                try await whisperer.whisper(.line, 1, line: line, epoch: 2, to: listener.identity)
            }
            #expect(try await listener.next().line == 4)
            #expect(try await listener.next().line == 5)
            try await whisperer.whisper(.diff, 2, line: 5, epoch: 2)
            #expect(try await listener.next().short == "diff 2")
            #expect(try await other.next().short == "diff 2")
        }
    }

    @Test func aResyncIsAnsweredFromMemoryFirst() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: 1)
            try await whisperer.whisper(.snapshot, 1)
            try await whisperer.whisper(.diff, 2)
            #expect(try await listener.next(2) == ["snapshot 1", "diff 2"])
            try await listener.resync(1)
            // The second within a second is dropped.
            try await listener.resync(1)
            #expect(try await listener.next().short == "diff 2")
            #expect(try await listener.expectSilence())
            #expect(try await whisperer.expectSilence())
            // The second answer from memory comes with a question for a snapshot: the first did not help.
            try await Task.sleep(for: .milliseconds(1_000))
            try await listener.resync(1)
            #expect(try await listener.next().short == "diff 2")
            #expect(try await whisperer.next().want == "snapshot")
        }
    }

    /// The lines in memory fill the bound of a listener's unread packets. The lines before them are asked for all the
    /// same.
    @Test(arguments: [0, 1]) func linesMissingBeforeManyAreAskedFor(gateway: Int) async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer("W", at: 0, bench.stream(epoch: 2))
            try await whisperer.whisper(.snapshot, 1, line: 5, epoch: 2)
            for line in 6...14 {
                try await whisperer.whisper(.line, Int64(line - 4), line: line, epoch: 2, bytes: 8_000)
            }
            let after = LivePoint(
                content: UUIDText(high: 0, low: 1), position: LivePosition(epoch: 1, seq: 9), line: 3)
            let (listener, joined) = try await bench.listener(
                "L", at: gateway, bench.stream(epoch: 2), since: Timestamp(milliseconds: 77), after: after)
            #expect(joined.line == 14)
            let wanted = try await whisperer.next()
            #expect(wanted.want == "lines" && wanted.fromLine == 4 && wanted.listener == "\(listener.identity)")
        }
    }

    @Test(arguments: [0, 1]) func theWhispererHearsOfARaisedHand(gateway: Int) async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: gateway)
            try await listener.wants("repeat")
            let attention = try await whisperer.next()
            #expect(attention.type == "live_attention" && attention.want == "repeat")
            #expect(attention.listener == "\(listener.identity)")
        }
    }

    // MARK: Slow listeners, generations

    /// Contract §14.10: neither the whisperer nor the others notice.
    @Test func aListenerThatDoesNotReadIsAPosition() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (slow, _) = try await bench.listener("S", at: 0)
            let (other, _) = try await bench.listener("O", at: 0)
            // Its client reads, and answers no ping.
            var last: Int64 = 0
            for seq in Int64(1)...12 {
                try await whisperer.whisper(seq == 12 ? .snapshot : .diff, seq, bytes: 8_000)
                last = seq
                // The other one reads all, and says so.
                var frame = try await other.socket.anyFrame()
                while frame.opcode == 9 {
                    try await other.socket.send(ClientFrame(opcode: 10, payload: frame.payload))
                    frame = try await other.socket.anyFrame()
                }
                #expect(frame.opcode == 1)
            }
            var pings: [[UInt8]] = []
            var packets = 0
            try await slow.send(#"{"type":"ping","payload":{}}"#)
            while true {
                let frame = try await slow.socket.anyFrame()
                if frame.opcode == 9 { pings.append(frame.payload) }
                guard frame.opcode == 1 else { continue }
                if String(decoding: frame.payload, as: UTF8.self).hasPrefix(#"{"type":"pong""#) { break }
                packets += 1
            }
            #expect(packets == 6 && !pings.isEmpty)
            try await slow.socket.send(ClientFrame(opcode: 10, payload: pings.last!))
            #expect(try await slow.next().short == "snapshot \(last)")
            #expect(try await slow.expectSilence())
        }
    }

    /// A listener that joins later has no older key; a removed one has.
    @Test func nothingOfAnOlderGenerationIsGiven() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: 1)
            try await whisperer.whisper(.snapshot, 1)
            #expect(try await listener.next().short == "snapshot 1")
            let rotated = bench.stream(generation: 2)
            try await whisperer.tell(.stream(rotated))
            try await whisperer.whisper(.diff, 2)
            #expect(try await whisperer.expectSilence())
            let (late, joined) = try await bench.listener("M", at: 1, rotated)
            #expect(joined.seq == 1)
            #expect(try await whisperer.next().want == "snapshot")
            try await whisperer.whisper(.snapshot, 3, generation: 2)
            for one in [listener, late] { #expect(try await one.next().short == "snapshot 3") }
        }
    }

    // MARK: Reports

    @Test func callsHearsWhatIsHeldAndAttended() async throws {
        try await LiveBench.run { bench in
            let whisperer = try await bench.whisperer()
            let (listener, _) = try await bench.listener("L", at: 0)
            let node = bench.gateways[0].gateway.node
            func report() async throws -> [LiveReportEntry] {
                while true {
                    let job = try await bench.gateways[0].liveJob(of: LiveShare(of: .test))
                    if case .report(node, let entries) = job { return entries }
                }
            }
            let entries = try await report()
            #expect(Set(entries.map(\.connection)) == [whisperer.connection, listener.connection])
            let roles = Dictionary(uniqueKeysWithValues: entries.map { ($0.connection, $0.role) })
            #expect(roles == [whisperer.connection: .holder, listener.connection: .listener])
            #expect(entries.allSatisfy { $0.conversation == .test && $0.epoch == 1 && $0.generation == 1 })
            await whisperer.socket.close()
            await listener.socket.close()
            // Once more, with nothing in it.
            while try await !report().isEmpty {}
        }
    }

    /// Memory of idle clients does not grow.
    @Test func othersHaveNothingOfIt() async throws {
        try await LiveBench.run(gateways: 1) { bench in
            let client = try await bench.client("A", at: 0)
            #expect(await !bench.gateways[0].gateway.takesPart(client.connection))
            try await client.wants("hand")
            #expect(try await client.next().code == "FORBIDDEN")
            #expect(await !bench.gateways[0].gateway.takesPart(client.connection))
        }
    }
}
