import Bus
import ClusterContract
import Contract
import Foundation
import LocalStack
import Logging
import RouterCore
import Store
import TestKit
import Testing

/// A group service on a bus in memory and a real Postgres, with the rights that the migrations granted and no more.
struct GroupBench: Sendable {
    let database: TestDatabase
    let pool: PostgresPool
    let bus = MemoryBus()
    let service: GroupService

    /// Everybody up to `person(399)` exists, in epoch 1.
    static func run(
        _ configuration: GroupConfiguration = GroupConfiguration(), _ body: (GroupBench) async throws -> Void
    ) async throws {
        try await TestDatabase.with("groups", prepare: self.migrate) { database in
            let pool = PostgresPool(
                PostgresConfiguration(
                    url: database.url(user: "whisper_router"), applicationName: "router",
                    sessionSettings: Router.sessionSettings),
                connections: 4, logger: quiet)
            try await body(GroupBench(configuration, database: database, pool: pool))
            pool.close()
        }
    }

    private static func migrate(_ database: TestDatabase) async throws {
        try await database.run(
            """
            CREATE SCHEMA auth;
            CREATE TABLE auth.identities (whisper_id bigint PRIMARY KEY, epoch bigint NOT NULL, is_banned boolean NOT NULL,
                sign_key bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'));
            CREATE VIEW auth.mail_identities AS SELECT * FROM auth.identities;
            INSERT INTO auth.identities SELECT (n::bigint << 40) | 7, 1, false FROM generate_series(0, 399) AS n;
            """)
        try await routerMigrator.run(
            PostgresConfiguration(url: database.url(), applicationName: "migrate"), logger: quiet)
        try await database.run(
            """
            ALTER ROLE whisper_router LOGIN; GRANT USAGE ON SCHEMA auth TO whisper_router;
            GRANT SELECT ON auth.mail_identities TO whisper_router;
            """)
    }

    private init(_ configuration: GroupConfiguration, database: TestDatabase, pool: PostgresPool) {
        self.database = database
        self.pool = pool
        self.service = GroupService(pool: pool, bus: self.bus, configuration: configuration, logger: quiet)
    }

    func sql(_ sql: String) async throws -> String {
        try await self.database.run(sql).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    // MARK: Asking

    func request(
        _ type: String, _ json: String, by caller: WhisperID, epoch: Int64 = 1,
        question: UInt64 = .random(in: 1...(.max))
    ) -> ServiceRequest {
        ServiceRequest(
            answer: AnswerAddress(node: NodeID(value: .max - 5), question: question),
            connection: ConnectionID(value: 1),
            session: Session(
                caller: Caller(identity: caller, epoch: Epoch(value: epoch)), device: .random(), platform: .ios,
                tokenHash: Bytes32([UInt8](repeating: 1, count: 32))!, expiresAt: .now + .seconds(60),
                signPublicKey: Bytes32([UInt8](repeating: 2, count: 32))!, isBanned: false),
            body: .frame(type: type, payload: Array(json.utf8)))
    }

    func create(_ title: String, _ members: [WhisperID], by caller: WhisperID) async throws -> SeenGroup {
        try await self.service.handle(self.request("group_create", createJSON(title, members), by: caller)).answer
            .event().group
    }

    func update(
        _ group: UUIDText, by caller: WhisperID, title: String? = nil, add: [WhisperID] = [], remove: [WhisperID] = [],
        roles: [(WhisperID, GroupRole)] = []
    ) async -> GroupService.Reply {
        await self.service.handle(
            self.request(
                "group_update", updateJSON(group, title: title, add: add, remove: remove, roles: roles), by: caller))
    }

    func list(of caller: WhisperID, epoch: Int64 = 1, after cursor: String? = nil, limit: Int? = nil) async -> Answer {
        let cursor = cursor.map { #","cursor":"\#($0)""# } ?? ""
        let limit = limit.map { #","limit":\#($0)"# } ?? ""
        return await self.service.handle(
            self.request(
                "group_list", #"{"protocolVersion":1,"cryptoVersion":1\#(cursor)\#(limit)}"#, by: caller, epoch: epoch)
        ).answer
    }

    /// The list from here to its end, page by page.
    /// - Parameter between: what happens between two pages.
    func wholeList(
        of caller: WhisperID, limit: Int, between: (Int) async throws -> Void = { _ in }
    ) async throws -> [SeenGroup] {
        var page = await self.list(of: caller, limit: limit)
        var seen = try page.groups()
        var number = 1
        while let cursor = try page.nextCursor() {
            try await between(number)
            number += 1
            page = await self.list(of: caller, after: cursor, limit: limit)
            seen += try page.groups()
        }
        return seen
    }

    /// They have written to each other.
    func makePeers(_ one: WhisperID, _ other: WhisperID) async throws {
        _ = try await self.sql(
            """
            INSERT INTO router.peers VALUES (\(one.bits), \(other.bits), now()), (\(other.bits), \(one.bits), now())
            ON CONFLICT DO NOTHING
            """)
    }

    /// So many groups of `owner`, straight in the tables: `member` is in each, with as many others as there are to be members.
    func fill(
        _ count: Int, of owner: WhisperID, with member: WhisperID, members: Int = 2, byStranger: Bool = false
    ) async throws {
        _ = try await self.sql(
            """
            WITH made AS (
                INSERT INTO router.groups
                SELECT gen_random_uuid(), 'Filled', \(owner.bits), 1, now(), now() FROM generate_series(1, \(count))
                RETURNING group_id
            ), filled AS (
                INSERT INTO router.group_members (group_id, member, role, joined_at)
                SELECT group_id, (n::bigint << 40) | 9, 2, now() FROM made, generate_series(3, \(members)) AS n
            )
            INSERT INTO router.group_members (group_id, member, role, joined_at, added_by_stranger)
            SELECT group_id, \(owner.bits), 0, now(), false FROM made
            UNION ALL SELECT group_id, \(member.bits), 2, now(), \(byStranger) FROM made
            """)
    }

    /// Somebody is connected to a node.
    func connect(_ identity: WhisperID, node: UInt64, connection: UInt64) {
        self.bus.setWithoutWaiting(
            Keyspace.presence(identity),
            to: Presence(
                node: NodeID(value: node), connection: ConnectionID(value: connection), epoch: Epoch(value: 1)
            ).encoded(), for: .seconds(60))
    }
}

/// A `group_event` as a client reads it.
struct SeenEvent: Decodable, Sendable {
    var event: String
    var group: SeenGroup
    var actor: String
    var added: [String]
    var removed: [String]
}

struct SeenGroup: Decodable, Sendable {
    struct Member: Decodable, Sendable {
        var whisperId: String
        var role: String
        var joinedAt: Int64
    }

    var groupId: String
    var title: String
    var ownerId: String
    var revision: Int64
    var createdAt: Int64
    var updatedAt: Int64
    var members: [Member]

    var id: UUIDText { UUIDText(String(self.groupId.dropFirst(4)))! }
    func role(_ identity: WhisperID) -> String? { self.members.first { $0.whisperId == "\(identity)" }?.role }
}

/// An answer of another kind than the test is about.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
}

extension Answer {
    /// The event in it, which is as the contract says.
    func event() throws -> SeenEvent {
        switch self {
        case .groupEvent(_, let payload), .reply("group_event", let payload):
            _ = try FrameDecoder.payload(bare: payload, schema: GroupEvent.definition.schema)
            return try JSONDecoder().decode(SeenEvent.self, from: Data(payload))
        default: throw Unexpected(description: "\(self)")
        }
    }

    private struct Page: Decodable {
        var groups: [SeenGroup]
        var nextCursor: String?
    }

    private func page() throws -> Page {
        guard case .reply("groups", let payload) = self else { throw Unexpected(description: "\(self)") }
        _ = try FrameDecoder.payload(bare: payload, schema: Groups.definition.schema)
        return try JSONDecoder().decode(Page.self, from: Data(payload))
    }

    func groups() throws -> [SeenGroup] { try self.page().groups }
    func nextCursor() throws -> String? { try self.page().nextCursor }

    /// The length of the payload.
    var bytes: Int { if case .reply(_, let payload) = self { payload.count } else { 0 } }

    var refusal: ErrorCode? { if case .refused(let refusal) = self { refusal.code } else { nil } }
    /// Milliseconds.
    var retryAfter: Int64? { if case .refused(let refusal) = self { refusal.retryAfterMilliseconds } else { nil } }
    var isStale: Bool { if case .stale = self { true } else { false } }
    var number: Int64? { if case .groupEvent(let number, _) = self { number } else { nil } }
}

let quiet = Logger(label: "router-tests", factory: { _ in SwiftLogNoOpLogHandler() })
