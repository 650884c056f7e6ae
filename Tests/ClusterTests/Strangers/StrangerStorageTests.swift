import Contract
import LocalStack
import TestKit
import Testing

/// Bounds on the data of strangers in the cluster (contract §13b). Counts that a sweep takes twice a minute are put
/// where it would put them: a store of all strangers together is full then.
extension StrangerCluster {
    @Test func allMailOfStrangersTogetherIsBounded() async throws {
        let (alice, friend) = try await Cluster.friends()
        let mallory = try await Cluster.stranger(gateway: 2)
        // In every mailbox. Each router learns it within seconds, and the two mailboxes may have two routers.
        try await Self.full("router", "mail") { () async throws in
            for recipient in [alice, friend] {
                try await waitUntil("a stranger is refused", within: .seconds(30), every: .milliseconds(200)) {
                    try await mallory.send(mallory.message(to: recipient.id)).isFull
                }
            }
            // Somebody with a peer writes to whom it likes.
            try await friend.text(alice)
            try await friend.text(mallory)
        }
        for recipient in [alice, friend] {
            try await waitUntil("there is room again", within: .seconds(30), every: .milliseconds(200)) {
                try await mallory.send(mallory.message(to: recipient.id)).type == "message_accepted"
            }
        }
    }

    @Test func linesOfAStrangerAreBounded() async throws {
        let stream = try await StrangerStream.begun(on: try await Cluster.stranger(gateway: 1))
        // Each counts its ciphertext and its row.
        let bytes = 12_000
        let room = StrangerBounds.lineBytes / (bytes + 160)
        var typed = stream.whisperer
        for line in 1...room + 3 { typed.repeats(line: line, bytes: bytes) }
        let (kept, notKept) = try await stream.told(room + 3)
        #expect(kept == Set(1...room) && notKept == Set(room + 1...room + 3))
        // The transcript lacks them, and what is kept is told as kept again.
        let listed = try await stream.phone.http("GET", "/live/\(stream.conversation.id)/transcripts").json
        #expect(listed["transcripts"]?.elements.first?["lines"]?.integer == Int64(room))
        typed.repeats(line: 1)
        #expect(try await stream.told(1).kept == [1])

        // With a peer there is the room of a profile.
        try await stream.phone.becomesPeer(of: try await Cluster.stranger(gateway: 2))
        typed.repeats(line: room + 1)
        #expect(try await stream.told(1).kept == [room + 1])
    }

    @Test func allLinesOfStrangersTogetherAreBounded() async throws {
        let mallory = try await StrangerStream.begun(on: try await Cluster.stranger(gateway: 1))
        let (alice, _) = try await Cluster.friends()
        let friendly = try await StrangerStream.begun(on: alice)
        try await Self.full("calls", "lines") { () async throws in
            var typed = (mallory.whisperer, friendly.whisperer)
            typed.0.say("line")
            typed.1.say("line")
            #expect(try await mallory.told(1).notKept == [1])
            #expect(try await friendly.told(1).kept == [1])
        }
    }

    @Test func sharesOfAProfileAreBounded() async throws {
        let stream = try await StrangerStream.begun(on: try await Cluster.stranger(gateway: 1))
        var typed = stream.whisperer
        typed.say("line")
        _ = try await stream.told(1)
        // The shares are of two transcripts, because one transcript has a bound of its own.
        let other = try await StrangerStream.begun(on: stream.phone, in: stream.conversation.profile)
        var more = other.whisperer
        more.say("line")
        _ = try await other.told(1)
        var made = 0
        for stream in [stream, other, stream, other] {
            for _ in 0..<StrangerBounds.shares / 3 where try await stream.shares().status == 200 { made += 1 }
        }
        #expect(made == StrangerBounds.shares)
        #expect(try await other.shares().is(403, "FORBIDDEN"))
    }

    /// Runs `body` while all strangers together keep as much in this store as they may.
    private static func full(_ schema: String, _ store: String, _ body: () async throws -> Void) async throws {
        let table = "\(schema).stranger_bytes"
        func set(_ bytes: Int, until time: String) async throws {
            _ = try await Cluster.database(
                """
                INSERT INTO \(table) VALUES ('\(store)', \(bytes), now() + interval '\(time)')
                ON CONFLICT (store) DO UPDATE SET bytes = excluded.bytes, counted_at = excluded.counted_at
                """)
        }
        try await set(Limits.strangersStoreBytesMax, until: "1 hour")
        do {
            try await body()
        } catch {
            try await set(0, until: "0 s")
            throw error
        }
        try await set(0, until: "0 s")
    }
}

/// A stream of a stranger whose lines are kept.
private struct StrangerStream {
    let phone: Phone
    let conversation: Conversation
    let content = newUUID()

    static func begun(on phone: Phone, in profile: String? = nil) async throws -> StrangerStream {
        let own = profile ?? newUUID()
        if profile == nil {
            let body = Person.versions.with(["joinHash": Keys.random(32).base64])
            try #require(try await phone.http("PUT", "/profiles/\(own)", body).status == 200)
        }
        let stream = StrangerStream(phone: phone, conversation: Conversation(profile: own, transcriptDays: 30))
        try await phone.ask("live_create", stream.conversation.create(by: phone.id)).expecting("live_conversation")
        try await phone.ask("live_start", stream.conversation.named.with(["contentId": stream.content]))
            .expecting("live_started")
        return stream
    }

    var whisperer: Whisperer { Whisperer(phone: self.phone, conversation: self.conversation) }

    /// Returns when so many lines are told.
    func told(_ count: Int) async throws -> (kept: Set<Int>, notKept: Set<Int>) {
        var (kept, notKept) = (Set<Int>(), Set<Int>())
        while kept.count + notKept.count < count {
            let frame = try await self.phone.client.next("live_line_stored").payload
            func numbers(_ name: String) -> [Int] {
                frame[name]?.elements.compactMap { $0.integer.map { Int($0) } } ?? []
            }
            kept.formUnion(numbers("lines"))
            notKept.formUnion(numbers("notKept"))
        }
        return (kept, notKept)
    }

    func shares() async throws -> HTTPCall.Answer {
        let body = Person.versions.with([
            "shareVerifier": Keys.random(32).base64, "nonce": Keys.random(12).base64,
            "ciphertext": Keys.random(64).base64, "expiresInSeconds": 3_600,
        ])
        return try await self.phone.http(
            "POST", "/live/\(self.conversation.id)/transcripts/\(self.content)/shares", body)
    }
}
