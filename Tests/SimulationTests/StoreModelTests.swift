import ClusterContract
import Contract
import Foundation
import LocalStack
import Logging
import StoreModel
import Testing
import TestKit

@testable import RouterCore
@testable import Store

/// The model of the store that simulations run on is worth what its likeness to Postgres is worth: the same random operations, as
/// the router's own statements, are played against both, and every row must be the same.
@Suite struct StoreModelTests {
    @Test(.timeLimit(.minutes(20)))
    func theModelAnswersAsPostgresDoes() async throws {
        let postgres = try await PostgresServer.temporary()
        do {
            try await Self.prepare(postgres)
            let connection = PostgresConnection(
                PostgresConfiguration(
                    url: postgres.url(), applicationName: "router",
                    sessionSettings: Router.sessionSettings.merging(["search_path": "clock,pg_catalog"]) { $1 }),
                logger: quiet)
            try await connection.connect()
            for seed in UInt64(1)...6 {
                _ = try await connection.query(
                    """
                    WITH a AS (DELETE FROM router.ledger), b AS (DELETE FROM router.mailbox), c AS (DELETE FROM router.outcomes),
                        d AS (DELETE FROM router.stranger_bytes)
                    SELECT setval('router.mail_numbers', \(Self.lastNumber)), setval('router.outcome_numbers', \(Self.lastNumber))
                    """)
                try await postgres.run(Self.withoutDays)
                try await self.play(seed, on: connection)
            }
        } catch {
            await postgres.stop()
            throw error
        }
        await postgres.stop()
    }

    private static func prepare(_ postgres: PostgresServer) async throws {
        try await postgres.run(
            """
            CREATE SCHEMA auth;
            CREATE TABLE auth.identities (whisper_id bigint PRIMARY KEY, epoch bigint NOT NULL, is_banned boolean NOT NULL,
                sign_key bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'));
            CREATE VIEW auth.mail_identities AS SELECT * FROM auth.identities;
            INSERT INTO auth.identities
                SELECT (n::bigint << 40) | 7, 1 + n % 2, n = 3 FROM generate_series(0, 5) AS n;
            """)
        try await routerMigrator.run(
            PostgresConfiguration(url: postgres.url(), applicationName: "migrate"), logger: quiet)
        // The server's clock is the test's: the first schema that has it counts.
        try await postgres.run(
            """
            CREATE SCHEMA clock;
            CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS
                $$ SELECT to_timestamp(current_setting('clock.milliseconds')::bigint / 1000.0) $$;
            """)
        // Statements that take a few of many, in no order, take others once the tables were vacuumed or analysed meanwhile.
        try await postgres.run(
            ["ledger_kept", "mailbox_kept", "outcomes_kept"].map {
                "ALTER TABLE router.\($0) SET (autovacuum_enabled = false);"
            }.joined())
    }

    /// The ledger has no table of any day.
    private static let withoutDays = """
        DO $$ DECLARE d integer; BEGIN
            FOR d IN DELETE FROM router.ledger_days RETURNING day LOOP
                EXECUTE format('DROP TABLE router.%I', 'ledger_' || to_char(date '1970-01-01' + d, 'YYYYMMDD'));
            END LOOP;
        END $$
        """

    /// In the middle of a course the next segment's turn comes.
    private static let lastNumber: Int64 = 65_536 - 200

    /// Rows move from segment to segment, and segments are emptied: no statement may notice.
    private func clear(_ connection: PostgresConnection) async throws {
        for parent in SegmentsTable.Parent.allCases {
            for segment in Int16(0)...2 {
                _ = try await connection.query(SegmentsTable.keep(parent, segment: segment, from: 0, through: .max))
                #expect(try await connection.query(SegmentsTable.recycle(parent, segment: segment)))
            }
        }
    }

    private func play(_ seed: UInt64, on connection: PostgresConnection) async throws {
        var course = RandomOperations(seed: seed, lastNumber: Self.lastNumber)
        var model = StoreModel()
        (model.router.lastMail, model.router.lastOutcome) = (Self.lastNumber, Self.lastNumber)
        for person in 0...5 {
            model.auth.identities[course.person(person)] = .init(
                signKey: .zero, encKey: .zero, epoch: Int64(1 + person % 2), isBanned: person == 3)
        }
        var rows = 0
        for step in 0..<250 {
            if step % 20 == 19 { try await self.clear(connection) }
            let sql = course.next()
            _ = try await connection.query(
                "SELECT set_config('clock.milliseconds', \("\(course.now.milliseconds)"), false)")
            model.now = course.now
            let expected = try await connection.query(sql)
            let statement = try #require(StoreModel.statement(sql.template.text), "\(sql.template.text)")
            let answer = try model.run(statement, Parameters(of: sql))
            let found = try expected.bytes(types: answer.types)
            guard found == answer.bytes, expected.count == answer.rowCount else {
                Issue.record(
                    "seed \(seed), step \(step): \(sql.template.text)\nPostgres: \(found)\nmodel: \(answer.bytes)")
                return
            }
            rows += expected.count
        }
        // Operations that find nothing would prove little.
        #expect(rows > 500)
    }
}

/// Everything that the router's statements can be asked, from a seed: messages come again, receipts of everybody about everything,
/// with old epochs too.
private struct RandomOperations {
    private var random: SeededGenerator
    /// A few minutes before midnight: each course goes on into the next day.
    private(set) var now = Timestamp(milliseconds: 1_767_225_600_000 - 120_000)
    private var messages: [(id: UUIDText, sender: Int, recipient: Int)] = []

    private let lastNumber: Int64

    init(seed: UInt64, lastNumber: Int64) {
        self.random = SeededGenerator(scattered: seed)
        self.lastNumber = lastNumber
    }

    /// A number of mail or an outcome, at most `count` after the first.
    private mutating func number(below count: Int) -> Int64 { self.lastNumber + Int64(self.some(0...count)) }

    func person(_ number: Int) -> WhisperID { WhisperID(bits: UInt64(number) << 40 | 7)! }

    static func run(of person: WhisperID) -> PartitionRun {
        PartitionRun(Partition(of: person)...Partition(of: person))
    }

    private mutating func some(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.random) }

    /// Mostly the live one.
    private mutating func caller(_ number: Int) -> Caller {
        Caller(identity: self.person(number), epoch: Epoch(value: Int64(self.some(0...9) == 0 ? 7 : 1 + number % 2)))
    }

    mutating func next() -> SQL {
        self.now = self.now + .milliseconds(self.some(0...2_000))
        switch self.some(0...15) {
        case 0...4:
            let envelopes = self.envelopes()
            return AcceptStatement.statement(
                for: envelopes, spaces: self.spaces(for: envelopes),
                strangersMax: self.some(0...3) == 0 ? self.some(0...20_000) : nil
            ).sql
        case 5...7: return ReceiptStatement.statement(for: self.receipts()).sql
        case 8: return MailboxTable.read((0..<self.some(1...4)).map { _ in self.readRequest() }).sql
        case 9:
            return MailboxTable.newest(
                (0..<self.some(1...4)).map { _ in
                    let person = self.some(0...6); return self.caller(person)
                }
            ).sql
        case 10: return OutcomesTable.pending(of: [self.person(self.some(0...6)), self.person(self.some(0...6))]).sql
        case 11: return self.sweep()
        case 12:
            let first = self.number(below: 150)
            return OutcomesTable.numbered(after: first, through: first + Int64(self.some(1...100))).sql
        case 13:
            let first = self.person(self.some(0...5))
            return MailboxTable.recipients(
                from: first.stored, through: self.person(5).stored, limit: Int64(self.some(1...5))
            ).sql
        case 14: return self.strangers()
        default:
            let bounds = MailBounds(
                mailbox: MailTally(messages: 10_000, bytes: 5_000),
                stranger: MailTally(messages: self.some(1...6), bytes: self.some(1...2_000)))
            return MailboxTable.count(
                (0..<self.some(1...4)).map { _ in self.person(self.some(0...6)) },
                asked: [self.person(self.some(0...6))], bounds
            ).sql
        }
    }

    /// Mostly those of a batch of which nobody is near a bound.
    private mutating func spaces(for envelopes: [AcceptEnvelope]) -> [MailboxSpace?] {
        guard self.some(0...3) == 0 else { return [] }
        var spaces: [WhisperID: MailboxSpace?] = [:]
        for recipient in envelopes.map(\.to) where spaces[recipient] == nil {
            spaces[recipient] =
                self.some(0...2) == 0
                ? .some(nil) : MailboxSpace(mailbox: self.tally(), stranger: self.tally(), strangers: self.tally())
        }
        return envelopes.map { spaces[$0.to]! }
    }

    /// All senders are strangers.
    private mutating func strangers() -> SQL {
        switch self.some(0...3) {
        case 0: return StrangerBytesTable.read().sql
        case 1: return StrangerBytesTable.claim().sql
        case 2: return StrangerBytesTable.count(in: Self.run(of: self.person(self.some(0...5)))).sql
        default: return StrangerBytesTable.write(Int64(self.some(0...20_000)))
        }
    }

    private mutating func tally() -> MailTally { MailTally(messages: self.some(-1...4), bytes: self.some(-1...900)) }

    private mutating func envelopes() -> [AcceptEnvelope] {
        var envelopes: [AcceptEnvelope] = []
        for _ in 0..<self.some(1...6) {
            let isRepeated = !self.messages.isEmpty && self.some(0...4) == 0
            let message =
                isRepeated
                ? self.messages.randomElement(using: &self.random)!
                : (
                    id: UUIDText(
                        high: self.random.next(), low: self.random.next(),
                        upperCase: UInt32(truncatingIfNeeded: self.random.next())),
                    sender: self.some(0...5), recipient: self.some(0...6)
                )
            // Two with one key are never given together.
            guard !envelopes.contains(where: { $0.messageID == message.id }) else { continue }
            if !isRepeated { self.messages.append(message) }
            let late = self.some(0...9) == 0 ? 700_000 : 0
            envelopes.append(
                AcceptEnvelope(
                    answer: AnswerAddress(node: NodeID(value: 1), question: 1), sender: self.caller(message.sender),
                    senderKey: self.some(0...19) == 0 ? .other : .zero, messageID: message.id,
                    to: self.person(message.recipient),
                    timestamp: self.now - .milliseconds(late), signature: Bytes64([UInt8](repeating: 0, count: 64))!,
                    digest: .zero, payload: [UInt8](repeating: 65, count: self.some(1...300)), receivedAt: self.now,
                    overRateFor: self.some(0...9) == 0 ? 1_000 : nil))
        }
        return envelopes
    }

    private mutating func receipts() -> [ReceiptReport] {
        var reports: [ReceiptReport] = []
        for _ in 0..<self.some(1...6) {
            guard let message = self.messages.randomElement(using: &self.random),
                !reports.contains(where: { $0.messageID == message.id })
            else { continue }
            reports.append(
                ReceiptReport(
                    recipient: self.caller(self.some(0...9) == 0 ? self.some(0...5) : message.recipient),
                    sender: self.person(message.sender), messageID: message.id,
                    status: self.some(0...1) == 0 ? .delivered : .read, timestamp: self.now))
        }
        return reports
    }

    private mutating func readRequest() -> MailboxTable.ReadRequest {
        let person = self.some(0...6)
        return MailboxTable.ReadRequest(
            caller: self.caller(person), after: self.number(below: 200),
            through: self.some(0...3) == 0 ? self.number(below: 400) : .max,
            limit: self.some(1...10), peekBytes: self.some(0...1) == 0 ? nil : self.some(1...2_000))
    }

    private mutating func sweep() -> SQL {
        let age = Duration.seconds(Int64(self.some(20...200)))
        switch self.some(0...7) {
        case 0, 1:
            // All of them are in the first.
            return MailboxTable.expire(in: Self.run(of: self.person(self.some(0...3))), olderThan: age).sql
        case 2: return OutcomesTable.expire(olderThan: age)
        case 3: return LedgerTable.forgetKept(olderThan: .seconds(230))
        // The days before these are a release's that has just begun, so the first messages are of no day.
        case 4: return LedgerTable.addDays(ahead: 2).sql
        case 5: return LedgerTable.dropDay(olderThan: RouterLimits.ledgerTTL).sql
        default: return OutcomesTable.remove((0..<self.some(1...20)).map { _ in self.number(below: 400) })
        }
    }
}

extension Bytes32 {
    fileprivate static let zero = Bytes32([UInt8](repeating: 0, count: 32))!
    fileprivate static let other = Bytes32([UInt8](repeating: 1, count: 32))!
}

extension Parameters {
    /// A length in front of each, −1 for NULL.
    fileprivate init(of sql: SQL) {
        var bytes = sql.parameters[...]
        var parameters: [[UInt8]?] = []
        while !bytes.isEmpty {
            let length = bytes.prefix(4).reduce(Int32(0)) { $0 << 8 | Int32($1) }
            bytes = bytes.dropFirst(4)
            parameters.append(length < 0 ? nil : Array(bytes.prefix(Int(length))))
            bytes = bytes.dropFirst(max(0, Int(length)))
        }
        self.init(parameters)
    }
}

extension Rows {
    /// Every value as it travels.
    /// - Parameter types: what each column must be.
    fileprivate func bytes(types: [UInt32]) throws -> [UInt8] {
        var columns = Columns()
        for row in self {
            for (column, type) in types.enumerated() {
                switch type {
                case PostgresType.bool.oid: columns.add(try row.decode(column, as: Bool?.self))
                case PostgresType.bytea.oid: columns.add(try row.decode(column, as: [UInt8]?.self))
                case PostgresType.int2.oid: columns.add(try row.decode(column, as: Int16?.self))
                case PostgresType.int4.oid: columns.add(try row.decode(column, as: Int32?.self))
                case PostgresType.int8Array.oid: columns.add(try row.decode(column, as: [Int64].self))
                case PostgresType.int8.oid: columns.add(try row.decode(column, as: Int64?.self))
                case PostgresType.timestamptz.oid: columns.add(try row.decode(column, as: PostgresTimestamp?.self))
                case PostgresType.uuid.oid: columns.add(try row.decode(column, as: PostgresUUID?.self))
                default: throw StoreError.undecodable(column: column)
                }
            }
        }
        return columns.bytes
    }
}

private let quiet = Logger(label: "store-model", factory: { _ in SwiftLogNoOpLogHandler() })
