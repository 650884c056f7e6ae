import LocalStack
import TestKit
import Testing

/// Somebody sets the time of the machines.
@Suite(.cluster(.busy) { $0.hasOwnClocks = true }, .serialized, .enabled(if: OwnClock.isAvailable))
struct ClockTests {
    /// Timers go by another clock than the wall's: a router whose clock was set back looks after its partitions all the same.
    @Test func aRouterWhoseClockWasSetBackTakesOverFromAnother() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let alice = try await Cluster.phone(gateway: 1)
        // Ids are random, so these are in partitions of both.
        var phones: [Phone] = []
        for _ in 0..<12 { phones.append(try await Cluster.phone(gateway: 2)) }
        let others = phones
        for other in others {
            try await alice.text(other)
            try await other.text(alice)
        }
        try stack.setClock(of: .router(1), offBy: 7_200)
        // Routers say by the wall clock when somebody was typing: once in 2 s, and not too often a minute.
        let pause = Duration.seconds(7)
        func early() async throws -> Int {
            for other in others {
                alice.client.send("typing", alice.privileges.with(["to": other.id, "isTyping": true]))
            }
            try await alice.client.settle()
            for other in others { try await other.client.settle() }
            let end = nowMilliseconds() + 3_600_000
            return others.reduce(0) { count, other in
                count + other.client.frames("typing_notification").count { $0.payload["timestamp"]?.integer ?? 0 > end }
            }
        }
        try await waitUntil("the clock has moved", within: .seconds(60), every: pause) { try await early() > 0 }
        // Messages accepted meanwhile get the database's time.
        for other in others { _ = try await alice.send(alice.message(to: other.id)) }
        #expect(
            try await Cluster.database(
                "SELECT count(*) FROM router.mailbox WHERE accepted_at NOT BETWEEN now() - interval '1 hour' AND now()")
                == "0")
        try stack.setClock(of: .router(1), offBy: 0)
        var seen = try await early()
        try await waitUntil("the clock is right again", within: .seconds(60), every: pause) {
            let before = seen
            seen = try await early()
            return seen == before
        }
        await stack.kill(.router(2))
        for other in others {
            try await waitUntil("somebody accepts for everybody", within: .seconds(30), every: .milliseconds(200)) {
                try await alice.send(alice.message(to: other.id)).type == "message_accepted"
            }
        }
        try await stack.start(.router(2))
    }

    private static let tenYears = 315_360_000

    /// The database's clock decides what is old (contract §13a, Time). Each service checks what it keeps when it
    /// starts: then old rows and files are deleted, and nothing else.
    @Test(arguments: [tenYears, -tenYears])
    func whatIsYoungOutlivesProcessesWhoseClocksAreOffByYears(seconds: Int) async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let banned = try await Cluster.phone()
        try await Operators.ban(banned, until: nowMilliseconds() + 3_600_000)
        let content = Keys.random(10)
        let key = try await alice.upload(content)
        let callID = try await alice.talks(to: bob)
        try await self.keep(.young, callID)
        let young = try await self.kept()
        let kinds = Set(young.compactMap { $0.split(separator: " ").first })
        #expect(kinds == ["session", "ban", "report", "letter", "recipient", "attachment", "call"])
        try await self.keep(.old, callID)

        let owners: [StackProcess] = [.auth(1), .attachments(1), .push(1), .calls(1)]
        for owner in owners {
            try stack.setClock(of: owner, offBy: seconds)
            try await stack.restart(owner)
        }
        try await waitUntil("what is old has gone", within: .seconds(60), every: .milliseconds(500)) {
            _ = try await Operators.post("/admin/attachments/gc/run", [:])
            return try await Cluster.database(Self.oldOnes) == "0"
        }
        // They look again: timers do not go by the wall's clock.
        _ = try await Cluster.database(
            """
            INSERT INTO auth.bans (whisper_id, reason, created_at, expires_at)
            SELECT whisper_id, 'old', now() - interval '1 hour', now() - interval '30 minutes'
            FROM auth.identities WHERE NOT is_banned LIMIT 1
            """)
        try await waitUntil("a ban that ended has gone", within: .seconds(30), every: .milliseconds(500)) {
            try await Cluster.database("SELECT count(*) FROM auth.bans WHERE reason = 'old'") == "0"
        }
        let lost = young.subtracting(try await self.kept())
        #expect(lost.isEmpty)
        // All of it is of use as before.
        #expect(try await alice.download(key) == content)
        bob.send("call_ice_candidate", callID, to: alice)
        try await alice.gets("call_ice_candidate", callID)
        #expect(try await Cluster.reconnected(banned).ask("fetch_pending").errorCode == "USER_BANNED")
        try await Cluster.reconnected(alice).ask("session_refresh").expecting("session_refresh_ack")
        try await Cluster.phone().text(bob)

        for owner in owners {
            try stack.setClock(of: owner, offBy: 0)
            try await stack.restart(owner)
        }
        #expect(try await Cluster.database(Self.endedAhead) == "0", "nothing was begun for years to come, or long ago")
    }

    private enum Age { case young, old }

    /// Rows as the services write them, of now or beyond their age. Old ones are told by their names.
    private func keep(_ age: Age, _ callID: String) async throws {
        let isOld = age == .old
        func ago(_ hours: Int) -> String { "now() - interval '\(isOld ? hours : 0) hours'" }
        let mark = isOld ? "old" : "young"
        _ = try await Cluster.database(
            """
            WITH someone AS (SELECT whisper_id, epoch FROM auth.identities WHERE NOT is_banned LIMIT 1),
            session AS (
                INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at)
                SELECT sha256('\(isOld ? mark : callID)'), whisper_id, gen_random_uuid(), 'ios', epoch, \(ago(1)) + interval '30 minutes'
                FROM someone),
            ban AS (
                INSERT INTO auth.bans (whisper_id, reason, created_at, expires_at)
                SELECT whisper_id, '\(mark)', \(ago(1)), \(ago(1)) + interval '30 minutes' FROM someone WHERE \(isOld)),
            report AS (
                INSERT INTO auth.reports (id, reporter, target, reason, note, status, created_at, reviewed_at)
                SELECT gen_random_uuid(), whisper_id, whisper_id, 'spam', '\(mark)', 'warned', now(), \(ago(401 * 24))
                FROM someone),
            letter AS (
                INSERT INTO push.dead_letters (at, recipient, wake_id, kind, provider, reason, tries)
                SELECT \(ago(31 * 24)), whisper_id, gen_random_uuid(), '\(mark)', 'apns', 'refused', 1 FROM someone),
            recipient AS (
                INSERT INTO push.recipients (recipient, tried_at, provider, result, wake_id)
                SELECT whisper_id + \(isOld ? 1 : 2), \(ago(15 * 24)), '\(mark)', 'sent', gen_random_uuid() FROM someone
                ON CONFLICT DO NOTHING),
            file AS (
                INSERT INTO attachments.attachments
                    (object_key, uploader, size_bytes, content_type, class, created_at, expires_at)
                SELECT 'att/2026/01/' || gen_random_uuid() || '.bin', whisper_id, 1, '\(mark)', 2, \(ago(25)),
                    \(ago(25)) + interval '15 minutes' FROM someone)
            INSERT INTO calls.calls (wake_id, share, call_id, id_case, caller, callee, is_video, started_at, rings_until,
                answered_at, is_woken)
            SELECT gen_random_uuid(), share, gen_random_uuid(), id_case, caller, callee, \(isOld), \(ago(13)), \(ago(13)),
                \(ago(13)), false
            FROM calls.calls WHERE call_id = '\(callID)' AND \(isOld)
            """)
    }

    private static let oldOnes = """
        SELECT (SELECT count(*) FROM auth.sessions WHERE token_hash = sha256('old'))
            + (SELECT count(*) FROM auth.bans WHERE reason = 'old') + (SELECT count(*) FROM auth.reports WHERE note = 'old')
            + (SELECT count(*) FROM push.dead_letters WHERE kind = 'old')
            + (SELECT count(*) FROM push.recipients WHERE provider = 'old')
            + (SELECT count(*) FROM attachments.attachments WHERE content_type = 'old')
            + (SELECT count(*) FROM calls.calls WHERE started_at < now() - interval '13 hours')
        """

    private static let endedAhead = """
        SELECT (SELECT count(*) FROM auth.sessions WHERE expires_at NOT BETWEEN now() AND now() + interval '8 days')
            + (SELECT count(*) FROM attachments.attachments WHERE created_at < now() - interval '1 day' OR created_at > now())
            + (SELECT count(*) FROM auth.audit_events WHERE at < now() - interval '1 day' OR at > now())
        """

    /// Rows that nothing may remove. The cluster goes on meanwhile: there may be more of them later.
    private func kept() async throws -> Set<String> {
        let rows = try await Cluster.database(
            """
            SELECT 'session ' || encode(token_hash, 'hex') FROM auth.sessions WHERE expires_at > now() AND dies_at IS NULL
            UNION ALL SELECT 'ban ' || whisper_id FROM auth.bans
            UNION ALL SELECT 'report ' || id FROM auth.reports
            UNION ALL SELECT 'letter ' || number FROM push.dead_letters
            UNION ALL SELECT 'recipient ' || recipient FROM push.recipients
            UNION ALL SELECT 'attachment ' || object_key FROM attachments.attachments
            UNION ALL SELECT 'call ' || wake_id FROM calls.calls WHERE ended_at IS NULL
            """)
        return Set(rows.split(separator: "\n").map(String.init))
    }
}
