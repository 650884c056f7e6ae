@testable import CallsCore
import Contract
import Participants
import LocalStack
import Logging
import Store
import Testing

/// Calls in a real Postgres, read with the rights that the migrations granted and no more.
@Suite struct CallTableTests {
    private static let quiet = Logger(label: "calls-tests", factory: { _ in SwiftLogNoOpLogHandler() })
    private static let (alice, bob) = (WhisperID("WSP-JBPU-D452-TLT4")!, WhisperID("WSP-7NUF-DNEU-IGIL")!)
    private static let now = Timestamp(milliseconds: 1_730_000_000_000)

    @Test func whatNobodyWillGetIsNotLoaded() async throws {
        let (whole, torn, over) = (
            Self.call(.answered(at: Self.now)), Self.call(.answered(at: Self.now)),
            Self.call(.ended(.ended, at: Self.now, by: .caller, answeredAt: nil))
        )
        let ringing = Self.call(.ringing(reachedAt: nil))
        try await Self.run { connection in
            let calls = [whole, torn, over, ringing]
            var writing = Pipeline()
            writing.add(CallTable.write(calls.map { CallBook.Change(wakeID: $0.wakeID, before: nil, after: $0) }))
            let added = writing.add(
                BusySlotTable.add([
                    (Self.alice, Self.slot(whole)), (Self.bob, Self.slot(whole)),
                    (WhisperID("WSP-AAAA-AAAA-AAAA")!, Self.slot(torn)),
                ]))
            #expect(try await connection.pipeline(writing)[added] == 3)
            let loaded = try await CallTable.takeOver([whole.share], on: connection)
            let kinds = Dictionary(uniqueKeysWithValues: loaded.map { ($0.wakeID, $0.pendingFrames.map(\.kind)) })
            #expect(
                kinds == [
                    whole.wakeID: [.candidate, .end], torn.wakeID: [], over.wakeID: [.end],
                    ringing.wakeID: [.candidate, .end],
                ])
            #expect(try await connection.query(BusySlotTable.whole(among: calls.map(\.wakeID))) == [whole.wakeID])
        }
    }

    @Test func aRingIsTakenOnceAndGoesWithItsCall() async throws {
        let (one, other) = (Self.call(.ringing(reachedAt: nil)), Self.call(.ringing(reachedAt: nil)))
        let calls = [one.wakeID, other.wakeID]
        try await Self.run { connection in
            var pipeline = Pipeline()
            let first = pipeline.add(BusySlotTable.addRings([(Self.bob, one.wakeID)]))
            let second = pipeline.add(BusySlotTable.addRings([(Self.bob, other.wakeID)]))
            let slot = pipeline.add(BusySlotTable.add([(Self.alice, Self.slot(one))]))
            let whole = pipeline.add(BusySlotTable.whole(among: calls))
            let slots = pipeline.add(BusySlotTable.lock([Self.alice, Self.bob]))
            let rings = pipeline.add(BusySlotTable.lockRings([Self.alice, Self.bob]))
            let answers = try await connection.pipeline(pipeline)
            #expect(try [answers[first], answers[second], answers[slot]] == [1, 0, 1])
            #expect(try answers[whole] == [one.wakeID])
            #expect(try answers[slots] == [Self.alice: Self.slot(one)] && answers[rings] == [Self.bob: one.wakeID])
            var release = Pipeline()
            let gone = BusySlotTable.release(calls).map { release.add(Statement(affecting: $0)) }
            let left = release.add(BusySlotTable.whole(among: calls))
            let released = try await connection.pipeline(release)
            #expect(try gone.map { ticket throws(StoreError) in try released[ticket] } == [1, 1])
            #expect(try released[left].isEmpty)
        }
    }

    /// Whichever process asks first; and the database's clock says when a key goes.
    @Test func allProcessesHaveOneKeyOfAPeriod() async throws {
        let life = Duration.seconds(43_200)
        let period = RelayPeriod(at: .now, life: life)
        let past = RelayPeriod(at: .now + .seconds(-3 * 3_600), life: life)
        try await Self.run { connection in
            var keys: [[UInt8]] = []
            for _ in 1...2 {
                _ = try await connection.query(RelayKeyTable.make(for: period.startsAt))
                keys.append(try #require(try await connection.query(RelayKeyTable.key(for: period.startsAt))))
            }
            #expect(keys.count == 2 && keys[0] == keys[1] && keys[0].count == RelayKeyTable.keyBytes)
            _ = try await connection.query(RelayKeyTable.make(for: past.startsAt))
            #expect(try await connection.query(RelayKeyTable.sweep).affected == 1)
            #expect(try await connection.query(RelayKeyTable.key(for: past.startsAt)) == nil)
            #expect(try await connection.query(RelayKeyTable.key(for: period.startsAt)) == keys[0])
        }
    }

    /// With a candidate and an end that its callee has not got.
    private static func call(_ phase: CallMachine.Phase) -> CallMachine {
        CallMachine(
            callID: .random(), wakeID: .random(), caller: alice, callee: bob, isVideo: false, startedAt: now,
            ringsUntil: now + .seconds(60), phase: phase, isWoken: false,
            pendingFrames: [
                PendingCallFrame(number: 1, side: .callee, kind: .candidate, payload: [1]),
                PendingCallFrame(number: 2, side: .callee, kind: .end, payload: [2]),
            ])
    }

    private static func slot(_ call: CallMachine) -> BusySlots.Slot {
        BusySlots.Slot(call: call.wakeID, isAnswered: true, seenAt: now)
    }

    private static func run(_ body: (PostgresConnection) async throws -> Void) async throws {
        try await TestDatabase.with("calls", prepare: self.migrate) { database in
            let connection = PostgresConnection(
                PostgresConfiguration(url: database.url(user: "whisper_calls"), applicationName: "calls-tests"),
                logger: Self.quiet)
            try await connection.connect()
            try await body(connection)
        }
    }

    private static func migrate(_ database: TestDatabase) async throws {
        try await callsMigrator.run(
            PostgresConfiguration(url: database.url(), applicationName: "migrate"), logger: Self.quiet)
        try await database.run("ALTER ROLE whisper_calls LOGIN")
    }
}
