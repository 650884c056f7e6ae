package import AuthCore
import Bus
package import ClusterContract
package import Contract
import Foundation
package import LocalStack
package import Logging
package import OperatorsCore
package import Store
import Synchronization
import Telemetry
package import TestKit

/// Two instances of auth on a bus in memory and a real Postgres, with two gateway nodes to ask them.
package final class AuthBench: Sendable {
    package let database: TestDatabase
    package let bus = MemoryBus()
    package let pool: PostgresPool
    package let listener = Listener()
    package let near = NodeID(value: 1)
    package let far = NodeID(value: 2)
    private let time: Mutex<Timestamp>
    private let question = Mutex<UInt64>(0)

    package var now: Timestamp { self.time.withLock { $0 } }
    package func wait(_ duration: Duration) { self.time.withLock { $0 = $0 + duration } }
    package var clock: ServiceClock { ServiceClock { self.now } }

    private init(_ database: TestDatabase, pool: PostgresPool) {
        self.database = database
        self.pool = pool
        self.time = Mutex(.now)
    }

    /// No gateway is here that gives a frame up, and a busy machine may stop the tests for longer than a frame may be old: a frame
    /// without an answer would be waited for until the test's own limit.
    private static let frameAgeMax = Duration.seconds(20 * 60)

    /// - Parameter alone: in a Postgres of its own, which may be killed.
    package static func run(
        instances: Int = 2, alone: Bool = false, _ body: (AuthBench) async throws -> Void
    ) async throws {
        try await TestDatabase.with("auth", alone: alone, prepare: self.migrate) { database in
            let pool = Auth.pool(url: Secret(database.url(user: "whisper_auth")), instance: 1, logger: quiet)
            let bench = AuthBench(database, pool: pool)
            try await withThrowingTaskGroup { group in
                let (listening, begun) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
                group.addTask {
                    try await bench.listener.run(on: bench.bus, nodes: [bench.near, bench.far]) { begun.yield() }
                }
                for await _ in listening { break }
                for instance in 0..<instances {
                    let operators = bench.operators
                    let auth = Auth(
                        pool: pool, bus: bench.bus, instance: instance + 1, operators: operators,
                        frameAgeMax: Self.frameAgeMax, clock: bench.clock, logger: quiet)
                    group.addTask { await auth.run() }
                    group.addTask { await operators.run() }
                }
                try await body(bench)
                group.cancelAll()
            }
            pool.close()
        }
    }

    private static func migrate(_ database: TestDatabase) async throws {
        try await Migrator(schema: "auth", migrations: Auth.migrations + Operators.migrations).run(
            PostgresConfiguration(url: database.url(), applicationName: "migrate"), logger: quiet)
        // Everything else works with what the migration granted, and no more.
        try await database.run("ALTER ROLE whisper_auth LOGIN")
    }

    package var directory: SessionDirectory {
        SessionDirectory(SessionTable(self.pool), keys: self.bus, clock: self.clock, logger: quiet)
    }

    package var identities: IdentityAccess {
        IdentityAccess(pool: self.pool, keys: self.bus, clock: self.clock, logger: quiet)
    }

    package var operators: Operators {
        Operators(pool: self.pool, identities: self.identities, bus: self.bus, clock: self.clock, logger: quiet)
    }

    package var bans: Bans {
        Bans(pool: self.pool, identities: self.identities, bus: self.bus, clock: self.clock, logger: quiet)
    }

    /// - Parameter classes: as the settings have them.
    package func rateClassing(_ classes: RateClasses) -> RateClassing {
        RateClassing(
            classes, pool: self.pool, identities: self.identities, bus: self.bus, clock: self.clock, logger: quiet)
    }

    package var rateClassing: RateClassing { self.rateClassing(.usual) }

    /// Makes the router's tables, which auth is shown a part of.
    package func addRouter() async throws { try await self.migrate("router") }

    /// Makes the tables of attachments, which need the router's.
    package func addAttachments() async throws { try await self.migrate("attachments") }

    /// Makes the tables of all other services.
    package func addServices() async throws {
        for service in ["router", "attachments", "push", "calls"] { try await self.migrate(service) }
    }

    private func migrate(_ service: String) async throws {
        try await Command(
            "\(StackConfiguration.programsBesideThisOne)/whisper-\(service)", ["migrate"],
            environment: ["POSTGRES_URL": self.database.url()]
        ).run(name: "\(service) migrate")
    }

    // MARK: Asking

    package func ask(
        _ body: ServiceRequest.Body, node: NodeID? = nil, connection: UInt64 = 1, session: Session? = nil,
        token: String = ""
    ) async -> Answer {
        let number = self.question.withLock {
            $0 += 1
            return $0
        }
        let request = ServiceRequest(
            answer: AnswerAddress(node: node ?? self.near, question: number),
            connection: ConnectionID(value: connection),
            session: session, presentedToken: Array(token.utf8), body: body)
        return await self.listener.answer(to: number) { self.bus.append(request, to: Keyspace.auth) { _ in } }
    }

    package func send(
        _ type: String, _ payload: String, node: NodeID? = nil, connection: UInt64 = 1, session: Session? = nil,
        token: String = ""
    ) async -> Answer {
        await self.ask(
            .frame(type: type, payload: Array(payload.utf8)), node: node, connection: connection, session: session,
            token: token)
    }

    /// Says something that is not answered, and returns when it is done.
    package func tell(_ body: ServiceRequest.Body) async throws {
        let request = ServiceRequest(
            answer: AnswerAddress(node: self.near, question: 0), connection: ConnectionID(value: 1), session: nil,
            body: body)
        try await self.bus.append(request, to: Keyspace.auth)
        try await self.untilAllIsDone()
    }

    /// Returns when every Job is acknowledged.
    package func untilAllIsDone() async throws {
        while try await self.bus.depth(of: [Keyspace.auth.name]) != [0] {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Repeats a question that INTERNAL_ERROR may be the answer to while a server comes back.
    package func untilAnswered<T>(_ ask: () async throws -> T) async throws -> T {
        while true {
            do {
                return try await ask()
            } catch let error as Unexpected where error.answer.refusal == .internalError {
                await Task.yield()
            }
        }
    }

    package static let privileged = #"{"protocolVersion":1,"cryptoVersion":1}"#

    package func challenge(
        _ identity: TestIdentity, as id: WhisperID? = nil, node: NodeID? = nil, connection: UInt64 = 1
    ) async throws -> (id: String, bytes: [UInt8]) {
        let reply = try await self.send("register_begin", identity.begin(as: id), node: node, connection: connection)
            .reply("register_challenge")
        return (reply["challengeId"] as! String, Base64.decode(reply["challenge"] as! String)!)
    }

    package struct Login: Sendable {
        package var session: Session
        package var token: String
    }

    /// Begins and proves.
    package func login(
        _ identity: TestIdentity, as id: WhisperID? = nil, node: NodeID? = nil, connection: UInt64 = 1,
        more: String = ""
    ) async throws -> Login {
        let challenge = try await self.challenge(identity, as: id, node: node, connection: connection)
        let proof = identity.proof(challenge.id, signing: challenge.bytes, as: id, more: more)
        return try await self.send("register_proof", proof, node: node, connection: connection).login()
    }

    package func session(_ tokenHash: Bytes32) async throws -> Session? {
        let answer = await self.ask(.session(tokenHash: tokenHash))
        guard case .session(let session) = answer else { throw Unexpected(answer) }
        return session
    }

    package func isCached(_ tokenHash: Bytes32) async throws -> Bool {
        try await self.bus.get(Keyspace.session(tokenHash)) != nil
    }

    @discardableResult
    package func sql(_ sql: String) async throws -> String { try await self.database.run(sql) }
}

package let quiet = Logger(label: "auth-tests", factory: { _ in SwiftLogNoOpLogHandler() })

/// An answer of another kind than the test is about.
package struct Unexpected: Error, CustomStringConvertible {
    package let answer: Answer
    package init(_ answer: Answer) { self.answer = answer }
    package var description: String { "\(self.answer)" }
}

extension Answer {
    package var refusal: ErrorCode? {
        if case .refused(let refusal) = self { refusal.code } else { nil }
    }

    package var isStale: Bool {
        if case .stale = self { true } else { false }
    }

    package func reply(_ type: String) throws -> [String: Any] {
        let (name, payload) =
            switch self {
            case .reply(let name, let payload), .loggedIn(_, let name, let payload),
                .refreshed(_, let name, let payload), .guestProved(_, let name, let payload),
                .loggedOut(let name, let payload):
                (name, payload)
            default: throw Unexpected(self)
            }
        guard name == type else { throw Unexpected(self) }
        return try JSONSerialization.jsonObject(with: Data(payload)) as! [String: Any]
    }

    package func login() throws -> AuthBench.Login {
        guard case .loggedIn(let session, _, _) = self else { throw Unexpected(self) }
        return AuthBench.Login(session: session, token: try self.reply("register_ack")["sessionToken"] as! String)
    }

    package func refreshed() throws -> AuthBench.Login {
        guard case .refreshed(let session, _, _) = self else { throw Unexpected(self) }
        return AuthBench.Login(
            session: session, token: try self.reply("session_refresh_ack")["sessionToken"] as! String)
    }
}
