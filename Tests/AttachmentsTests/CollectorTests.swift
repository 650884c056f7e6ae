import AttachmentsCore
import Contract
import Foundation
import LocalStack
import Store
import Testing

/// The collector and the auditor against a real Postgres.
@Suite(.timeLimit(.minutes(20))) struct CollectorTests {
    let start = Timestamp(milliseconds: Timestamp.now.milliseconds - 40 * 86_400_000)

    @Test func whatIsOfNoUseLeavesStoreAndTable() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let old = try await bench.upload(store, sizeBytes: 7, at: self.start)
            let young = try await bench.upload(store, at: self.start + .seconds(86_000))
            let collector = bench.collector(store, at: self.start + .seconds(86_400))
            #expect(
                try await collector.collect(sparingURLs: true)
                    == Collector.Tally(examined: 2, deleted: 1, bytesFreed: 7))
            #expect(store.keys == ["\(young)"])
            #expect(try await bench.attachments.known(["\(old)", "\(young)"]) == ["\(young)"])
            #expect(
                try await collector.collect(sparingURLs: true)
                    == Collector.Tally(examined: 1, deleted: 0, bytesFreed: 0))
        }
    }

    @Test func onlyTheSendersOwnObjectCanBeLinked() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let key = try await bench.upload(store, at: self.start)
            #expect(try await bench.link(key, from: bench.bob, to: bench.alice, at: self.start) == .foreign)
            #expect(try await bench.links.fetch(key, by: bench.bob, at: .at(self.start)) == .forbidden)
            #expect(try await bench.link(key, from: bench.alice, to: bench.bob, at: self.start) == .linked)
            #expect(try await bench.links.fetch(key, by: bench.bob, at: .at(self.start)) == .granted)
            #expect(try await bench.links.fetch(key, by: bench.alice, at: .at(self.start)) == .granted)
            let nobody = ObjectKey(.random(), at: self.start)
            #expect(try await bench.link(nobody, from: bench.alice, to: bench.bob, at: self.start) == .unknown)
            #expect(try await bench.links.fetch(nobody, by: bench.alice, at: .at(self.start)) == .unknown)
            #expect(try await bench.count("SELECT state FROM attachments.attachments") == "2")
            // The router can do this and nothing else.
            await #expect(throws: StoreError.self) { try await bench.router.query("SELECT * FROM attachments.links") }
        }
    }

    @Test func whatHasJustBeenLinkedStays() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let now = self.start + .seconds(86_400)
            // Every other file gets a message at the very time at which it is collected.
            var keys: [ObjectKey] = []
            for _ in 0..<200 { keys.append(try await bench.upload(store, at: self.start)) }
            let linked = stride(from: 0, to: 200, by: 2).map { keys[$0] }
            let outcomes = try await withThrowingTaskGroup(of: [(ObjectKey, AttachmentsBench.Linking)].self) { group in
                group.addTask {
                    var outcomes: [(ObjectKey, AttachmentsBench.Linking)] = []
                    for key in linked {
                        outcomes.append((key, try await bench.link(key, from: bench.alice, to: bench.bob, at: now)))
                    }
                    return outcomes
                }
                for _ in 0..<2 {
                    group.addTask {
                        _ = try await bench.collector(store, at: now).collect(sparingURLs: true)
                        return []
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            // A message was accepted exactly if its object is still there.
            for (key, outcome) in outcomes {
                #expect(outcome == (store.keys.contains("\(key)") ? .linked : .unknown))
            }
            _ = try await bench.collector(store, at: now + .seconds(61)).collect(sparingURLs: true)
            #expect(try await bench.auditor(store, at: .now).audit(fixing: false).leaked == 0)
        }
    }

    @Test func twoAtOnceRemoveEachOnce() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            for _ in 0..<500 { _ = try await bench.upload(store, at: self.start) }
            let now = self.start + .seconds(86_400)
            let tallies = try await withThrowingTaskGroup(of: Collector.Tally.self) { group in
                for _ in 0..<4 {
                    group.addTask { try await bench.collector(store, at: now).collect(sparingURLs: true) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let last = try await bench.collector(store, at: now).collect(sparingURLs: true)
            #expect((tallies + [last]).map(\.deleted).reduce(0, +) == 500)
            #expect((tallies + [last]).map(\.bytesFreed).reduce(0, +) == 5_000)
            #expect(store.keys.isEmpty && store.removals.values.allSatisfy { $0 == 1 } && store.removals.count == 500)
        }
    }

    /// The store stops answering in the middle, as it would for a process that is killed there.
    @Test(arguments: [0, 1, 7, 30]) func whatWasInterruptedIsTakenUpAgain(calls: Int) async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            for _ in 0..<30 { _ = try await bench.upload(store, at: self.start) }
            let now = self.start + .seconds(86_400)
            store.fail(after: calls)
            let first = try await bench.collector(store, at: now).collect(sparingURLs: true)
            #expect(first.deleted == Int64(calls))
            store.fail(after: nil)
            // Still the first one's.
            #expect(try await bench.collector(store, at: now + .seconds(59)).collect(sparingURLs: true).deleted == 0)
            let second = try await bench.collector(store, at: now + .seconds(60)).collect(sparingURLs: true)
            #expect(first.deleted + second.deleted == 30 && store.keys.isEmpty)
            #expect(try await bench.count("SELECT count(*) FROM attachments.attachments") == "0")
        }
    }

    /// Between the store's removal and the row's: the store has nothing any more, and is asked again.
    @Test func aRowWithoutItsObjectIsFinished() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let key = try await bench.upload(store, at: self.start)
            let now = self.start + .seconds(86_400)
            let number = try await bench.removals.numbers(after: 0, limit: 10)
            try await bench.removals.mark(number, at: .at(now)) { _ in true }
            #expect(
                try await bench.removals.take(until: .at(now + .seconds(60)), limit: 10, at: .at(now)).map(\.key) == [
                    key
                ])
            store.lose(key)
            #expect(try await bench.collector(store, at: now + .seconds(61)).collect(sparingURLs: true).deleted == 1)
            #expect(try await bench.count("SELECT count(*) FROM attachments.attachments") == "0")
        }
    }

    @Test func acknowledgementsComeFromTheRouter() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let key = try await bench.upload(store, at: self.start)
            #expect(try await bench.link(key, from: bench.alice, to: bench.bob, at: self.start) == .linked)
            #expect(try await bench.links.fetch(key, by: bench.bob, at: .at(self.start)) == .granted)
            let now = self.start + .seconds(86_400)
            let collector = bench.collector(store, at: now)
            #expect(try await collector.collect(sparingURLs: false).deleted == 0)
            try await bench.database.run(
                """
                INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case, status, status_at)
                SELECT l.message_id, a.uploader, l.recipient, 1, now(), 0, 1, now()
                FROM attachments.links l JOIN attachments.attachments a ON a.number = l.attachment
                """)
            #expect(try await collector.collect(sparingURLs: false).deleted == 1)
        }
    }

    @Test func anUploadIsFoundWhenItsURLHasEnded() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let key = ObjectKey(.random(), at: self.start)
            let new = AttachmentTable.New(
                key: key, uploader: bench.alice, sizeBytes: 5, contentType: "x", urlLife: .seconds(900), upload: nil)
            #expect(try await bench.add(new, quota: 5, at: .at(self.start)))
            store.put(key, sizeBytes: 5, at: self.start)
            _ = try await bench.collector(store, at: self.start + .seconds(900)).collect(sparingURLs: true)
            #expect(try await bench.attachments.find(key)?.uploadedAt == nil)
            let later = self.start + .seconds(960)
            _ = try await bench.collector(store, at: later).collect(sparingURLs: true)
            #expect(try await bench.attachments.find(key)?.uploadedAt == later)
        }
    }

    // MARK: Quota

    @Test func theQuotaHoldsForRequestsAtOnce() async throws {
        try await AttachmentsBench.run { bench in
            let now = self.start
            @Sendable func add(_ size: Int64, by uploader: WhisperID, at time: Timestamp) async throws -> Bool {
                try await bench.add(
                    AttachmentTable.New(
                        key: ObjectKey(.random(), at: time), uploader: uploader, sizeBytes: size, contentType: "x",
                        urlLife: .seconds(900), upload: nil), quota: 100, at: .at(time))
            }
            let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<40 { group.addTask { try await add(10, by: bench.alice, at: now) } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(admitted == 10)
            #expect(try await add(100, by: bench.bob, at: now))
            // A file that was never uploaded counts no more when its URL has ended.
            #expect(try await !add(1, by: bench.alice, at: now + .seconds(899)))
            #expect(try await add(100, by: bench.alice, at: now + .seconds(900)))
            #expect(try await !add(1, by: bench.alice, at: now + .seconds(900)))
        }
    }

    @Test func whatIsUploadedCountsUntilItIsGone() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            _ = try await bench.upload(store, sizeBytes: 60, at: self.start)
            let late = self.start + .seconds(5_000)
            func add(_ size: Int64, at time: Timestamp) async throws -> Bool {
                try await bench.add(
                    AttachmentTable.New(
                        key: ObjectKey(.random(), at: time), uploader: bench.alice, sizeBytes: size, contentType: "x",
                        urlLife: .seconds(900), upload: nil), quota: 100, at: .at(time))
            }
            #expect(try await !add(41, at: late))
            #expect(try await add(40, at: late))
            let gone = self.start + .seconds(86_400)
            _ = try await bench.collector(store, at: gone).collect(sparingURLs: true)
            #expect(try await add(100, at: gone))
        }
    }

    @Test func anUploadInPartsGoesOnIfItStillFits() async throws {
        try await AttachmentsBench.run { bench in
            func add(_ size: Int64, at time: Timestamp) async throws -> (ObjectKey, Bool) {
                let key = ObjectKey(.random(), at: time)
                let new = AttachmentTable.New(
                    key: key, uploader: bench.alice, sizeBytes: size, contentType: "x", urlLife: .seconds(900),
                    upload: "")
                return (key, try await bench.add(new, quota: 100, at: .at(time)))
            }
            let (first, _) = try await add(60, at: self.start)
            func renew(at time: Timestamp) async throws -> Bool {
                try await bench.attachments.renew(first, of: bench.alice, for: .seconds(900), quota: 100, at: .at(time))
            }
            #expect(try await renew(at: self.start + .seconds(899)))
            let (_, fits) = try await add(60, at: self.start + .seconds(1_000))
            #expect(!fits)
            let late = self.start + .seconds(2_000)
            let (_, fitsNow) = try await add(60, at: late)
            #expect(fitsNow)
            #expect(try await !renew(at: late))
            #expect(try await renew(at: late + .seconds(900)))
        }
    }

    // MARK: Auditing

    @Test func leaksAndDanglingRowsAreFoundAndMended() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let kept = try await bench.upload(store, at: self.start)
            let lost = try await bench.upload(store, at: self.start)
            store.lose(lost)
            let leaked = ObjectKey(.random(), at: self.start)
            store.put(leaked, sizeBytes: 99, at: self.start)
            store.put("att/notes.txt", sizeBytes: 1, at: self.start)
            let now = Timestamp.now
            // Its row may be on its way.
            store.put(ObjectKey(.random(), at: now), sizeBytes: 1, at: now)
            var report = try await bench.auditor(store, at: now).audit(fixing: false)
            #expect(report.objects == 4 && report.rows == 2 && report.leaked == 2 && report.leakedBytes == 100)
            #expect(
                report.leakedKeys == ["\(leaked)", "att/notes.txt"] && report.danglingKeys == ["\(lost)"]
                    && report.fixed == 0)
            report = try await bench.auditor(store, at: now).audit(fixing: true)
            #expect(report.leaked == 2 && report.dangling == 1 && report.fixed == 3)
            #expect(store.keys.contains("\(kept)") && store.keys.count == 2)
            report = try await bench.auditor(store, at: now).audit(fixing: false)
            #expect(report.leaked == 0 && report.dangling == 0)
            _ = try await bench.collector(store, at: self.start + .seconds(1)).collect(sparingURLs: true)
            #expect(try await bench.count("SELECT count(*) FROM attachments.attachments") == "1")
        }
    }

    /// Figures, when asked for: `WHISPER_MEASURE=1`.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["WHISPER_MEASURE"] != nil))
    func aHundredThousandAreExaminedAndAudited() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let count = 100_000
            try await bench.database.run(
                """
                INSERT INTO attachments.attachments
                    (object_key, uploader, size_bytes, content_type, class, state, created_at, expires_at, uploaded_at)
                SELECT 'att/2026/' || to_char(1 + n % 12, 'FM00') || '/' || gen_random_uuid() || '.bin', n % 1000, 1000, 'x', 2, 2,
                    now() - interval '1 day', now() - interval '1 day', now() - interval '1 day'
                FROM generate_series(1, \(count)) n;
                INSERT INTO attachments.links (attachment, recipient, message_id, linked_at)
                SELECT number, number % 1000, gen_random_uuid(), now() - interval '1 day' FROM attachments.attachments;
                INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case, status, status_at)
                SELECT l.message_id, a.uploader, l.recipient, a.number, now(), 0, (a.number % 2)::int2, now()
                FROM attachments.links l JOIN attachments.attachments a ON a.number = l.attachment;
                ANALYZE
                """)
            for var row in try await bench.pool.query("SELECT object_key FROM attachments.attachments") {
                store.put(try row.next(String.self), sizeBytes: 1_000, at: self.start)
            }
            let clock = ContinuousClock()
            for run in ["with half of them newly acknowledged", "with nothing new"] {
                let time = try await clock.measure {
                    let tally = try await bench.collector(store, at: .now).collect(sparingURLs: false)
                    #expect(tally.examined == Int64(count))
                }
                print("measured: \(count) attachments examined \(run): \(time)")
            }
            let audited = try await clock.measure {
                let report = try await bench.auditor(store, at: .now).audit(fixing: false)
                #expect(report.objects == count && report.rows == count && report.leaked == 0 && report.dangling == 0)
            }
            print("measured: \(count) attachments audited: \(audited)")
            try await bench.database.run("UPDATE attachments.links SET fetched_at = now() - interval '1 hour'")
            let removed = try await clock.measure {
                let tally = try await bench.collector(store, at: .now).collect(sparingURLs: true)
                print("measured: removed \(tally.deleted) in one run")
            }
            print("measured: that run took \(removed)")
        }
    }
}
