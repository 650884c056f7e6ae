import AttachmentsCore
import Contract
import LocalStack
import Logging
import Store
import Synchronization
import Telemetry
import Testing

let quiet = Logger(label: "attachments-tests", factory: { _ in SwiftLogNoOpLogHandler() })

/// The tables of the whole cluster in a real Postgres, and nothing that runs. Everything works with what the migrations granted.
struct AttachmentsBench: Sendable {
    let database: TestDatabase
    let pool: PostgresPool
    /// As the router.
    let router: PostgresPool
    /// Each has a session.
    static let alice = WhisperID("WSP-JBPU-D452-TLT4")!
    static let bob = WhisperID("WSP-7NUF-DNEU-IGIL")!
    static let carol = WhisperID("WSP-AAAA-AAAA-AAAA")!
    var alice: WhisperID { Self.alice }
    var bob: WhisperID { Self.bob }

    static func run(_ body: (AttachmentsBench) async throws -> Void) async throws {
        try await TestDatabase.with("attachments", prepare: self.migrate) { database in
            func pool(_ role: String, _ connections: Int) -> PostgresPool {
                PostgresPool(
                    PostgresConfiguration(url: database.url(user: role), applicationName: role),
                    connections: connections,
                    logger: quiet)
            }
            let bench = AttachmentsBench(
                database: database, pool: pool("whisper_attachments", 8), router: pool("whisper_router", 4))
            try await body(bench)
            bench.pool.close()
            bench.router.close()
        }
    }

    private static func migrate(_ database: TestDatabase) async throws {
        for service in ["auth", "router", "attachments"] {
            try await Command(
                "\(StackConfiguration.programsBesideThisOne)/whisper-\(service)", ["migrate"],
                environment: ["POSTGRES_URL": database.url()]
            ).run(name: "\(service) migrate")
        }
        let people = [self.alice, self.bob, self.carol].map { "(\($0.bits))" }.joined(separator: ", ")
        try await database.run(
            """
            ALTER ROLE whisper_attachments LOGIN; ALTER ROLE whisper_router LOGIN;
            CREATE TEMP TABLE people (id) AS VALUES \(people);
            INSERT INTO auth.identities (whisper_id, sign_key, enc_key, epoch)
                SELECT id, sha256(id::text::bytea), sha256((-id)::text::bytea), 1 FROM people;
            INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at)
                SELECT decode(lpad(to_hex(id), 64, '0'), 'hex'), id, gen_random_uuid(), 'ios', 1, 'infinity' FROM people;
            """)
    }

    var attachments: AttachmentTable { AttachmentTable(self.pool) }
    var links: LinkTable { LinkTable(self.pool) }
    var removals: RemovalTable { RemovalTable(self.pool) }

    /// Short lives, in seconds, so that a clock of the test's own can step over them.
    func collector(_ store: any ObjectStore, at now: Timestamp) -> Collector {
        var configuration = AttachmentsConfiguration()
        configuration.claimLife = .seconds(60)
        return Collector(
            attachments: self.attachments, removals: self.removals, store: store, pool: self.pool,
            configuration: configuration, clock: ServiceClock { now }, metrics: AttachmentMetrics(), logger: quiet)
    }

    func auditor(_ store: any ObjectStore, at now: Timestamp) -> Auditor {
        Auditor(
            attachments: self.attachments, removals: self.removals, store: store, pool: self.pool,
            clock: ServiceClock { now })
    }

    /// An upload of alice's that is in the store.
    func upload(_ store: MemoryStore, sizeBytes: Int64 = 10, at now: Timestamp) async throws -> ObjectKey {
        let key = ObjectKey(.random(), at: now)
        let new = AttachmentTable.New(
            key: key, uploader: self.alice, sizeBytes: sizeBytes, contentType: "image/png", urlLife: .seconds(900),
            upload: nil)
        #expect(try await self.add(new, quota: .max / 2, at: .at(now)))
        store.put(key, sizeBytes: sizeBytes, at: now)
        #expect(try await self.attachments.markUploaded(key, at: .at(now)))
        return key
    }

    /// - Returns: whether it fits into the uploader's quota.
    func add(_ new: AttachmentTable.New, quota: Int64, at now: StoreTime) async throws -> Bool {
        try await self.attachments.add(new, quota: quota, strangersBytesMax: .max / 2, at: now) == .added
    }

    enum Linking: Int16 { case linked, unknown, foreign }

    /// As the router does.
    func link(
        _ key: ObjectKey, from sender: WhisperID, to recipient: WhisperID, at now: Timestamp
    ) async throws -> Linking {
        let rows = try await self.router.query(
            """
            SELECT attachments.link(\(key.description), \(sender), \(recipient), \(PostgresUUID(UUIDText.random())), \(now))
            """)
        // The database has written down when that was. Here it was at another time.
        try await self.database.run(
            """
            UPDATE attachments.links SET linked_at = to_timestamp(\(now.milliseconds) / 1000.0)
            WHERE recipient = \(recipient.bits)
                AND attachment = (SELECT number FROM attachments.attachments WHERE object_key = '\(key)')
            """)
        return Linking(rawValue: try rows[0].decode(0))!
    }

    func count(_ sql: String) async throws -> String { try await self.database.run(sql) }
}

extension AttachmentTable.New {
    /// Asked for by the uploader's session.
    init(
        key: ObjectKey, uploader: WhisperID, sizeBytes: Int64, contentType: String, urlLife: Duration, upload: String?
    ) {
        let id = (0..<8).reversed().map { UInt8(truncatingIfNeeded: uploader.bits >> ($0 * 8)) }
        self.init(
            key: key, uploader: uploader, session: Bytes32([UInt8](repeating: 0, count: 24) + id)!,
            sizeBytes: sizeBytes, contentType: contentType, urlLife: urlLife, upload: upload)
    }
}

extension PostgresUUID {
    init(_ id: UUIDText) { self.init(high: id.high, low: id.low) }
}

/// An object store in memory, which can be told to fail.
final class MemoryStore: ObjectStore {
    private struct State {
        var objects: [String: StoredObject] = [:]
        var removals: [String: Int] = [:]
        /// Calls that still succeed; nil for all.
        var callsLeft: Int?
        var space: StoreSpace?
    }

    private let state = Mutex(State())

    var keys: Set<String> { self.state.withLock { Set($0.objects.keys) } }
    var removals: [String: Int] { self.state.withLock { $0.removals } }
    func fail(after calls: Int?) { self.state.withLock { $0.callsLeft = calls } }

    func put(_ key: ObjectKey, sizeBytes: Int64, at now: Timestamp) {
        self.put("\(key)", sizeBytes: sizeBytes, at: now)
    }

    func put(_ key: String, sizeBytes: Int64, at now: Timestamp) {
        self.state.withLock { $0.objects[key] = StoredObject(key: key, sizeBytes: sizeBytes, modifiedAt: now) }
    }

    func lose(_ key: ObjectKey) { self.state.withLock { _ = $0.objects.removeValue(forKey: "\(key)") } }

    private func call<T>(_ body: (inout State) -> T) throws(ObjectStoreError) -> T {
        let result: T? = self.state.withLock { state in
            if let left = state.callsLeft {
                guard left > 0 else { return nil }
                state.callsLeft = left - 1
            }
            return body(&state)
        }
        guard let result else { throw .unavailable }
        return result
    }

    func uploadURL(of key: ObjectKey, sizeBytes: Int64, at now: Timestamp, life: Duration) -> String { "put" }
    func downloadURL(of key: ObjectKey, for identity: WhisperID, at now: Timestamp, life: Duration) -> String { "get" }
    func partURL(
        of key: ObjectKey, upload: String, _ part: UploadPlan.Part, at now: Timestamp, life: Duration
    ) -> String { "part" }
    func beginParts(of key: ObjectKey) async throws(ObjectStoreError) -> String { "" }
    func parts(of key: ObjectKey, upload: String) async throws(ObjectStoreError) -> [StoredPart] { [] }
    func join(_ parts: [StoredPart], of key: ObjectKey, upload: String) async throws(ObjectStoreError) {}
    func tidy(at now: Timestamp) async throws(ObjectStoreError) {}
    func space() async throws(ObjectStoreError) -> StoreSpace? { self.state.withLock { $0.space } }
    func set(_ space: StoreSpace) { self.state.withLock { $0.space = space } }

    func size(of key: ObjectKey) async throws(ObjectStoreError) -> Int64? {
        try self.call { $0.objects["\(key)"]?.sizeBytes }
    }

    func remove(_ key: ObjectKey, upload: String?) async throws(ObjectStoreError) {
        try await self.remove(stray: "\(key)")
    }

    func remove(stray key: String) async throws(ObjectStoreError) {
        try self.call { state in
            state.removals[key, default: 0] += 1
            state.objects[key] = nil
        }
    }

    func lister() -> any ObjectLister {
        MemoryLister(
            self.state.withLock { $0.objects.values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) } })
    }
}

private final class MemoryLister: ObjectLister {
    private var rest: ArraySlice<StoredObject>
    init(_ objects: [StoredObject]) { self.rest = objects[...] }

    func next() async throws(ObjectStoreError) -> [StoredObject] {
        let page = Array(self.rest.prefix(1_000))
        self.rest = self.rest.dropFirst(page.count)
        return page
    }
}
