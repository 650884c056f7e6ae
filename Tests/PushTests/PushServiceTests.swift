import Bus
import ClusterContract
import Contract
import LocalStack
import ServerCrypto
import Testing

@testable import PushCore

/// Mail's wake-ups from the Job to the database, with a provider that is told what to answer.
@Suite(.timeLimit(.minutes(20))) struct PushServiceTests {
    private let alice = WhisperID(bits: 1)!
    private let bob = WhisperID(bits: 2)!

    @Test func jobsAreSentCoalescedAndEndedByADrain() async throws {
        try await PushBench.with { bench in
            for id in [self.alice, self.bob] {
                try await bench.device(id)
                try await bench.mail(for: id)
            }
            let provider = ScriptedProvider()
            let first = try await bench.wake(self.alice)
            for id in [self.alice, self.alice, self.bob] { try await bench.wake(id) }
            try await bench.running(provider) {
                try await provider.wait(for: 2)
            }
            #expect(try await bench.depth() == [0, 0])
            #expect(provider.sent.count == 2)
            #expect(provider.sent.contains { $0.push.wakeID == first })
            #expect(
                try await bench.sql("SELECT count(*) FROM push.recipients WHERE unanswered = 1 AND due_at > now()")
                    == "2")
        }
    }

    /// Two identities on one phone, and one that has shown no secret.
    @Test func eachPushHasTheTagOfItsIdentity() async throws {
        try await PushBench.with { bench in
            let carol = try #require(WhisperID(bits: 3))
            let secrets = [
                self.alice: try #require(WakeSecret([UInt8](repeating: 1, count: 16))),
                self.bob: try #require(WakeSecret([UInt8](repeating: 2, count: 16))),
            ]
            var owners: [UUIDText: WhisperID] = [:]
            for id in [self.alice, self.bob, carol] {
                try await bench.device(id, secret: secrets[id], isShared: id != carol)
                try await bench.mail(for: id)
                owners[try await bench.wake(id)] = id
                let call = UUIDText.random()
                owners[call] = id
                try await bench.call(id, .call(isVideo: false, until: .now + .seconds(45)), call)
            }
            let provider = ScriptedProvider()
            try await bench.running(provider) { try await provider.wait(for: 6) }
            #expect(Set(provider.sent.map(\.push.wakeID)) == Set(owners.keys))
            for push in provider.sent.map(\.push) {
                let owner = try #require(owners[push.wakeID])
                for (id, secret) in secrets {
                    let tag = secret.tag(of: push.wakeID) { hmacSHA256(key: $0, $1).bytes }
                    #expect((push.tag == tag) == (id == owner), "\(push.kind)")
                }
                #expect((push.tag == nil) == (owner == carol))
                // Mail of an identity alone on its phone replaces older mail.
                #expect((push.collapseKey == "mail") == (owner == carol && push.kind == .mail(isReminder: false)))
            }
        }
    }

    /// However small the tables were when its statements were planned.
    @Test func aPushReadsNoTableWhole() async throws {
        try await PushBench.with { bench in
            let table = RecipientTable(bench.pool)
            func scans() async throws -> String {
                // One connection after the other, so that each says what it has counted.
                for _ in 0..<16 { _ = try await bench.pool.query("SELECT pg_stat_force_next_flush()") }
                return try await bench.sql(
                    "SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE relname IN ('recipients', 'push_tokens')")
            }
            try await bench.device(self.alice)
            let before = try await scans()
            let time = try await table.time()
            for _ in 0..<8 {
                _ = try await table.read([self.alice, self.bob])
                _ = try await table.devices(of: [self.alice, self.bob])
                let history = WakePlan.History(sentAt: time, unanswered: 1, dueAt: time)
                try await table.write(
                    [
                        RecipientTable.Record(
                            recipient: self.alice, wakeID: .random(), provider: .apns, result: .sent, history: history,
                            triedAt: time)
                    ], [])
                try await table.hold([(id: self.alice, until: time)])
                #expect(try await table.takeDue(lease: .seconds(1), limit: 10).count == 1)
                #expect(try await table.woke([self.alice]) == [self.alice])
            }
            #expect(try await scans() == before)
        }
    }

    /// However late the result of a try is.
    @Test func anErasedIdentityGetsNoRow() async throws {
        try await PushBench.with { bench in
            let table = RecipientTable(bench.pool)
            let time = try await table.time()
            try await bench.device(self.alice)
            func record(_ id: WhisperID) -> RecipientTable.Record {
                RecipientTable.Record(
                    recipient: id, wakeID: .random(), provider: .apns, result: .sent,
                    history: WakePlan.History(sentAt: time, unanswered: 1, dueAt: time), triedAt: time)
            }
            func letter(_ id: WhisperID) -> RecipientTable.DeadLetter {
                RecipientTable.DeadLetter(
                    recipient: id, wakeID: .random(), kind: "mail", provider: .apns, reason: .refused, tries: 1)
            }
            try await table.write([self.alice, self.bob].map(record), [self.alice, self.bob].map(letter))
            for rows in ["recipients", "dead_letters"] {
                #expect(try await bench.sql("SELECT recipient FROM push.\(rows)") == "\(self.alice.bits)")
            }
        }
    }

    @Test func whoHasNoTokenIsNotPushedAndTheJobEnds() async throws {
        try await PushBench.with { bench in
            let provider = ScriptedProvider()
            try await bench.mail(for: self.alice)
            try await bench.wake(self.alice)
            try await bench.running(provider) {
                try await waitUntil("it is written", within: .seconds(10)) {
                    try await bench.sql("SELECT result FROM push.recipients") == "no_token"
                }
            }
            #expect(provider.sent.isEmpty)
            #expect(try await bench.depth() == [0, 0])
        }
    }

    @Test func whoHasReadEverythingMeanwhileIsNotPushed() async throws {
        try await PushBench.with { bench in
            for id in [self.alice, self.bob] { try await bench.device(id, push: "\(id)") }
            try await bench.mail(for: self.bob)
            for id in [self.alice, self.bob] { try await bench.wake(id) }
            let provider = ScriptedProvider()
            try await bench.running(provider) { try await provider.wait(for: 1) }
            #expect(try await bench.depth() == [0, 0])
            #expect(provider.sent.count == 1)
            #expect(
                try await bench.sql("SELECT count(*) FROM push.recipients WHERE recipient = \(self.alice.bits)") == "0")
        }
    }

    @Test func jobsOfAProcessThatDiedAreTakenOver() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            let wake = try await bench.wake(self.alice)
            let held = try await bench.bus.take(
                from: Keyspace.wakes.name, group: "push", consumer: "dead", limit: 1, blockFor: .zero)
            #expect(held.count == 1)
            let provider = ScriptedProvider()
            try await bench.running(provider, claimIdle: .zero) { try await provider.wait(for: 1) }
            #expect(provider.sent.last?.push.wakeID == wake)
            #expect(try await bench.depth() == [0, 0])
        }
    }

    @Test func withoutADatabaseJobsAreKept() async throws {
        try await PushBench.with(alone: true) { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            try await bench.wake(self.alice)
            await bench.database.server.kill()
            let provider = ScriptedProvider()
            try await bench.running(provider, claimIdle: .zero) {
                try await bench.database.server.start()
                try await provider.wait(for: 1)
            }
            #expect(try await bench.depth() == [0, 0])
        }
    }

    @Test func aJobThatCannotBeReadIsDropped() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            try await bench.bus.append([1, 2, 3], to: Keyspace.wakes.name)
            try await bench.wake(self.alice)
            let provider = ScriptedProvider()
            try await bench.running(provider) { try await provider.wait(for: 1) }
            #expect(try await bench.depth() == [0, 0])
        }
    }

    @Test func aFailedPushIsTriedAgainFromTheDatabase() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            try await bench.wake(self.alice)
            let provider = ScriptedProvider { number, _ in number < 3 ? .later(.unavailable, after: nil) : .sent }
            try await bench.running(provider, scale: 0.05) {
                try await provider.wait(for: 3)
                try await waitUntil("it is written", within: .seconds(20)) {
                    try await bench.sql("SELECT result || failures FROM push.recipients") == "sent0"
                }
            }
            #expect(Set(provider.kinds.map(\.name)) == ["mail"])
            #expect(provider.kinds == [Push.Kind](repeating: .mail(isReminder: false), count: 3))
        }
    }

    @Test func whatKeepsFailingBecomesADeadLetter() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            // All tries but three have failed.
            _ = try await bench.sql(
                """
                INSERT INTO push.recipients (recipient, tried_at, provider, result, wake_id, failures, due_at)
                SELECT \(self.alice.bits), now(), 'apns', 'throttled', gen_random_uuid(), \(WakePlan.failuresMax - 3), now()
                """)
            let provider = ScriptedProvider { _, _ in .later(.throttled, after: nil) }
            try await bench.running(provider, scale: 0.001) {
                try await waitUntil("it is given up", within: .seconds(30)) {
                    try await bench.sql("SELECT count(*) FROM push.dead_letters") == "1"
                }
            }
            #expect(provider.sent.count == 3)
            let row = try await bench.sql(
                "SELECT kind || ' ' || provider || ' ' || reason || ' ' || tries FROM push.dead_letters")
            #expect(row == "mail apns throttled \(WakePlan.failuresMax)")
            #expect(try await bench.sql("SELECT due_at IS NULL FROM push.recipients") == "t")
        }
    }

    @Test func aSecondWakeUpGoesOutWhileMailWaits() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            try await bench.wake(self.alice)
            let provider = ScriptedProvider()
            // 120 s become 1.2 s, 900 s 9 s.
            try await bench.running(provider, scale: 0.01) {
                try await provider.wait(for: 2)
                #expect(provider.kinds == [.mail(isReminder: false), .mail(isReminder: true)])
                try await bench.mailIsRead(by: self.alice)
                try await waitUntil("it is seen", within: .seconds(20)) {
                    try await bench.sql(
                        "SELECT unanswered = 0 AND woke_at IS NOT NULL AND due_at IS NULL FROM push.recipients")
                        == "t"
                }
            }
            #expect(provider.sent.count == 2)
        }
    }

    @Test func whoIsBackIsNotRemindedAndIsCounted() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            try await bench.wake(self.alice)
            let provider = ScriptedProvider()
            try await bench.running(provider, scale: 0.03) {
                try await provider.wait(for: 1)
                try await bench.appear(self.alice)
                try await waitUntil("it is seen", within: .seconds(10)) {
                    try await bench.sql("SELECT woke_at IS NOT NULL FROM push.recipients") == "t"
                }
                // It may be the presence of a gateway that died: as long as mail waits, somebody looks again.
                #expect(try await bench.sql("SELECT due_at IS NOT NULL FROM push.recipients") == "t")
                try await bench.mailIsRead(by: self.alice)
                _ = try await bench.sql("UPDATE push.recipients SET due_at = now() - interval '1 s'")
                try await waitUntil("nobody looks any more", within: .seconds(10)) {
                    try await bench.sql("SELECT due_at IS NULL FROM push.recipients") == "t"
                }
            }
            #expect(provider.sent.count == 1)
        }
    }

    /// The presence key of a gateway that died stays for minutes. Push looks again soon whether the gateway lives.
    @Test func whoSeemsToBeThereAndHasMailIsNotForgotten() async throws {
        try await PushBench.with { bench in
            for id in [self.alice, self.bob] {
                try await bench.device(id, push: "\(id)")
                try await bench.mail(for: id)
                try await bench.wake(id)
            }
            // Long pauses: nothing is tried again meanwhile.
            try await bench.running(ScriptedProvider { _, _ in .later(.unavailable, after: nil) }, scale: 100) {
                try await waitUntil("both failed", within: .seconds(20)) {
                    try await bench.sql("SELECT count(*) FROM push.recipients WHERE failures = 1") == "2"
                }
            }
            try await bench.appear(self.alice)
            try await bench.mailIsRead(by: self.bob)
            _ = try await bench.sql("UPDATE push.recipients SET due_at = now() - interval '1 s'")
            let due =
                "SELECT string_agg((due_at IS NOT NULL)::text, ' ' ORDER BY recipient <> \(self.alice.bits)) FROM push.recipients"
            let provider = ScriptedProvider()
            try await bench.running(provider) {
                // Both are looked at together; only who has nothing left to read is done.
                try await waitUntil("they are looked at", within: .seconds(20)) {
                    try await bench.sql(due).hasSuffix("false")
                }
                #expect(try await bench.sql(due) == "true false")
                let soon = PushLimits.lookAgain.components.seconds
                try await waitUntil("alice is looked at again soon", within: .seconds(5)) {
                    try await bench.sql(
                        """
                        SELECT due_at <= now() + \(soon) * interval '1 s' FROM push.recipients WHERE recipient = \(self.alice.bits)
                        """) == "t"
                }
                try await bench.gatewayDies()
                _ = try await bench.sql(
                    "UPDATE push.recipients SET due_at = now() - interval '1 s' WHERE due_at IS NOT NULL")
                try await provider.wait(for: 1)
            }
        }
    }

    @Test func anotherProcessTakesTheScheduleOver() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            try await bench.wake(self.alice)
            let first = ScriptedProvider()
            try await bench.running(first) {
                try await waitUntil("it is written", within: .seconds(10)) {
                    try await bench.sql("SELECT result FROM push.recipients") == "sent"
                }
            }
            _ = try await bench.sql("UPDATE push.recipients SET due_at = now() - interval '1 s'")
            let second = ScriptedProvider()
            try await bench.running(second) { try await second.wait(for: 1) }
            #expect(second.kinds == [.mail(isReminder: true)])
        }
    }

    @Test func whoDoesNotAnswerIsPushedMoreRarely() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice)
            try await bench.mail(for: self.alice)
            let provider = ScriptedProvider()
            try await bench.wake(self.alice)
            try await bench.running(provider) { try await provider.wait(for: 1) }
            try await bench.wake(self.alice)
            try await bench.running(provider) {
                try await waitUntil("it is held", within: .seconds(10)) { try await bench.depth() == [0, 0] }
            }
            #expect(provider.sent.count == 1)
            // The budget's pause, not the reminder's.
            #expect(try await bench.sql("SELECT due_at < now() + interval '31 s' FROM push.recipients") == "t")
            // A recipient that has read its mail meanwhile is pushed at once.
            try await bench.mailIsRead(by: self.alice)
            try await bench.mail(for: self.alice)
            _ = try await bench.sql("UPDATE router.waiting SET accepted_at = now() + interval '1 s'")
            try await bench.wake(self.alice)
            try await bench.running(provider) { try await provider.wait(for: 2) }
            #expect(provider.kinds.last == .mail(isReminder: false))
        }
    }

    /// A provider that lets one push wait holds up that one's Job, and nothing else.
    @Test func aSlowPushDoesNotHoldUpOthers() async throws {
        try await PushBench.with { bench in
            for id in [self.alice, self.bob] {
                try await bench.device(id)
                try await bench.mail(for: id)
            }
            let gate = AsyncStream.makeStream(of: Void.self)
            let provider = ScriptedProvider { number, _ in
                if number == 1 { for await _ in gate.stream { break } }
                return .sent
            }
            try await bench.wake(self.alice)
            try await bench.running(provider) {
                try await provider.wait(for: 1)
                try await bench.wake(self.bob)
                try await waitUntil("the other one is written", within: .seconds(20)) {
                    try await bench.sql("SELECT recipient FROM push.recipients") == "\(self.bob.bits)"
                }
                // Nothing is known of the slow one yet: its Job stays, and no other push goes to the same recipient.
                try await bench.wake(self.alice)
                try await Task.sleep(for: PushLimits.window + .seconds(2))
                #expect(provider.sent.count == 2)
                #expect(try await bench.depth() == [2, 0])
                gate.continuation.finish()
                try await waitUntil("both are written", within: .seconds(20)) {
                    try await bench.sql("SELECT count(*) FROM push.recipients WHERE unanswered = 1") == "2"
                }
                try await waitUntil("the Jobs are ended", within: .seconds(20)) { try await bench.depth() == [0, 0] }
            }
            // The second message found the first push unanswered: it is held.
            #expect(provider.sent.count == 2)
        }
    }

    @Test func aSlowRetryDoesNotHoldUpOthers() async throws {
        try await PushBench.with { bench in
            for id in [self.alice, self.bob] {
                try await bench.device(id)
                try await bench.mail(for: id)
                try await bench.wake(id)
            }
            // Long pauses: nothing is tried again by itself.
            try await bench.running(ScriptedProvider { _, _ in .later(.unavailable, after: nil) }, scale: 100) {
                try await waitUntil("both failed", within: .seconds(20)) {
                    try await bench.sql("SELECT count(*) FROM push.recipients WHERE failures = 1") == "2"
                }
            }
            let gate = AsyncStream.makeStream(of: Void.self)
            let provider = ScriptedProvider { number, _ in
                if number == 1 { for await _ in gate.stream { break } }
                return .sent
            }
            func isDue(_ id: WhisperID) async throws {
                _ = try await bench.sql(
                    "UPDATE push.recipients SET due_at = now() - interval '1 s' WHERE recipient = \(id.bits)")
            }
            let sent =
                "SELECT string_agg(recipient::text, ' ' ORDER BY recipient) FROM push.recipients WHERE result = 'sent'"
            try await bench.running(provider) {
                try await isDue(self.alice)
                try await provider.wait(for: 1)
                try await isDue(self.bob)
                try await waitUntil("the other one is written", within: .seconds(20)) {
                    try await bench.sql(sent) == "\(self.bob.bits)"
                }
                // As if its lease had ended: it is under way all the same.
                try await isDue(self.alice)
                try await Task.sleep(for: PushLimits.lookEvery * 2)
                #expect(provider.sent.count == 2)
                gate.continuation.finish()
                try await waitUntil("both are written", within: .seconds(20)) {
                    try await bench.sql(sent) == "\(self.alice.bits) \(self.bob.bits)"
                }
            }
        }
    }

    @Test func authIsToldOfATokenThatIsGone() async throws {
        try await PushBench.with { bench in
            try await bench.device(self.alice, push: "abcd")
            try await bench.mail(for: self.alice)
            try await bench.wake(self.alice)
            let at = Timestamp(milliseconds: 1_700_000_000_000)
            let provider = ScriptedProvider { _, _ in .tokenGone(asOf: at) }
            try await bench.running(provider) {
                try await waitUntil("auth is told", within: .seconds(10)) {
                    try await bench.bus.depth(of: [Keyspace.rejectedTokens.name]) == [1]
                }
            }
            let entry = try await bench.bus.take(
                from: Keyspace.rejectedTokens.name, group: "auth", consumer: "a", limit: 1, blockFor: .zero)[0]
            #expect(
                try RejectedToken(decoding: entry.bytes)
                    == RejectedToken(
                        identity: self.alice, kind: .push, tokenHash: SHA256.hash(Array("abcd".utf8)), asOf: at))
        }
    }
}
