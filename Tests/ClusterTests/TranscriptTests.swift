import Contract
import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §14.11 over whole gateways: what is typed, stored, told, read and shared.
    @Suite struct Transcripts {
        @Test func linesThatAreTypedAreStoredAndTold() async throws {
            let stream = try await TranscribedStream.begun()
            var typed = stream.whisperer
            for kind in ["snapshot", "diff", "line", "snapshot", "cue", "line"] { typed.say(kind) }
            #expect(try await stream.told([1, 2]) == [1, 2])
            // The same line again is told again, and what was first stays.
            typed.repeats(line: 1)
            #expect(try await stream.told([1]) == [1])
            let page = try await stream.read()
            #expect(page["lines"]?.elements.map { $0["line"]?.integer } == [1, 2])
            #expect(page["lines"]?.elements.map { $0["nonce"]?.string } == [typed.said[2], typed.said[5]])
            #expect(page["lines"]?.elements.map { $0["seq"]?.integer } == [3, 6])
            #expect(page["isOpen"] == .bool(true) && page["nextLine"] == nil)

            // Another device of the same person goes on behind the last line.
            let back = try await Cluster.reconnected(stream.phone, gateway: 2)
            let resumed = try await back.ask("live_start", stream.start).expecting("live_started").payload
            #expect(resumed["isResumed"] == .bool(true) && resumed["line"]?.integer == 2)
            typed = Whisperer(phone: back, conversation: stream.conversation, epoch: 2, line: 2)
            for kind in ["snapshot", "line"] { typed.say(kind) }
            let told = try await back.client.next("live_line_stored").payload
            #expect(told["contentId"]?.string == stream.content && told["lines"] == .array([.integer(3)]))
            try await back.ask("live_stop", stream.start).expecting("live_stopped")
            #expect(try await stream.read(after: 2)["isOpen"] == .bool(false))
            let listed = try #require(try await stream.list()["transcripts"]?[0])
            #expect(listed["contentId"]?.string == stream.content && listed["lines"]?.integer == 3)
            let ended = try #require(listed["endedAt"]?.integer)
            #expect(listed["expiresAt"]?.integer == ended + 30 * 86_400_000)
        }

        /// Contract §19.10: a change counts from the next contentId on.
        @Test func withoutTranscriptNothingIsStored() async throws {
            let stream = try await TranscribedStream.begun(days: 0)
            try await stream.phone.ask("live_update", stream.conversation.named.with(["transcriptDays": 1]))
                .expecting("live_conversation")
            var typed = stream.whisperer
            for kind in ["snapshot", "line"] { typed.say(kind) }
            let next = stream.conversation.named.with(["contentId": newUUID()])
            let started = try await stream.phone.ask("live_start", next).expecting("live_started").payload
            #expect(started["epoch"]?.integer == 2 && started["line"]?.integer == 0)
            typed = Whisperer(phone: stream.phone, conversation: stream.conversation, epoch: 2)
            for kind in ["snapshot", "line"] { typed.say(kind) }
            let told = try await stream.phone.client.next("live_line_stored").payload
            #expect(told["contentId"] == next["contentId"]?.json)
            #expect(
                try await stream.list()["transcripts"]?.elements.map { $0["contentId"] } == [next["contentId"]?.json])
            #expect(try await stream.answer("GET", "/transcripts/\(stream.content)").is(404, "NOT_FOUND"))
        }

        @Test func longTranscriptsAreReadInPages() async throws {
            let stream = try await TranscribedStream.begun()
            var typed = stream.whisperer
            for line in 1...40 { typed.repeats(line: line, bytes: 12_288) }
            #expect(try await stream.told(1...40) == Set(1...40))
            var (read, after) = ([Int64](), Int64(0))
            while true {
                let answer = try await stream.answer("GET", "/transcripts/\(stream.content)?after=\(after)")
                #expect(answer.status == 200 && answer.body.count <= Limits.pageBytesMax)
                read += answer.json["lines"]?.elements.compactMap { $0["line"]?.integer } ?? []
                guard let next = answer.json["nextLine"]?.integer else { break }
                try #require(next > after && next == read.last)
                after = next
            }
            #expect(read == Array(1...40))
            let few = try await stream.read(after: 7, limit: 3)
            #expect(few["lines"]?.elements.map { $0["line"]?.integer } == [8, 9, 10] && few["nextLine"]?.integer == 10)

            // Shared, with the greatest seal beside it.
            let share = try await stream.share(bytes: 16_384)
            let shared = try await share.open()
            #expect(shared.status == 200 && shared.body.count <= Limits.pageBytesMax)
            #expect(shared.json["nextLine"] != nil)
            for query in ["?limit=0", "?limit=501", "?after=-1", "?after=x"] {
                let answer = try await stream.answer("GET", "/transcripts/\(stream.content)\(query)")
                #expect(answer.is(400, "INVALID_PAYLOAD"), "\(query)")
            }
        }

        @Test func listsGoFromNewToOld() async throws {
            let stream = try await TranscribedStream.begun()
            var contents: [String] = []
            for epoch in 2...4 {
                let content = newUUID()
                try await stream.phone.ask("live_start", stream.conversation.named.with(["contentId": content]))
                    .expecting("live_started")
                var typed = Whisperer(phone: stream.phone, conversation: stream.conversation, epoch: epoch)
                typed.say("line")
                let told = try await stream.phone.client.next("live_line_stored").payload
                #expect(told["contentId"]?.string == content)
                contents.insert(content, at: 0)
            }
            // The first stream had no line: it leaves no transcript.
            var (read, path) = ([String?](), "/transcripts?limit=2")
            while true {
                let page = try await stream.answer("GET", path).json
                let ids = page["transcripts"]?.elements.map { $0["contentId"]?.string } ?? []
                #expect(ids.count <= 2)
                read += ids
                guard let cursor = page["nextCursor"]?.string else { break }
                path = "/transcripts?limit=2&cursor=\(cursor)"
            }
            #expect(read == contents)
            for path in ["/transcripts?cursor=x", "/transcripts?limit=101", "/transcripts?limit=0"] {
                #expect(try await stream.answer("GET", path).is(400, "INVALID_PAYLOAD"), "\(path)")
            }
        }

        /// "Is not" and "not yours" are one answer.
        @Test func toStrangersThereIsNone() async throws {
            let stream = try await TranscribedStream.begun()
            var typed = stream.whisperer
            typed.say("line")
            #expect(try await stream.told([1]) == [1])
            let share = try await stream.share()
            // A member of another profile, with a conversation of its own.
            let other = try await TranscribedStream.begun()
            let paths = [
                ("GET", "/transcripts"), ("GET", "/transcripts/\(stream.content)"),
                ("DELETE", "/transcripts/\(stream.content)"), ("POST", "/transcripts/\(stream.content)/shares"),
                ("DELETE", "/shares/\(share.id)"),
            ]
            for (method, path) in paths {
                let body = method == "POST" ? TranscribedStream.shareBody() : nil
                let foreign = try await stream.answer(method, path, body, as: other.phone)
                let none = try await other.phone.http(method, "/live/\(newUUID())" + path, body)
                #expect(foreign.is(404, "NOT_FOUND") && foreign.body == none.body, "\(method) \(path)")
                let anonymous = try await HTTPCall(
                    method, Cluster.stack.publicURL + "/live/\(stream.conversation.id)" + path
                ).answer()
                #expect(anonymous.is(401, "NOT_REGISTERED"), "\(method) \(path)")
            }
            // Nothing was deleted, and a share is deleted by its own conversation alone.
            #expect(try await other.answer("DELETE", "/shares/\(share.id)").status == 200)
            #expect(try await share.open().status == 200)
            #expect(try await stream.read()["lines"]?.elements.count == 1)
            #expect(try await stream.answer("GET", "/transcripts/\(newUUID())").is(404, "NOT_FOUND"))
            #expect(try await stream.answer("GET", "/transcripts/nonsense").is(404, "NOT_FOUND"))
        }

        @Test func aShareOpensWithItsProofAlone() async throws {
            let stream = try await TranscribedStream.begun()
            var typed = stream.whisperer
            for _ in 0..<3 { typed.say("line") }
            #expect(try await stream.told([1, 2, 3]) == [1, 2, 3])
            let share = try await stream.share()
            let opened = try await share.open().json
            #expect(opened["conversationId"]?.string == stream.conversation.id)
            #expect(opened["contentId"]?.string == stream.content && opened["isOpen"] == .bool(true))
            #expect(opened["signPublicKey"]?.string == stream.conversation.keys.signPublicKey.base64)
            #expect(opened["encPublicKey"]?.string == stream.conversation.keys.encPublicKey.base64)
            #expect(
                opened["ciphertext"] == share.body["ciphertext"]?.json && opened["nonce"] == share.body["nonce"]?.json)
            #expect(opened["lines"]?.elements.map { $0["nonce"]?.string } == typed.said)
            let rest = try await share.open(["after": 1, "limit": 1]).json
            #expect(rest["lines"]?.elements.map { $0["line"]?.integer } == [2] && rest["nextLine"]?.integer == 2)

            let deleted = try await stream.share()
            for _ in 0..<2 { #expect(try await stream.answer("DELETE", "/shares/\(deleted.id)").status == 200) }
            let expired = try await stream.share()
            _ = try await Cluster.database(
                "UPDATE calls.transcript_shares SET expires_at = now() WHERE share_id = '\(expired.id)'")
            let wrong = Share(id: share.id, proof: Keys.random(32), body: share.body)
            let (unknown, malformed) = (share.named(newUUID()), share.named("nonsense"))
            let refused = try await wrong.open()
            for none in [deleted, expired, unknown, malformed, share.named(share.id.uppercased())] {
                let answer = try await none.open()
                #expect(answer.is(404, "NOT_FOUND") && answer.body == refused.body && refused.status == 404)
            }
            #expect(try await share.open(["limit": 501]).is(400, "INVALID_PAYLOAD"))

            // The transcript goes, and its shares with it.
            for _ in 0..<2 {
                #expect(try await stream.answer("DELETE", "/transcripts/\(stream.content)").status == 200)
            }
            #expect(try await share.open().is(404, "NOT_FOUND"))
            #expect(try await stream.list()["transcripts"]?.elements.isEmpty == true)
        }

        @Test func sharesAreBounded() async throws {
            let stream = try await TranscribedStream.begun()
            let path = "/transcripts/\(stream.content)/shares"
            let early = try await stream.answer("POST", path, TranscribedStream.shareBody())
            #expect(early.is(404, "NOT_FOUND"), "no line, no transcript")
            var typed = stream.whisperer
            typed.say("line")
            #expect(try await stream.told([1]) == [1])
            let answers = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<22 {
                    group.addTask { try await stream.answer("POST", path, TranscribedStream.shareBody()).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0 == 200 } == 20 && answers.count { $0 == 403 } == 2)
            for fields: Fields in [
                ["expiresInSeconds": 59], ["expiresInSeconds": 31_536_001],
                ["ciphertext": Keys.random(16_385).base64], ["shareVerifier": Keys.random(31).base64],
            ] {
                let answer = try await stream.answer("POST", path, TranscribedStream.shareBody().with(fields))
                #expect(answer.is(400, "INVALID_PAYLOAD"))
            }
        }

        @Test func whatHasExpiredIsGone() async throws {
            let stream = try await TranscribedStream.begun()
            var typed = stream.whisperer
            typed.say("line")
            #expect(try await stream.told([1]) == [1])
            let share = try await stream.share()
            try await stream.phone.ask("live_stop", stream.start).expecting("live_stopped")
            #expect(try await share.open().json["isOpen"] == .bool(false))
            // A share that is made now ends with its transcript.
            let short = try await stream.answer(
                "POST", "/transcripts/\(stream.content)/shares",
                TranscribedStream.shareBody().with(["expiresInSeconds": 31_536_000]))
            let expiresAt = try #require(try await stream.list()["transcripts"]?[0]?["expiresAt"]?.integer)
            #expect(short.json["expiresAt"]?.integer == expiresAt)
            _ = try await Cluster.database(
                "UPDATE calls.streams SET expires_at = now() WHERE content_id = '\(stream.content)'")
            #expect(try await stream.list()["transcripts"]?.elements.isEmpty == true)
            #expect(try await stream.answer("GET", "/transcripts/\(stream.content)").is(404, "NOT_FOUND"))
            #expect(try await share.open().is(404, "NOT_FOUND"))
            // Its contentId is known all the same.
            #expect(try await stream.phone.ask("live_start", stream.start).errorCode == "FORBIDDEN")
        }

        /// A sweep comes once a minute.
        @Test(.long) func theLinesOfAnExpiredTranscriptAreDeleted() async throws {
            let stream = try await TranscribedStream.begun()
            var typed = stream.whisperer
            typed.say("line")
            #expect(try await stream.told([1]) == [1])
            try await stream.phone.ask("live_stop", stream.start).expecting("live_stopped")
            _ = try await Cluster.database(
                "UPDATE calls.streams SET expires_at = now() WHERE content_id = '\(stream.content)'")
            try await waitUntil("the lines are deleted", within: .seconds(90), every: .seconds(1)) {
                try await Cluster.database(
                    "SELECT count(*) FROM calls.transcript_lines WHERE content_id = '\(stream.content)'") == "0"
            }
        }

        @Test func theProfilesEndIsTheTranscripts() async throws {
            let stream = try await TranscribedStream.begun()
            var typed = stream.whisperer
            typed.say("line")
            #expect(try await stream.told([1]) == [1])
            let share = try await stream.share()
            let member = "/profiles/\(stream.conversation.profile)/members/\(stream.phone.id)"
            #expect(try await stream.phone.http("DELETE", member).status == 200)
            #expect(try await stream.answer("GET", "/transcripts").is(404, "NOT_FOUND"))

            let other = try await TranscribedStream.begun()
            var said = other.whisperer
            said.say("line")
            #expect(try await other.told([1]) == [1])
            let kept = try await other.share()
            try await other.phone.ask("live_delete", other.conversation.named).expecting("live_deleted")
            #expect(try await kept.open().is(404, "NOT_FOUND"))
            let count =
                "SELECT count(*) FROM calls.transcript_lines WHERE content_id IN ('\(stream.content)', '\(other.content)')"
            try await waitUntil("both are deleted", within: .seconds(90), every: .seconds(1)) {
                try await Cluster.database(count) == "0"
            }
            #expect(try await share.open().is(404, "NOT_FOUND"))
        }
    }
}

/// No line that was told is lost, whatever dies. Contract §14.11, §14.12.
@Suite(.serialized, .cluster(mistreated)) struct MistreatedTranscripts {
    enum Fault: CaseIterable, Sendable {
        case callsKilled, redisFlushed, redisKilled, everythingAtOnce

        func happen() async throws {
            let stack = Cluster.stack
            switch self {
            case .callsKilled: try await stack.restart(.calls(1))
            case .redisFlushed: try await stack.flushRedis()
            case .redisKilled: try await stack.restart(.redis)
            case .everythingAtOnce:
                for process in [StackProcess.calls(1), .redis, .postgres] { await stack.kill(process) }
                for process in [StackProcess.postgres, .redis, .calls(1)] { try await stack.start(process) }
            }
        }
    }

    @Test(arguments: Prove.all(Fault.allCases, butInShort: [.redisFlushed, .everythingAtOnce]))
    func noLineThatWasToldIsLost(after fault: Fault) async throws {
        try await Cluster.calm()
        let stream = try await TranscribedStream.begun()
        var typed = stream.whisperer
        for _ in 0..<5 { typed.say("line") }
        var told = try await stream.told([1, 2])
        async let done: Void = fault.happen()
        for _ in 0..<5 { typed.say("line") }
        try await done
        // A client repeats lines that the server has not reported as stored.
        let again = ContinuousClock.now + .seconds(60)
        while told.count < 10, .now < again {
            for line in 1...10 where !told.contains(line) { typed.repeats(line: line) }
            told.formUnion(try await stream.told(Set(1...10).subtracting(told), within: .seconds(5)))
        }
        #expect(told == Set(1...10))
        try await stream.canBeRead()
        #expect(try await stream.read()["lines"]?.elements.map { $0["line"]?.integer } == Array(1...10))
        #expect(try await stream.list()["transcripts"]?[0]?["lines"]?.integer == 10)
    }

    /// Nobody hears of a line before it is committed.
    @Test func aLineThatWaitsForItsCommitIsNotTold() async throws {
        try await Cluster.calm()
        let stream = try await TranscribedStream.begun()
        var typed = stream.whisperer
        async let lock = Cluster.database(
            "BEGIN; LOCK TABLE calls.transcript_lines IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(10); COMMIT")
        func locks(granted: Bool) async throws -> Bool {
            try await Cluster.database(
                """
                SELECT count(*) > 0 FROM pg_locks
                WHERE relation = 'calls.transcript_lines'::regclass AND \(granted ? "granted" : "NOT granted")
                """) == "t"
        }
        try await waitUntil("the table is locked", within: .seconds(10)) { try await locks(granted: true) }
        typed.say("line")
        try await waitUntil("calls waits", within: .seconds(10)) { try await locks(granted: false) }
        try await stream.phone.client.settle()
        #expect(stream.phone.client.frames("live_line_stored").isEmpty)
        _ = try await lock
        #expect(try await stream.told([1]) == [1])
    }

    /// It is in its stream, and is stored when it can be.
    @Test func aLineWaitsForPostgres() async throws {
        try await Cluster.calm()
        let stream = try await TranscribedStream.begun()
        var typed = stream.whisperer
        await Cluster.stack.kill(.postgres)
        typed.say("line")
        try await waitUntil("calls has noticed", within: .seconds(30), every: .milliseconds(50)) {
            let ready = try await HTTPCall("GET", Cluster.stack.opsURL(of: .calls, 1) + "/ready").answer()
            return ready.status == 503
        }
        try await stream.phone.client.settle()
        #expect(stream.phone.client.frames("live_line_stored").isEmpty)
        try await Cluster.stack.start(.postgres)
        #expect(try await stream.told([1], within: .seconds(30)) == [1])
        try await stream.canBeRead()
        #expect(try await stream.read()["lines"]?.elements.map { $0["nonce"]?.string } == typed.said)
    }
}

/// A stream whose lines are kept, and the device that holds it.
private struct TranscribedStream: Sendable {
    let phone: Phone
    let conversation: Conversation
    let content: String

    static func begun(days: Int = 30) async throws -> TranscribedStream {
        let (phone, profile) = try await CalmCluster.LiveConversations.whisperer(gateway: 1)
        let stream = TranscribedStream(
            phone: phone, conversation: Conversation(profile: profile, transcriptDays: days), content: newUUID())
        try await phone.ask("live_create", stream.conversation.create(by: phone.id)).expecting("live_conversation")
        #expect(try await stream.conversation.look().json["isTranscribed"] == .bool(days > 0))
        let started = try await phone.ask("live_start", stream.start).expecting("live_started").payload
        try #require(started["epoch"]?.integer == 1 && started["line"]?.integer == 0)
        return stream
    }

    var start: Fields { self.conversation.named.with(["contentId": self.content]) }
    var whisperer: Whisperer { Whisperer(phone: self.phone, conversation: self.conversation) }

    /// Returns when all of these are told as stored, or when nobody has told more in that time.
    /// - Returns: all lines that were told.
    func told(_ lines: some Sequence<Int>, within timeout: Duration = TestClient.timeout) async throws -> Set<Int> {
        var (told, missing) = (Set<Int>(), Set(lines))
        while !missing.isEmpty, let frame = try? await self.phone.client.next("live_line_stored", within: timeout) {
            #expect(frame.payload["contentId"]?.string == self.content)
            let lines = frame.payload["lines"]?.elements.compactMap { $0.integer.map { Int($0) } } ?? []
            told.formUnion(lines)
            missing.subtract(lines)
        }
        return told
    }

    // MARK: HTTP

    func answer(
        _ method: String, _ path: String, _ body: Fields? = nil, as phone: Phone? = nil
    ) async throws -> HTTPCall.Answer {
        try await (phone ?? self.phone).http(method, "/live/\(self.conversation.id)" + path, body)
    }

    func list() async throws -> JSON { try await self.answer("GET", "/transcripts").json }

    /// Returns when a process that was without Postgres answers again.
    func canBeRead() async throws {
        try await waitUntil("lines can be read", within: .seconds(30)) {
            try await self.answer("GET", "/transcripts/\(self.content)").status == 200
        }
    }

    func read(after line: Int = 0, limit: Int = 500) async throws -> JSON {
        try await self.answer("GET", "/transcripts/\(self.content)?after=\(line)&limit=\(limit)").json
    }

    static func shareBody(verifier: [UInt8] = Keys.random(32), bytes: Int = 64) -> Fields {
        Person.versions.with([
            "shareVerifier": verifier.base64, "nonce": Keys.random(12).base64,
            "ciphertext": Keys.random(bytes).base64, "expiresInSeconds": 3_600,
        ])
    }

    func share(bytes: Int = 64) async throws -> Share {
        let proof = Keys.random(32)
        let body = Self.shareBody(verifier: Keys.sha256(proof), bytes: bytes)
        let answer = try await self.answer("POST", "/transcripts/\(self.content)/shares", body)
        try #require(answer.status == 200)
        return Share(id: try #require(answer.json["shareId"]?.string), proof: proof, body: body)
    }
}

/// A link to a transcript.
private struct Share {
    let id: String
    let proof: [UInt8]
    let body: Fields

    func named(_ id: String) -> Share { Share(id: id, proof: self.proof, body: self.body) }

    func open(_ fields: Fields = [:]) async throws -> HTTPCall.Answer {
        let body = Person.versions.with(["shareProof": self.proof.base64]).with(fields)
        return try await HTTPCall(
            "POST", Cluster.stack.publicURL + "/live/shares/\(self.id)",
            headers: ["Content-Type": "application/json"], body: Array(body.json.text.utf8)
        ).answer()
    }
}
