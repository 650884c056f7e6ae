import ClusterContract
import Contract
import Foundation
import LocalStack
import TestKit
import Testing

/// Two calls services, and nobody who takes wake-ups: tests read what push would be told.
private let pairOfServices: @Sendable (inout StackConfiguration) -> Void = {
    $0.instances[.calls] = 2
    $0.instances[.push] = 0
}

/// Contract §7 and §13: calls.
@Suite(.cluster(pairOfServices), .atATime(8))
struct CallCluster {
    /// A caller and a callee, each on another gateway.
    static func pair() async throws -> (alice: Phone, bob: Phone) {
        (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
    }

    // MARK: The way of a call

    @Test func aCallRingsIsAnsweredAndEnds() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = newUUID().uppercased()
        let fields = alice.callFields("call_initiate", callID, to: bob.id, ["isVideo": true])
        alice.client.send("call_initiate", fields, requestID: "r1")
        let incoming = try await bob.gets("call_incoming", callID).payload
        // Everything that was sent, less V and S.
        let expected = fields.without("protocolVersion", "cryptoVersion", "sessionToken")
        #expect(incoming.members == expected.json.members)

        let ringing = try await alice.gets("call_ringing", callID)
        #expect(ringing.requestID == "r1")
        #expect(ringing.payload["from"]?.string == bob.id)
        #expect(try #require(ringing.payload["timestamp"]?.integer) > 0)

        for (sender, receiver, type) in [
            (bob, alice, "call_answer"), (alice, bob, "call_ice_candidate"), (bob, alice, "call_ice_candidate"),
        ] {
            let fields = sender.callFields(type, callID, to: receiver.id)
            sender.client.send(type, fields)
            let got = try await receiver.gets(type, callID).payload
            #expect(got.members == fields.without("protocolVersion", "cryptoVersion", "sessionToken").json.members)
        }
        let end = bob.callFields("call_end", callID, to: alice.id, ["reason": "ended"])
        bob.client.send("call_end", end)
        let got = try await alice.gets("call_end", callID).payload
        #expect(got.members == end.without("protocolVersion", "cryptoVersion", "sessionToken").json.members)
        for phone in [alice, bob] {
            try await phone.client.settle()
            #expect(phone.client.frames.isEmpty, "\(phone.client.frames)")
        }
    }

    /// A caller sends candidates right behind the call: they come behind it, in order, through two gateways.
    @Test func candidatesKeepTheirOrder() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = alice.calls(bob)
        let sent = (0..<60).map { _ in alice.callFields("call_ice_candidate", callID, to: bob.id) }
        for fields in sent { alice.client.send("call_ice_candidate", fields) }
        try await bob.gets("call_incoming", callID)
        let got = try await bob.getsCandidates(sent.count, callID)
        #expect(got == sent.map { $0["sig"]?.json })
    }

    @Test func aDeclinedCallEndsForTheCaller() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = try await alice.rings(bob)
        bob.send("call_end", callID, to: alice, ["reason": "declined"])
        #expect(try await alice.getsEnd(callID) == "declined")
        // Both can be called again.
        _ = try await bob.rings(alice)
    }

    @Test func repeatedFramesDoNothingTwice() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = newUUID()
        let call = alice.callFields("call_initiate", callID, to: bob.id, ["isVideo": false])
        for _ in 0..<3 { alice.client.send("call_initiate", call) }
        try await bob.gets("call_incoming", callID)
        try await alice.gets("call_ringing", callID)
        let candidate = alice.callFields("call_ice_candidate", callID, to: bob.id)
        for _ in 0..<3 { alice.client.send("call_ice_candidate", candidate) }
        try await bob.gets("call_ice_candidate", callID)
        let answer = bob.callFields("call_answer", callID, to: alice.id)
        for _ in 0..<3 { bob.client.send("call_answer", answer) }
        let end = bob.callFields("call_end", callID, to: alice.id)
        for _ in 0..<3 { bob.client.send("call_end", end) }
        try await alice.gets("call_end", callID)
        try await bob.settle(with: alice)
        try await alice.settle(with: bob)
        #expect(bob.client.frames("call_incoming").isEmpty)
        #expect(bob.client.frames("call_ice_candidate").isEmpty)
        #expect(alice.client.frames("call_answer").count == 1)
        #expect(alice.client.frames("call_end").isEmpty)
        #expect(alice.client.frames("error").isEmpty && bob.client.frames("error").isEmpty)
    }

    // MARK: Who may say what

    @Test func aStrangersFramesFindNoCall() async throws {
        let (alice, bob) = try await Self.pair()
        let eve = try await Cluster.phone()
        let callID = try await alice.rings(bob)
        for type in ["call_answer", "call_ice_candidate", "call_end"] {
            for victim in [alice, bob] { #expect(try await eve.ask(type, callID, to: victim).errorCode == "NOT_FOUND") }
            #expect(try await alice.ask(type, newUUID(), to: bob).errorCode == "NOT_FOUND")
            // The call is between others as far as this pair is concerned.
            #expect(try await alice.ask(type, callID, to: eve).errorCode == "NOT_FOUND")
        }
        bob.send("call_answer", callID, to: alice)
        try await alice.gets("call_answer", callID)
    }

    @Test func theCallerCannotAnswer() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = try await alice.rings(bob)
        #expect(try await alice.ask("call_answer", callID, to: bob).errorCode == "FORBIDDEN")
        // Nor can the callee begin it.
        #expect(try await bob.ask("call_initiate", callID, to: alice, ["isVideo": false]).errorCode == "FORBIDDEN")
        bob.send("call_answer", callID, to: alice)
        try await alice.gets("call_answer", callID)
    }

    @Test func nothingIsSaidInACallThatIsOver() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = try await alice.rings(bob)
        alice.send("call_end", callID, to: bob, ["reason": "cancelled"])
        #expect(try await bob.getsEnd(callID) == "cancelled")
        for type in ["call_answer", "call_ice_candidate", "call_end"] {
            #expect(try await bob.ask(type, callID, to: alice).errorCode == "NOT_FOUND")
            #expect(try await alice.ask(type, callID, to: bob).errorCode == "NOT_FOUND")
        }
        // The same id does not ring again.
        alice.calls(bob, callID)
        #expect(try await alice.getsEnd(callID) == "cancelled")
        try await alice.settle(with: bob)
        try await bob.client.settle()
        #expect(bob.client.frames("call_incoming").isEmpty)
    }

    @Test func framesAreCheckedInTheContractsOrder() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = newUUID()
        let call: (Fields, (inout Fields) -> Void) -> Fields = {
            alice.callFields("call_initiate", callID, to: bob.id, ["isVideo": false].merging($0) { $1 }, change: $1)
        }
        func code(_ fields: Fields) async throws -> String? {
            try await alice.client.ask("call_initiate", fields).errorCode
        }
        #expect(try await code(call([:]) { _ in }.without("isVideo")) == "INVALID_PAYLOAD")
        #expect(try await code(call([:]) { $0["to"] = alice.id }) == "INVALID_PAYLOAD")
        #expect(try await code(call([:]) { $0["from"] = "WSP-AAAA-AAAA-AAAA" }) == "FORBIDDEN")
        #expect(try await code(call(["nonce": Keys.random(24).base64]) { _ in }) == "AUTH_FAILED")
        // Signed as another frame.
        let foreign = alice.callFields("call_answer", callID, to: bob.id, ["isVideo": false])
        #expect(try await code(foreign) == "AUTH_FAILED")
        #expect(try await code(call([:]) { $0["timestamp"] = nowMilliseconds() - 660_000 }) == "INVALID_TIMESTAMP")
        let nobody = "WSP-AAAA-AAAA-AAAA"
        #expect(
            try await code(alice.callFields("call_initiate", callID, to: nobody, ["isVideo": false])) == "NOT_FOUND")
        try await alice.settle(with: bob)
        #expect(bob.client.frames.isEmpty)
    }

    @Test func aBannedCalleeCannotBeCalled() async throws {
        let (alice, bob) = try await Self.pair()
        try await Operators.ban(bob)
        let refusal = try await alice.ask("call_initiate", newUUID(), to: bob, ["isVideo": false])
        #expect(refusal.errorCode == "FORBIDDEN")
    }

    // MARK: One person, one call

    @Test(arguments: [false, true]) func whoIsInACallIsBusy(isAnswered: Bool) async throws {
        let (alice, bob) = try await Self.pair()
        let callID = isAnswered ? try await alice.talks(to: bob) : try await alice.rings(bob)
        // Several pairs, and so several shares.
        for _ in 0..<4 {
            let carol = try await Cluster.phone()
            for party in [alice, bob] {
                let answer = try await carol.ask("call_initiate", newUUID(), to: party, ["isVideo": false])
                #expect(answer.type == "call_end")
                #expect(answer.payload["reason"]?.string == "busy")
            }
        }
        alice.send("call_end", callID, to: bob)
        try await bob.gets("call_end", callID)
        let carol = try await Cluster.phone()
        _ = try await carol.rings(bob)
        #expect(bob.client.frames("call_incoming").isEmpty)
    }

    @Test func manyCallersAtOnceAndOneGetsThrough() async throws {
        let bob = try await Cluster.phone()
        var callers: [Phone] = []
        for index in 0..<8 { callers.append(try await Cluster.phone(gateway: 1 + index % 2)) }
        let calls = callers.map { ($0, $0.calls(bob)) }
        var busy = 0
        for (caller, callID) in calls {
            let frame = try await caller.client.frame("a verdict") { $0.payload["callId"]?.string == callID }
            if frame.type == "call_end" { busy += 1 } else { #expect(frame.type == "call_ringing") }
        }
        #expect(busy == 7)
        #expect(bob.client.frames("call_incoming").count == 1)
    }

    /// The lower id lives, whoever was first.
    @Test(arguments: [true, false]) func ofTwoCallsThatCrossTheLowerLives(isLowerFirst: Bool) async throws {
        let (alice, bob) = try await Self.pair()
        let ids = [newUUID(), newUUID()].sorted()
        let first = isLowerFirst ? ids[0] : ids[1]
        let second = isLowerFirst ? ids[1] : ids[0]
        alice.calls(bob, first)
        try await bob.gets("call_incoming", first)
        bob.calls(alice, second)
        if isLowerFirst {
            #expect(try await bob.getsEnd(second) == "busy")
            #expect(alice.client.frames("call_incoming").isEmpty)
            bob.send("call_answer", first, to: alice)
            try await alice.gets("call_answer", first)
        } else {
            #expect(try await alice.getsEnd(first) == "busy")
            #expect(try await bob.getsEnd(first) == "busy")
            try await alice.gets("call_incoming", second)
            alice.send("call_answer", second, to: bob)
            try await bob.gets("call_answer", second)
        }
    }

    @Test(arguments: 0..<6) func crossingCallsAgreeAtTheSameMoment(_: Int) async throws {
        let (alice, bob) = try await Self.pair()
        let (one, other) = (newUUID(), newUUID())
        alice.calls(bob, one)
        bob.calls(alice, other)
        let lower = min(one, other)
        let (caller, callee) = lower == one ? (alice, bob) : (bob, alice)
        #expect(try await callee.getsEnd(max(one, other)) == "busy")
        try await callee.gets("call_incoming", lower)
        callee.send("call_answer", lower, to: caller)
        try await caller.gets("call_answer", lower)
    }

    // MARK: Away

    @Test func whoIsAwayIsWokenAndGetsTheCallWhenBack() async throws {
        let (alice, bob) = try await Self.pair()
        try await bob.leaves()
        let callID = newUUID()
        let before = nowMilliseconds()
        alice.calls(bob, callID, isVideo: true)
        let candidates = (0..<5).map { _ in alice.callFields("call_ice_candidate", callID, to: bob.id) }
        for candidate in candidates { alice.client.send("call_ice_candidate", candidate) }
        var wakes: [Wake] = []
        try await waitUntil("a wake-up is asked for", within: .seconds(30)) {
            wakes = try await Cluster.callWakes(for: bob)
            return !wakes.isEmpty
        }
        let wake = try #require(wakes.first)
        guard case .call(isVideo: true, let until) = wake.reason else {
            Issue.record("\(wake.reason)")
            return
        }
        #expect((before + 44_000...nowMilliseconds() + 46_000).contains(until.milliseconds))
        // The woken app asks first.
        let ringing = try await Cluster.ringing(for: bob)
        #expect(ringing.map { $0["callId"]?.string } == [callID])
        #expect(ringing.first?["wakeId"]?.string == "\(wake.wakeID)")
        #expect(ringing.first?["from"]?.string == alice.id)
        #expect(try await Cluster.ringing(for: alice).isEmpty)

        let back = try await Cluster.reconnected(bob, gateway: 1)
        try await back.ask("fetch_pending").expecting("pending_messages")
        try await back.gets("call_incoming", callID)
        let got = try await back.getsCandidates(candidates.count, callID)
        #expect(got == candidates.map { $0["sig"]?.json })
        try await alice.gets("call_ringing", callID)
        back.send("call_answer", callID, to: alice)
        try await alice.gets("call_answer", callID)
        // It was taken: nothing to cancel.
        #expect(try await Cluster.callWakes(for: bob).map(\.reason) == [wake.reason])
        #expect(try await Cluster.ringing(for: bob).isEmpty)
    }

    @Test func aCallThatEndsBeforeItsCalleeIsBackCancelsThePush() async throws {
        let (alice, bob) = try await Self.pair()
        try await bob.leaves()
        let callID = alice.calls(bob)
        try await alice.settle(with: bob)
        alice.send("call_end", callID, to: bob, ["reason": "cancelled"])
        var wakes: [Wake] = []
        try await waitUntil("both wake-ups are asked for", within: .seconds(30)) {
            wakes = try await Cluster.callWakes(for: bob)
            return wakes.count >= 2
        }
        #expect(wakes.last?.reason == .callOver)
        #expect(Set(wakes.map(\.wakeID)).count == 1)
        #expect(try await Cluster.ringing(for: bob).isEmpty)
        // The phone rings by the push alone: it hears that it is over.
        let back = try await Cluster.reconnected(bob)
        try await back.ask("fetch_pending").expecting("pending_messages")
        #expect(try await back.getsEnd(callID) == "cancelled")
        #expect(back.client.frames("call_incoming").isEmpty)
    }

    /// 64 are kept for who is away; the newest beyond are dropped.
    @Test func candidatesForWhoIsAwayHaveABound() async throws {
        let (alice, bob) = try await Self.pair()
        try await bob.leaves()
        let callID = alice.calls(bob)
        let sent = (0..<80).map { _ in alice.callFields("call_ice_candidate", callID, to: bob.id) }
        for fields in sent { alice.client.send("call_ice_candidate", fields) }
        try await alice.settle(with: bob)
        let back = try await Cluster.reconnected(bob)
        try await back.ask("fetch_pending").expecting("pending_messages")
        try await back.gets("call_incoming", callID)
        let got = try await back.getsCandidates(Limits.callCandidatesBufferedMax, callID)
        #expect(got == sent.prefix(64).map { $0["sig"]?.json })
        try await back.settle(with: alice)
        #expect(back.client.frames("call_ice_candidate").isEmpty)
    }

    @Test func aCalleeWhoMovesGetsTheCallAgain() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = try await alice.rings(bob)
        alice.send("call_ice_candidate", callID, to: bob)
        try await bob.gets("call_ice_candidate", callID)
        let moved = try await Cluster.reconnected(bob, gateway: 1)
        try await moved.ask("fetch_pending").expecting("pending_messages")
        try await moved.gets("call_incoming", callID)
        try await moved.gets("call_ice_candidate", callID)
        moved.send("call_answer", callID, to: alice)
        try await alice.gets("call_answer", callID)
        // The caller heard once that it rings.
        #expect(alice.client.frames("call_ringing").isEmpty)
    }

    @Test func aCallerWhoMovesHearsTheAnswer() async throws {
        let (alice, bob) = try await Self.pair()
        let callID = try await alice.rings(bob)
        try await alice.leaves()
        bob.send("call_answer", callID, to: alice)
        bob.send("call_ice_candidate", callID, to: alice)
        try await bob.settle(with: alice)
        let moved = try await Cluster.reconnected(alice, gateway: 2)
        try await moved.ask("fetch_pending").expecting("pending_messages")
        try await moved.gets("call_answer", callID)
        try await moved.gets("call_ice_candidate", callID)
    }

    // MARK: Asking over HTTP

    @Test func onlyASessionMayAskWhatRings() async throws {
        let port = Cluster.stack.ports.public
        for headers in [
            [:], ["Authorization": "Bearer \(String(repeating: "A", count: 43))"], ["Authorization": "Basic x"],
        ] {
            let answer = try #require(await LoopbackRequest.get("/calls/ringing", port: port, headers: headers))
            #expect(answer.status == 401)
            #expect(answer.body.contains("NOT_REGISTERED"))
        }
        let bob = try await Cluster.phone()
        #expect(try await Cluster.ringing(for: bob).isEmpty)
    }

    @Test func turnCredentialsAreNobodysName() async throws {
        let alice = try await Cluster.phone()
        let answers = [try await alice.ask("get_turn_credentials"), try await alice.ask("get_turn_credentials")]
        for answer in answers {
            let turn = try answer.expecting("turn_credentials").payload
            let ttl = try #require(turn["ttl"]?.integer)
            #expect((39_600...43_200).contains(ttl))
            #expect(turn["urls"]?.elements.isEmpty == false)
            let parts = try #require(turn["username"]?.string).split(separator: ":")
            #expect(parts.count == 2)
            #expect(abs(try #require(Int64(parts[0])) - nowMilliseconds() / 1_000 - Int64(ttl)) < 60)
            #expect(turn["credential"]?.string?.bytesOfBase64?.count == 20)
        }
    }

    /// So a relay's quota for each user counts. Asked again if an hour ended meanwhile.
    @Test func anIdentityHasOneNameAtRelaysInAnHour() async throws {
        let (alice, bob) = try await Self.pair()
        func username(_ phone: Phone) async throws -> String {
            let answer = try await phone.ask("get_turn_credentials").expecting("turn_credentials")
            return try #require(answer.payload["username"]?.string)
        }
        func hour() -> Int64 { nowMilliseconds() / 3_600_000 }
        var names: [String] = []
        var asked: Int64
        repeat {
            asked = hour()
            names = [try await username(alice), try await username(alice), try await username(bob)]
        } while hour() != asked
        #expect(names[0] == names[1])
        #expect(names[0].split(separator: ":")[1] != names[2].split(separator: ":")[1])
        #expect(!names.joined().contains(alice.id) && !names.joined().contains(bob.id))
    }

    /// Contract §13a. Several callees, and so several shares and both processes.
    @Test func whoIsRungMayCallOut() async throws {
        let (alice, bob) = try await Self.pair()
        let ringing = try await alice.rings(bob)
        for _ in 0..<4 {
            let carol = try await Cluster.phone()
            let call = try await bob.rings(carol)
            // Third callers find both busy.
            let dave = try await Cluster.phone()
            for party in [bob, carol] {
                let answer = try await dave.ask("call_initiate", newUUID(), to: party, ["isVideo": false])
                #expect(answer.payload["reason"]?.string == "busy")
            }
            #expect(try await Cluster.ringing(for: bob).map { $0["callId"]?.string } == [ringing])
            bob.send("call_end", call, to: carol, ["reason": "cancelled"])
            #expect(try await carol.getsEnd(call) == "cancelled")
        }
        bob.send("call_answer", ringing, to: alice)
        try await alice.gets("call_answer", ringing)
    }

    /// The call that the callee began itself ends, whichever process has it.
    @Test func whoAnswersLeavesTheCallItBegan() async throws {
        let (alice, bob) = try await Self.pair()
        let carol = try await Cluster.phone()
        let ringing = try await alice.rings(bob)
        let own = try await bob.rings(carol)
        bob.send("call_answer", ringing, to: alice)
        try await alice.gets("call_answer", ringing)
        let end = try await carol.gets("call_end", own, within: .seconds(40))
        #expect(end.payload["reason"]?.string == "cancelled")
    }

    @Test func metricsCountWhatBecameOfCalls() async throws {
        func answered() async throws -> Double {
            var sum = 0.0
            for instance in [1, 2] {
                let port = try #require(Cluster.stack.ports[.calls, instance]?.ops)
                let text = try #require(await LoopbackRequest.get("/metrics", port: port)).body
                for line in text.split(separator: "\n")
                where line.hasPrefix("whisper_call_setup_total") && line.contains(#"result="answered""#) {
                    sum += Double(line.split(separator: " ").last ?? "") ?? 0
                }
            }
            return sum
        }
        let before = try await answered()
        let (alice, bob) = try await Self.pair()
        _ = try await alice.talks(to: bob)
        #expect(try await answered() >= before + 1)
    }
}

/// Calls that ring for six seconds.
@Suite(
    .cluster {
        pairOfServices(&$0)
        $0.environment[.calls] = ["CALL_RING_SECONDS": "6"]
    })
struct ImpatientCluster {
    @Test func whatNobodyAnswersEndsForBoth() async throws {
        let (alice, bob) = try await CallCluster.pair()
        let start = ContinuousClock.now
        let callID = try await alice.rings(bob)
        #expect(try await alice.getsEnd(callID) == "timeout")
        let end = try await bob.gets("call_end", callID)
        #expect(end.payload.members.keys.sorted() == ["callId", "reason", "timestamp"])
        #expect(end.payload["reason"]?.string == "timeout")
        #expect(ContinuousClock.now - start >= .milliseconds(5_900))
        #expect(try await bob.ask("call_answer", callID, to: alice).errorCode == "NOT_FOUND")
        // And the lines are free.
        _ = try await bob.rings(alice)
    }

    @Test func aCalleeWhoNeverComesIsWokenAndThePushCancelled() async throws {
        let (alice, bob) = try await CallCluster.pair()
        try await bob.leaves()
        let callID = alice.calls(bob)
        #expect(try await alice.getsEnd(callID) == "timeout")
        try await waitUntil("the push is cancelled", within: .seconds(30)) {
            try await Cluster.callWakes(for: bob).last?.reason == .callOver
        }
        #expect(alice.client.frames("call_ringing").isEmpty)
    }

    @Test func anAnsweredCallDoesNotTimeOut() async throws {
        let (alice, bob) = try await CallCluster.pair()
        let callID = try await alice.talks(to: bob)
        // Another call's whole ring goes by.
        let (carol, dan) = try await CallCluster.pair()
        let other = try await carol.rings(dan)
        #expect(try await carol.getsEnd(other) == "timeout")
        alice.send("call_ice_candidate", callID, to: bob)
        try await bob.gets("call_ice_candidate", callID)
        #expect(alice.client.frames("call_end").isEmpty)
    }
}

/// Calls go on when the services that carry them die.
@Suite(.serialized, .cluster(pairOfServices))
struct MistreatedCallCluster {
    @Test(arguments: [1, 2]) func aKilledCallsServiceIsReplacedWhileItRings(instance: Int) async throws {
        // Several pairs: some of them belong to the one that dies.
        var calls: [(alice: Phone, bob: Phone, id: String)] = []
        for _ in 0..<6 {
            let (alice, bob) = try await CallCluster.pair()
            calls.append((alice, bob, try await alice.rings(bob)))
        }
        await Cluster.stack.kill(.calls(instance))
        for (alice, bob, id) in calls {
            // Safe to retry: the frame counts once.
            let candidate = bob.callFields("call_ice_candidate", id, to: alice.id)
            bob.client.send("call_ice_candidate", candidate)
            bob.send("call_answer", id, to: alice)
            try await alice.gets("call_ice_candidate", id)
            try await alice.gets("call_answer", id)
            #expect(bob.client.frames("error").isEmpty)
        }
        try await Cluster.stack.start(.calls(instance))
    }

    @Test func whatWaitsOutlivesAllCallsServices() async throws {
        let (alice, bob) = try await CallCluster.pair()
        try await bob.leaves()
        let callID = alice.calls(bob)
        let candidates = (0..<3).map { _ in alice.callFields("call_ice_candidate", callID, to: bob.id) }
        for candidate in candidates { alice.client.send("call_ice_candidate", candidate) }
        try await alice.settle(with: bob)
        for instance in [1, 2] { await Cluster.stack.kill(.calls(instance)) }
        for instance in [1, 2] { try await Cluster.stack.start(.calls(instance)) }
        #expect(try await Cluster.ringing(for: bob).map { $0["callId"]?.string } == [callID])
        let back = try await Cluster.reconnected(bob)
        try await back.ask("fetch_pending").expecting("pending_messages")
        try await back.gets("call_incoming", callID)
        let got = try await back.getsCandidates(candidates.count, callID)
        #expect(got == candidates.map { $0["sig"]?.json })
        try await alice.gets("call_ringing", callID)
    }

    @Test func aFlushedRedisDoesNotEndACall() async throws {
        let (alice, bob) = try await CallCluster.pair()
        try await bob.leaves()
        let callID = alice.calls(bob)
        try await alice.settle(with: bob)
        try await Cluster.stack.flushRedis()
        #expect(try await Cluster.ringing(for: bob).map { $0["callId"]?.string } == [callID])
        let back = try await Cluster.reconnected(bob)
        try await back.ask("fetch_pending").expecting("pending_messages")
        try await back.gets("call_incoming", callID)
        back.send("call_answer", callID, to: alice)
        try await alice.gets("call_answer", callID)
    }

    @Test func aKilledGatewayIsNoEndForItsCallee() async throws {
        let alice = try await Cluster.phone(gateway: 1)
        let bob = try await Cluster.phone(gateway: 2)
        await Cluster.stack.kill(.gateway(2))
        let callID = alice.calls(bob)
        try await waitUntil("a wake-up is asked for", within: .seconds(10)) {
            try await !Cluster.callWakes(for: bob).isEmpty
        }
        let back = try await Cluster.reconnected(bob, gateway: 1)
        try await back.ask("fetch_pending").expecting("pending_messages")
        try await back.gets("call_incoming", callID)
        try await alice.gets("call_ringing", callID)
        try await Cluster.stack.start(.gateway(2))
    }
}
