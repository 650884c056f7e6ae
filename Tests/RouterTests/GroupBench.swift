import Bus
import Contract
import Foundation
import LocalStack
import Logging
import RouterCore
import Store
import TestKit
import Testing

/// A desk for groups on a bus in memory and a real Postgres, with the rights that the migrations granted and no more.
struct GroupBench: Sendable {
    let postgres: PostgresServer
    let pool: PostgresPool
    let bus = MemoryBus()
    let desk: GroupDesk

    /// Everybody up to `person(399)` exists, in epoch 1.
    static func run(_ body: (GroupBench) async throws -> Void) async throws {
        let postgres = try await PostgresServer.temporary()
        do {
            try await postgres.run(
                """
                CREATE SCHEMA auth;
                CREATE TABLE auth.identities (whisper_id bigint PRIMARY KEY, epoch bigint NOT NULL, is_banned boolean NOT NULL);
                CREATE VIEW auth.mail_identities AS SELECT * FROM auth.identities;
                INSERT INTO auth.identities SELECT (n::bigint << 40) | 7, 1, false FROM generate_series(0, 399) AS n;
                """)
            let migrator = PostgresConfiguration(url: postgres.url(), applicationName: "migrate")
            try await routerMigrator.run(migrator, logger: quiet)
            try await postgres.run(
                """
                ALTER ROLE whisper_router LOGIN; GRANT USAGE ON SCHEMA auth TO whisper_router;
                GRANT SELECT ON auth.mail_identities TO whisper_router;
                """)
            let pool = PostgresPool(
                PostgresConfiguration(
                    url: postgres.url(user: "whisper_router"), applicationName: "router",
                    sessionSettings: Router.sessionSettings),
                connections: 4, logger: quiet)
            let bus = GroupBench(postgres: postgres, pool: pool)
            try await body(bus)
            pool.close()
        } catch {
            await postgres.stop()
            throw error
        }
        await postgres.stop()
    }

    private init(postgres: PostgresServer, pool: PostgresPool) {
        self.postgres = postgres
        self.pool = pool
        self.desk = GroupDesk(pool: pool, bus: self.bus, logger: quiet)
    }

    func sql(_ sql: String) async throws -> String {
        try await self.postgres.run(sql).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    // MARK: Asking

    func request(
        _ type: String, _ json: String, by caller: WhisperID, epoch: Int64 = 1, question: UInt64 = .random(in: 1...(.max))
    ) -> ServiceRequest {
        ServiceRequest(
            answer: AnswerAddress(node: NodeID(value: .max - 5), question: question), connection: ConnectionID(value: 1),
            session: Session(
                caller: Caller(identity: caller, epoch: Epoch(value: epoch)), device: .random(), platform: .ios,
                tokenHash: Bytes32([UInt8](repeating: 1, count: 32))!, expiresAt: .now + .seconds(60),
                signPublicKey: Bytes32([UInt8](repeating: 2, count: 32))!, isBanned: false),
            body: .frame(type: type, payload: Array(json.utf8)))
    }

    func create(_ title: String, _ members: [WhisperID], by caller: WhisperID) async throws -> SeenGroup {
        try await self.desk.handle(self.request("group_create", createJSON(title, members), by: caller)).answer.event().group
    }

    func update(
        _ group: UUIDText, by caller: WhisperID, title: String? = nil, add: [WhisperID] = [], remove: [WhisperID] = [],
        roles: [(WhisperID, GroupRole)] = []
    ) async -> GroupDesk.Reply {
        await self.desk.handle(
            self.request(
                "group_update", updateJSON(group, title: title, add: add, remove: remove, roles: roles), by: caller))
    }

    func list(of caller: WhisperID, epoch: Int64 = 1) async -> Answer {
        await self.desk.handle(
            self.request("group_list", #"{"protocolVersion":1,"cryptoVersion":1}"#, by: caller, epoch: epoch)).answer
    }

    /// Somebody is connected to a node.
    func connect(_ identity: WhisperID, node: UInt64, connection: UInt64) {
        self.bus.setSoon(
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
            _ = try FrameDecoder.payload(bare: payload, schema: GroupFrames.event.schema)
            return try JSONDecoder().decode(SeenEvent.self, from: Data(payload))
        default: throw Unexpected(description: "\(self)")
        }
    }

    func groups() throws -> [SeenGroup] {
        struct Groups: Decodable { var groups: [SeenGroup] }
        guard case .reply("groups", let payload) = self else { throw Unexpected(description: "\(self)") }
        _ = try FrameDecoder.payload(bare: payload, schema: GroupFrames.groups.schema)
        return try JSONDecoder().decode(Groups.self, from: Data(payload)).groups
    }

    var refusal: ErrorCode? { if case .refused(let refusal) = self { refusal.code } else { nil } }
    var isStale: Bool { if case .stale = self { true } else { false } }
    var number: Int64? { if case .groupEvent(let number, _) = self { number } else { nil } }
}

let quiet = Logger(label: "router-tests", factory: { _ in SwiftLogNoOpLogHandler() })
