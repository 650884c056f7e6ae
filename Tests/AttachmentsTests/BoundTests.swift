import AttachmentsCore
import ClusterContract
import Contract
import HTTPAccess
import Store
import Telemetry
import TestKit
import Testing

/// Bounds on the contents of the object store (contract §13b), against a real Postgres.
@Suite(.timeLimit(.minutes(20))) struct BoundTests {
    private let start = Timestamp.now

    private func file(of uploader: WhisperID, _ bytes: Int64) -> AttachmentTable.New {
        AttachmentTable.New(
            key: ObjectKey(.random(), at: self.start), uploader: uploader, sizeBytes: bytes, contentType: "image/png",
            urlLife: .seconds(900), upload: nil)
    }

    private func makePeers(_ bench: AttachmentsBench) async throws {
        let (one, other) = (bench.alice.bits, bench.bob.bits)
        try await bench.database.run(
            "INSERT INTO router.peers VALUES (\(one), \(other), now()), (\(other), \(one), now())")
    }

    @Test func uploadsOfAllStrangersTogetherHaveABound() async throws {
        try await AttachmentsBench.run { bench in
            let carol = AttachmentsBench.carol
            func add(_ bytes: Int64, by uploader: WhisperID) async throws -> AttachmentTable.Adding {
                try await bench.attachments.add(
                    self.file(of: uploader, bytes), quota: 1_000, strangersBytesMax: 100, at: .at(self.start))
            }
            func count() async throws -> Int64 {
                var key = AttachmentTable.firstKey
                for _ in 0..<2 {
                    await StrangerSweep(bench.attachments, bytesMax: 100, logger: quiet).sweep(from: &key, age: .zero)
                }
                return try await bench.attachments.counted()
            }
            #expect(try await add(60, by: carol) == .added)
            #expect(try await count() == 60)
            #expect(try await add(41, by: bench.alice) == .noRoom)
            #expect(try await add(40, by: bench.alice) == .added)
            try await self.makePeers(bench)
            // Nobody who has a peer is refused, or counted.
            #expect(try await add(41, by: bench.alice) == .added)
            #expect(try await count() == 60)
            #expect(try await add(1_000, by: bench.alice) == .overQuota)
            // An upload that never arrived does not count for long.
            try await bench.database.run(
                "UPDATE attachments.attachments SET expires_at = now() - interval '61 minutes'")
            #expect(try await count() == 0)
        }
    }

    /// The identity has been erased, or has logged in anew, while the body was read.
    @Test func whoseSessionHasEndedUploadsNothing() async throws {
        try await AttachmentsBench.run { bench in
            func add(at now: Timestamp) async throws -> AttachmentTable.Adding {
                try await bench.attachments.add(
                    self.file(of: bench.alice, 1), quota: 1_000, strangersBytesMax: 1_000, at: .at(now))
            }
            #expect(try await add(at: self.start) == .added)
            try await bench.database.run("UPDATE auth.sessions SET expires_at = now() + interval '1 hour'")
            #expect(try await add(at: self.start) == .added)
            #expect(try await add(at: self.start + .seconds(3_700)) == .sessionEnded)
            try await bench.database.run("UPDATE auth.identities SET epoch = 2")
            #expect(try await add(at: self.start) == .sessionEnded)
            try await bench.database.run("DELETE FROM auth.sessions; DELETE FROM auth.identities")
            #expect(try await add(at: self.start) == .sessionEnded)
            #expect(try await bench.count("SELECT count(*) FROM attachments.attachments") == "2")
            #expect(try await bench.attachments.counted() == 2)
        }
    }

    private func room(
        _ bench: AttachmentsBench, _ store: MemoryStore, storeBytes: Int64? = nil
    ) -> StoreRoom {
        var configuration = AttachmentsConfiguration()
        configuration.storeBytes = storeBytes
        return StoreRoom(
            store, attachments: bench.attachments, configuration: configuration, clock: ServiceClock { self.start })
    }

    private func takes(_ bytes: Int64, from room: StoreRoom) async throws -> Bool { try await room.take(bytes) }

    @Test func belowAFloorOfFreeSpaceNoUploadBegins() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            let isLetIn = try await self.takes(.max / 2, from: self.room(bench, store))
            #expect(isLetIn, "nobody knows how large it is")
            // 5 % are kept free.
            store.set(StoreSpace(free: 150, total: 1_000))
            let room = self.room(bench, store)
            #expect(try await !self.takes(101, from: room))
            #expect(try await self.takes(60, from: room))
            #expect(try await !self.takes(41, from: room))
            #expect(try await self.takes(40, from: room))
            #expect(try await !self.takes(1, from: room))
            // An admitted upload takes space before it arrives, whichever process has admitted it.
            #expect(try await bench.add(self.file(of: bench.alice, 30), quota: 1_000, at: .at(self.start)))
            #expect(try await !self.takes(71, from: self.room(bench, store)))
            #expect(try await self.takes(70, from: self.room(bench, store)))
            // A large store keeps 2 GiB free.
            store.set(StoreSpace(free: (2 << 30) + 50, total: 1 << 40))
            #expect(try await !self.takes(21, from: self.room(bench, store)))
            #expect(try await self.takes(20, from: self.room(bench, store)))
        }
    }

    /// A bucket does not tell what it may hold.
    @Test func theRoomOfABucketIsASetting() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            _ = try await bench.upload(store, sizeBytes: 900, at: self.start)
            #expect(try await !self.takes(51, from: self.room(bench, store, storeBytes: 1_000)))
            #expect(try await self.takes(50, from: self.room(bench, store, storeBytes: 1_000)))
        }
    }

    @Test func aFullStoreSaysWhenToComeAgain() async throws {
        try await AttachmentsBench.run { bench in
            let store = MemoryStore()
            store.set(StoreSpace(free: 50, total: 1_000))
            let (bus, clock) = (MemoryBus(), ServiceClock { self.start })
            let routes = PublicRoutes(
                sessions: HTTPSessions(
                    pool: bench.pool, bus: bus, rates: RateTable(), trustedProxies: [], clock: clock, logger: quiet),
                attachments: bench.attachments, links: bench.links, store: store, blobs: nil,
                configuration: AttachmentsConfiguration(), clock: clock, metrics: AttachmentMetrics(), logger: quiet)
            do throws(HTTPRefusal) {
                try await routes.takeRoom(for: 1)
                Issue.record("there is no room")
            } catch {
                #expect(error.code.rawValue == "INTERNAL_ERROR" && "\(error.status)".contains("503"))
                #expect(error.retryAfter == 600)
            }
        }
    }
}
