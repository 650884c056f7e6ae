import Foundation
import LocalStack
import TestKit
import Testing

/// Expiry of attachments, with lives of seconds; the collector runs only on request.
@Suite(
    .serialized,
    .cluster {
        $0.instances[.attachments] = 2
        $0.environment[.attachments] = [
            "UPLOAD_URL_SECONDS": "4", "DOWNLOAD_URL_SECONDS": "4", "QUOTA_BYTES": "1000", "GC_EVERY_SECONDS": "86400",
            "GC_UNLINKED_SECONDS": "10", "GC_ACKNOWLEDGED_SECONDS": "8", "GC_LIFE_SECONDS": "18",
            "GC_CLAIM_SECONDS": "1",
            "RATE_LIMIT_SCALE": "1",
        ]
    }) struct AttachmentLifeTests
{
    private func collect() async throws -> (examined: Int64, deleted: Int64, bytesFreed: Int64) {
        let answer = try await Operators.post("/admin/attachments/gc/run", [:])
        guard answer.status == 200, Set(answer.body.members.keys) == ["examined", "deleted", "bytesFreed"] else {
            throw Operators.Refused(answer: answer)
        }
        return (
            answer.body["examined"]!.integer!, answer.body["deleted"]!.integer!, answer.body["bytesFreed"]!.integer!
        )
    }

    /// Collects what is a day older all at once, until nothing is left, so that a test counts its own alone.
    private func clean() async throws {
        _ = try await Cluster.database(
            """
            UPDATE attachments.attachments SET created_at = created_at - interval '1 day',
                expires_at = expires_at - interval '1 day', uploaded_at = uploaded_at - interval '1 day'
            """)
        try await waitUntil("everything has been collected", within: .seconds(90), every: .milliseconds(200)) {
            _ = try await self.collect()
            return try await Cluster.database("SELECT count(*) FROM attachments.attachments") == "0"
        }
    }

    private func path(_ key: String) -> String { "\(Cluster.stack.attachmentsFolder)/\(key)" }
    private func exists(_ key: String) -> Bool { FileManager.default.fileExists(atPath: self.path(key)) }

    private func audit(_ fields: Fields = [:]) async throws -> JSON {
        let answer = try await Operators.post("/admin/attachments/audit", fields)
        guard answer.status == 200 else { throw Operators.Refused(answer: answer) }
        return answer.body
    }

    @Test func urlsEnd() async throws {
        let alice = try await Cluster.phone()
        let presign = try await alice.presign(10)
        let url = presign.json["uploadUrl"]!.string!
        try await waitUntil("the upload URL has ended", within: .seconds(30), every: .milliseconds(50)) {
            nowMilliseconds() > presign.json["expiresAt"]!.integer!
        }
        #expect(try await Phone.put(Keys.random(10), to: url).is(403, "FORBIDDEN"))
        let key = try await alice.upload(Keys.random(10))
        let answer = try await alice.asksFor(key)
        let download = answer.json["downloadUrl"]!.string!
        #expect(try await HTTPCall("GET", download).answer().status == 200)
        try await waitUntil("the download URL has ended", within: .seconds(30), every: .milliseconds(50)) {
            nowMilliseconds() > answer.json["expiresAt"]!.integer!
        }
        #expect(try await HTTPCall("GET", download).answer().is(403, "FORBIDDEN"))
        try await self.clean()
    }

    @Test func theQuotaCountsLiveUploads() async throws {
        let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
        _ = try await alice.upload(Keys.random(600))
        #expect(try await alice.presign(401).is(403, "FORBIDDEN"))
        let presign = try await alice.presign(400)
        #expect(presign.status == 200)
        #expect(try await alice.presign(1).is(403, "FORBIDDEN"))
        #expect(try await bob.presign(1_000).status == 200)
        #expect(try await bob.presign(1_001).is(403, "FORBIDDEN"))
        // The one that was not uploaded is free again when its URL has ended; the other when it is gone.
        try await waitUntil("the URL has ended", within: .seconds(30), every: .milliseconds(50)) {
            nowMilliseconds() > presign.json["expiresAt"]!.integer!
        }
        #expect(try await alice.presign(401).is(403, "FORBIDDEN"))
        #expect(try await alice.presign(400).status == 200)
        try await self.clean()
        #expect(try await alice.presign(1_000).status == 200)
        try await self.clean()
    }

    @Test func presignsArePaced() async throws {
        let alice = try await Cluster.phone()
        var taken = 0
        var refusal: HTTPCall.Answer?
        // A minute's worth at once, and a few more if this machine takes its time.
        while refusal == nil, taken < 300 {
            let answer = try await alice.presign(1)
            if answer.status == 200 { taken += 1 } else { refusal = answer }
        }
        #expect(taken >= 60)
        let refused = try #require(refusal)
        #expect(refused.is(429, "RATE_LIMITED"))
        #expect((1...60).contains(Int(refused.headers["retry-after"] ?? "") ?? 0))
        try await self.clean()
    }

    @Test func whatIsOfNoUseGoes() async throws {
        let (alice, bob, carol) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
        let start = ContinuousClock.now
        let unlinked = try await alice.upload(Keys.random(10))
        let received = try await alice.upload(Keys.random(20))
        let unfetched = try await alice.upload(Keys.random(30))
        let unread = try await alice.upload(Keys.random(40))
        for (key, people) in [(received, [bob, carol]), (unfetched, [bob]), (unread, [bob, carol])] {
            for person in people {
                let letter = alice.letter(to: person, with: key)
                try await alice.send(letter).expecting("message_accepted")
                let id = letter["messageId"]!.json.string!
                _ = try await person.received(id)
                if key == received { #expect(try await person.download(key).count == 20) }
                if key == received, person.id == carol.id { continue }
                if key == unread { continue }
                person.acknowledge(id, from: alice.id)
                _ = try await alice.client.next("message_delivered") { $0.payload["messageId"]?.string == id }
            }
        }
        // Fetched by both, acknowledged by one: it stays.
        #expect(try await self.collect() == (4, 0, 0))
        let waiting = try await carol.pending().map(\.id)
        let letterOfReceived = try #require(waiting.first)
        carol.acknowledge(letterOfReceived, from: alice.id)
        _ = try await alice.client.next("message_delivered") { $0.payload["messageId"]?.string == letterOfReceived }
        #expect(try await self.collect() == (4, 1, 20))
        #expect(!self.exists(received) && self.exists(unlinked))
        #expect(try await bob.asksFor(received).is(404, "NOT_FOUND"))
        #expect(try await alice.send(alice.letter(to: bob, with: received)).errorCode == "NOT_FOUND")

        // Some time after the last acknowledgement.
        try await waitUntil("the acknowledged one is gone", within: .seconds(40), every: .milliseconds(200)) {
            _ = try await self.collect()
            return !self.exists(unfetched)
        }
        #expect(ContinuousClock.now - start > .seconds(8) && self.exists(unread))
        try await waitUntil("the unlinked one is gone", within: .seconds(40), every: .milliseconds(200)) {
            _ = try await self.collect()
            return !self.exists(unlinked)
        }
        #expect(ContinuousClock.now - start > .seconds(10) && self.exists(unread))
        // Every file is deleted in the end.
        try await waitUntil("the unread one is gone", within: .seconds(60), every: .milliseconds(200)) {
            _ = try await self.collect()
            return !self.exists(unread)
        }
        #expect(ContinuousClock.now - start > .seconds(18))
        try await self.clean()
    }

    /// A file that nobody else may fetch leaves the store with its uploader, long before its life is over (contract §20.3).
    @Test(arguments: ["keep", "withdraw"]) func filesLeaveTheStoreWithTheirUploader(sentMail: String) async throws {
        try await self.clean()
        let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
        let (unsent, sent) = (try await alice.upload(Keys.random(10)), try await alice.upload(Keys.random(10)))
        try await alice.send(alice.letter(to: bob, with: sent)).expecting("message_accepted")
        // Their lives end in a day.
        _ = try await Cluster.database(
            """
            UPDATE attachments.attachments SET created_at = created_at + interval '1 day',
                expires_at = expires_at + interval '1 day', uploaded_at = uploaded_at + interval '1 day'
            """)
        _ = try await CalmCluster.Leaving.leave(alice, sentMail: sentMail)
        try await waitUntil("what was not sent has left the store", within: .seconds(60), every: .milliseconds(300)) {
            _ = try await self.collect()
            return !self.exists(unsent)
        }
        #expect(self.exists(sent) == (sentMail == "keep"))
        if sentMail == "keep" { #expect(try await bob.download(sent).count == 10) }
        try await self.clean()
    }

    @Test func onlyOperatorsCollectAndItIsRecorded() async throws {
        for path in ["/admin/attachments/gc/run", "/admin/attachments/audit"] {
            let viewer = Cluster.stack.configuration.viewerToken
            #expect(try await Operators.post(path, [:], token: viewer).is(403, "FORBIDDEN"))
            #expect(try await Operators.post(path, [:], token: nil).is(401, "NOT_REGISTERED"))
            let headers = ["Authorization": "Bearer \(Cluster.stack.configuration.adminToken)"]
            #expect(
                await LoopbackRequest.http("POST", path, port: Cluster.stack.ports.public, headers: headers)?.status
                    == 404)
        }
        _ = try await self.collect()
        let events = try await Operators.get("/admin/audit?limit=5").body["events"]?.elements ?? []
        #expect(events.first?["action"]?.string == "collectAttachments" && events.first?["result"]?.string == "ok")
        #expect(events.first?["actor"]?.string == "operator")
        #expect(events.dropFirst().map { $0["result"]?.string }.prefix(2) == ["NOT_REGISTERED", "FORBIDDEN"])
    }

    @Test func theAuditorFindsAndMends() async throws {
        try await self.clean()
        let alice = try await Cluster.phone()
        _ = try await alice.upload(Keys.random(10))
        let lost = try await alice.upload(Keys.random(11))
        try FileManager.default.removeItem(atPath: self.path(lost))
        let leaked = "att/2026/01/\(newUUID()).bin"
        let folder = (self.path(leaked) as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(Keys.random(12)).write(to: URL(filePath: self.path(leaked)))
        #expect(try await self.audit()["leaked"]?.integer == 0)  // Too young to be sure.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: self.path(leaked))
        let report = try await self.audit()
        #expect(
            report.members == [
                "objects": .integer(2), "rows": .integer(2), "leaked": .integer(1), "leakedBytes": .integer(12),
                "leakedKeys": .array([.string(leaked)]), "dangling": .integer(1),
                "danglingKeys": .array([.string(lost)]),
                "fixed": .integer(0),
            ])
        #expect(try await self.audit(["fix": true])["fixed"]?.integer == 2)
        #expect(!self.exists(leaked))
        let after = try await self.audit()
        #expect(after["leaked"]?.integer == 0 && after["dangling"]?.integer == 0)
        try await self.clean()
    }

    /// Both instances die while they collect, at whatever moment.
    @Test(arguments: Prove.all([0, 1, 3_000], butInShort: [1])) func aCrashOfTheCollectorLeavesNothingBehind(
        afterRows gone: Int
    ) async throws {
        // A test that is held up comes too late to interrupt anything.
        var left = 0
        for _ in 0..<5 where left == 0 { left = try await self.interruptCollecting(of: 10_000, afterRows: gone) }
        #expect(left > 0)
        try await waitUntil("everything is collected", within: .seconds(60), every: .milliseconds(300)) {
            _ = try? await self.collect()
            return try await Cluster.database("SELECT count(*) FROM attachments.attachments") == "0"
        }
        #expect(try await self.audit()["objects"]?.integer == 0)
    }

    /// - Returns: rows that were left when the collectors had been killed.
    private func interruptCollecting(of count: Int, afterRows gone: Int) async throws -> Int {
        try await self.clean()
        try FileManager.default.createDirectory(
            atPath: "\(Cluster.stack.attachmentsFolder)/att/2026/02", withIntermediateDirectories: true)
        let keys = try await Cluster.database(
            """
            INSERT INTO attachments.attachments
                (object_key, uploader, size_bytes, content_type, class, state, created_at, expires_at, uploaded_at)
            SELECT 'att/2026/02/' || gen_random_uuid() || '.bin', 1, 3, 'x', 2, 1, now() - interval '1 day',
                now() - interval '1 day', now() - interval '1 day'
            FROM generate_series(1, \(count))
            RETURNING object_key
            """
        ).split(separator: "\n").filter { $0.hasPrefix("att/") }
        #expect(keys.count == count)
        for key in keys { try Data([1, 2, 3]).write(to: URL(filePath: self.path(String(key)))) }
        let collecting = Task { try await self.collect() }
        do {
            try await waitUntil("the collector is at work", within: .seconds(90), every: .milliseconds(1)) {
                let counts = try await Cluster.database(
                    "SELECT count(*) FILTER (WHERE state = 3), \(count) - count(*) FROM attachments.attachments"
                ).split(separator: "|").compactMap { Int($0) }
                return counts.count == 2 && (counts[0] > 0 && counts[1] >= gone || counts[1] == count)
            }
        } catch {
            collecting.cancel()
            Issue.record("the collector answered: \(await collecting.result)")
            throw error
        }
        for number in 1...2 { await Cluster.stack.kill(.attachments(number)) }
        _ = await collecting.result
        let left = Int(try await Cluster.database("SELECT count(*) FROM attachments.attachments")) ?? 0
        for number in 1...2 { try await Cluster.stack.start(.attachments(number)) }
        return left
    }
}
