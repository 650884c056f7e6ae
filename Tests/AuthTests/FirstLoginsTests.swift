import AuthTestKit
import ClusterContract
import Contract
import LocalStack
import Store
import TestKit
import Testing

@testable import AuthCore

@Suite struct FirstLoginsTests {
    /// Logins that arrive while a transaction waits are stored by the next one.
    @Test func loginsThatComeMeanwhileShareATransaction() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let outcomes = try await self.store(self.logins(20), by: bench)
            #expect(outcomes.allSatisfy { if case .success(.added) = $0 { true } else { false } })
            #expect(
                try await bench.sql("SELECT count(*), count(DISTINCT xmin::text) FROM auth.identities") == "20|2")
            #expect(
                try await bench.sql("SELECT count(*) FROM auth.sessions JOIN auth.devices USING (device_id)") == "20")
        }
    }

    /// Somebody else registers one of the keys meanwhile. All others are stored nevertheless, each alone.
    @Test func aLoginThatIsInTheWayStopsNoOther() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let logins = self.logins(20)
            let outcomes = try await self.store(logins, by: bench, beside: logins[7].identity.signPublicKey)
            for (place, outcome) in outcomes.enumerated() {
                switch outcome {
                case .success(.added): #expect(place != 7)
                case .failure(.unique), .success(.taken): #expect(place == 7)
                default: Issue.record("login \(place): \(outcome)")
                }
            }
            #expect(
                try await bench.sql("SELECT count(*), count(DISTINCT xmin::text) FROM auth.identities") == "20|20")
        }
    }

    /// The same keys, and the same id, twice in one transaction: one of both is stored.
    @Test func ofTwoWithOneKeyInATransactionOneIsStored() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let logins = self.logins(4)
            let outcomes = try await self.store(
                logins + [Self.login(4, device: 44, deadline: .now + .seconds(60))], by: bench)
            #expect(outcomes.count { $0 == .success(.taken) } == 1)
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "4")
            #expect(try await bench.sql("SELECT count(*) FROM auth.sessions") == "4")
        }
    }

    /// A login whose client has given it up is not stored, and the others are.
    @Test func aLoginThatCameTooLateIsLeftOut() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let late = self.logins(1, from: 50, deadline: .now)
            let outcomes = try await self.store(self.logins(3) + late, by: bench)
            #expect(outcomes.last == .success(.tooLate))
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "3")
            #expect(try await FirstLogins(bench.pool).store(late[0]) == .tooLate)
        }
    }

    // MARK: Support

    private func logins(
        _ count: Int, from first: UInt8 = 1, deadline: ContinuousClock.Instant = .now + .seconds(60)
    ) -> [FirstLogin] {
        (first..<first + UInt8(count)).map { Self.login($0, device: $0, deadline: deadline) }
    }

    static func login(_ number: UInt8, device: UInt8, deadline: ContinuousClock.Instant) -> FirstLogin {
        func bytes(_ more: UInt8) -> Bytes32 { Bytes32([UInt8](repeating: number, count: 31) + [more])! }
        let identity = IdentityKeys(
            whisperID: WhisperID(bits: UInt64(number))!, signPublicKey: bytes(1), encPublicKey: bytes(2))
        let session = Session(
            caller: Caller(identity: identity.whisperID, epoch: Epoch(value: 1)), device: .random(), platform: .ios,
            tokenHash: bytes(device &+ 100), expiresAt: Timestamp(milliseconds: 0),
            signPublicKey: identity.signPublicKey, isBanned: false)
        let now = ServiceClock.real.store
        return FirstLogin(
            identity: identity, session: session, pushToken: "phone \(device)", voipToken: nil, now: now,
            end: now + Limits.sessionTTL, deadline: deadline)
    }

    /// Stores all while somebody else holds the first one's id: it waits, and the others wait for its transaction.
    /// - Parameter key: registered by somebody else while the others are stored.
    private func store(
        _ logins: [FirstLogin], by bench: AuthBench, beside key: Bytes32? = nil
    ) async throws -> [Result<FirstLogins.Stored, StoreError>] {
        let firstLogins = FirstLogins(bench.pool)
        let id = Obstacle(bench.pool, id: logins[0].identity.whisperID, key: Bytes32(Array(repeating: 98, count: 32))!)
        let other = key.map { Obstacle(bench.pool, id: WhisperID(bits: 999)!, key: $0) }
        return try await withThrowingTaskGroup(of: (Int, Result<FirstLogins.Stored, StoreError>)?.self) { group in
            for obstacle in [id, other].compactMap(\.self) {
                group.addTask {
                    await obstacle.stand()
                    return nil
                }
                await obstacle.stands()
            }
            for (place, login) in logins.enumerated() {
                group.addTask {
                    do throws(StoreError) {
                        return (place, .success(try await firstLogins.store(login)))
                    } catch {
                        return (place, .failure(error))
                    }
                }
                try await waitUntil("login \(place) waits", within: .seconds(10)) {
                    try await place == 0 ? bench.locksWaitedFor == 1 : firstLogins.waiting == place
                }
            }
            id.end(commits: false)
            if let other {
                try await waitUntil("all others wait for a key", within: .seconds(10)) {
                    guard firstLogins.waiting == 0 else { return false }
                    return try await bench.locksWaitedFor == 1
                }
                other.end(commits: true)
            }
            var outcomes: [Int: Result<FirstLogins.Stored, StoreError>] = [:]
            for try await case let (place, outcome)? in group { outcomes[place] = outcome }
            return logins.indices.map { outcomes[$0]! }
        }
    }
}

/// Somebody else's transaction that registers an id with a key and stays open.
private struct Obstacle: Sendable {
    private let pool: PostgresPool
    private let id: WhisperID
    private let key: Bytes32
    private let begun = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
    private let ended = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))

    init(_ pool: PostgresPool, id: WhisperID, key: Bytes32) {
        self.pool = pool
        self.id = id
        self.key = key
    }

    func stand() async {
        _ = try? await self.pool.withTransaction { transaction throws(StoreError) in
            try await transaction.execute(
                """
                INSERT INTO auth.identities (whisper_id, sign_key, enc_key, epoch)
                VALUES (\(self.id), \(self.key), \(Bytes32(self.key.bytes.reversed())!), 1)
                """)
            self.begun.continuation.yield()
            for await commits in self.ended.stream {
                // Any error rolls back.
                if !commits { throw .conflict }
                break
            }
        }
    }

    func stands() async { for await _ in self.begun.stream { break } }

    func end(commits: Bool) { self.ended.continuation.yield(commits) }
}

extension AuthBench {
    /// Transactions that wait for another one.
    fileprivate var locksWaitedFor: Int {
        get async throws {
            let waits = """
                SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE NOT granted AND datname = current_database()
                """
            return Int(try await self.sql(waits)) ?? 0
        }
    }
}
