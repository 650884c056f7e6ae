import Bus
import ClusterContract
import Contract
import LocalStack
import Logging
import Store
import Synchronization
import TestKit

@testable import RouterCore

/// Routers on a bus in memory and a real Postgres, with the rights that the migrations granted and no more.
struct MailBench: Sendable {
    let database: TestDatabase
    /// Named in the routers' address behind the server of `database`.
    var standby: PostgresServer?
    /// Longest run of a statement; a server that is silent 5 s longer is left.
    var statementTimeout = Duration.seconds(10)
    let bus = MemoryBus()
    let node = NodeID(value: 9)
    private let answers = Answers()

    /// Keys are made of numbers, so that everybody who has one is registered.
    static func keys(_ number: Int) -> Keys { Keys(signSeed: [UInt8](repeating: UInt8(number), count: 32)) }

    /// `person(1)` to `person(40)` exist, in epoch 1, with their keys.
    /// - Parameter alone: in a Postgres of its own, which may be killed or get a standby.
    static func run(alone: Bool = false, _ body: (MailBench) async throws -> Void) async throws {
        try await TestDatabase.with("mail", alone: alone, prepare: self.migrate) { database in
            try await body(MailBench(database: database))
        }
    }

    private static func migrate(_ database: TestDatabase) async throws {
        let people = (1...40).map { number in
            let key = Hexadecimal.text(Self.keys(number).signPublicKey)
            return "(\(person(number).bits), 1, false, decode('\(key)', 'hex'))"
        }
        try await database.run(
            """
            CREATE SCHEMA auth;
            CREATE TABLE auth.identities (whisper_id bigint PRIMARY KEY, epoch bigint NOT NULL, is_banned boolean NOT NULL,
                sign_key bytea NOT NULL);
            CREATE VIEW auth.mail_identities AS SELECT * FROM auth.identities;
            INSERT INTO auth.identities VALUES \(people.joined(separator: ", "));
            """)
        try await routerMigrator.run(
            PostgresConfiguration(url: database.url(), applicationName: "migrate"), logger: quiet)
        try await database.run(
            """
            ALTER ROLE whisper_router LOGIN; GRANT USAGE ON SCHEMA auth TO whisper_router;
            GRANT SELECT ON auth.mail_identities TO whisper_router;
            """)
    }

    var store: PostgresConfiguration {
        let role = "whisper_router"
        return PostgresConfiguration(
            url: self.standby.map { PostgresServer.url(of: [self.database.server, $0], user: role) }
                ?? self.database.url(user: role),
            applicationName: "router", statementTimeout: self.statementTimeout,
            sessionSettings: Router.sessionSettings)
    }

    func connection() async throws -> PostgresConnection {
        let connection = PostgresConnection(self.store, logger: quiet)
        try await connection.connect()
        return connection
    }

    func sql(_ sql: String) async throws -> String { try await self.database.run(sql) }

    /// From now on the identity is none.
    func erase(_ number: Int) async throws {
        try await self.database.run("DELETE FROM auth.identities WHERE whisper_id = \(person(number).bits)")
    }

    // MARK: Statements

    func envelope(
        from sender: Int, to recipient: Int, id: UUIDText = .random(), bytes: Int = 10, key: Int? = nil,
        question: UInt64 = 0
    ) -> AcceptEnvelope {
        let keys = Self.keys(key ?? sender)
        let digest = [UInt8](repeating: 7, count: 32)
        return AcceptEnvelope(
            answer: AnswerAddress(node: self.node, question: question),
            sender: Caller(identity: person(sender), epoch: Epoch(value: 1)), senderKey: Bytes32(keys.signPublicKey)!,
            messageID: id, to: person(recipient), timestamp: .now, signature: Bytes64(keys.sign(digest))!,
            digest: Bytes32(digest)!, payload: [UInt8](repeating: 65, count: bytes), receivedAt: .now)
    }

    func receipt(of envelope: AcceptEnvelope) -> ReceiptReport {
        ReceiptReport(
            recipient: Caller(identity: envelope.to, epoch: Epoch(value: 1)), sender: envelope.sender.identity,
            messageID: envelope.messageID, status: .delivered, timestamp: .now)
    }

    // MARK: Routers

    /// Runs a router, with its sweeps, while `body` runs.
    func withRouter(
        _ configuration: RouterConfiguration, _ body: (Router, PostgresPool) async throws -> Void
    ) async throws {
        let router = Router(
            configuration: configuration, bus: self.bus, store: PostgresConnection(self.store, logger: quiet),
            logger: quiet)
        let pool = PostgresPool(self.store, connections: 1, logger: quiet)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await router.run() }
            group.addTask { try await self.hearAnswers() }
            try await waitUntil("the router owns everything", within: .seconds(30)) {
                await router.owned.count == Partition.count
            }
            try await body(router, pool)
            await router.drain()
            group.cancelAll()
        }
        pool.close()
    }

    /// Keeps the answers to what `envelope` and `send` ask, until cancelled.
    func hearAnswers() async throws {
        let answers = self.answers
        try await self.bus.subscribe(to: [Keyspace.node(self.node).name]) { event in
            if case .notice(_, let bytes) = event { answers.heard(bytes) }
        }
    }

    func answer(to question: UInt64) -> Answer? { self.answers[question] }

    /// Sends these, and waits for all answers.
    func send(_ envelopes: [AcceptEnvelope]) async throws -> [Answer] {
        try await self.answers(to: try await self.begin(envelopes))
    }

    /// Sends these.
    /// - Returns: the questions that they are.
    func begin(_ envelopes: [AcceptEnvelope]) async throws -> [UInt64] {
        let questions = envelopes.map { _ in UInt64.random(in: 1...(.max)) }
        for (envelope, question) in zip(envelopes, questions) {
            var envelope = envelope
            envelope.answer = AnswerAddress(node: self.node, question: question)
            try await self.bus.append(MailboxJob.accept(envelope), to: Keyspace.mailbox(Partition(of: envelope.to)))
        }
        return questions
    }

    /// Waits for all of them.
    func answers(to questions: [UInt64]) async throws -> [Answer] {
        try await waitUntil("all are answered", within: .seconds(60)) {
            questions.allSatisfy { self.answers[$0] != nil }
        }
        return questions.map { self.answers[$0]! }
    }

    func acknowledge(_ envelopes: [AcceptEnvelope]) async throws {
        for envelope in envelopes {
            try await self.bus.append(
                MailboxJob.receipt(self.receipt(of: envelope)), to: Keyspace.mailbox(Partition(of: envelope.to)))
        }
    }

    private final class Answers: Sendable {
        private let answers = Mutex<[UInt64: Answer]>([:])

        func heard(_ bytes: [UInt8]) {
            guard let notice = try? NodeNotice(decoding: bytes) else { return }
            for case .answer(let question, let answer) in notice.events {
                self.answers.withLock { $0[question] = answer }
            }
        }

        subscript(question: UInt64) -> Answer? { self.answers.withLock { $0[question] } }
    }
}

extension Answer {
    var isAccepted: Bool { if case .accepted = self { true } else { false } }
    var wait: Int64? { if case .refused(let refusal) = self { refusal.retryAfterMilliseconds } else { nil } }
}
