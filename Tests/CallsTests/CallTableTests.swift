@testable import CallsCore
import Contract
import LocalStack
import Logging
import Store
import Testing

/// What stands in a real Postgres, read with the rights that the migrations granted and no more.
@Suite struct CallTableTests {
    private static let quiet = Logger(label: "calls-tests", factory: { _ in SwiftLogNoOpLogHandler() })
    private static let (alice, bob) = (WhisperID("WSP-JBPU-D452-TLT4")!, WhisperID("WSP-7NUF-DNEU-IGIL")!)
    private static let now = Timestamp(milliseconds: 1_730_000_000_000)

    @Test func whatNobodyWillGetIsNotLoaded() async throws {
        let (whole, torn, over) = (
            Self.call(.answered(at: Self.now)), Self.call(.answered(at: Self.now)),
            Self.call(.ended(.ended, at: Self.now, by: .caller, answeredAt: nil)))
        let ringing = Self.call(.ringing(reachedAt: nil))
        try await Self.run { connection in
            let calls = [whole, torn, over, ringing]
            _ = try await connection.pipeline(
                CallTable.write(calls.map { CallBook.Change(wakeID: $0.wakeID, before: nil, after: $0) }) + [
                    BusySlotTable.add([
                        (Self.alice, Self.slot(whole)), (Self.bob, Self.slot(whole)), (WhisperID("WSP-AAAA-AAAA-AAAA")!, Self.slot(torn)),
                    ])
                ])
            let rows = try await connection.pipeline([
                CallTable.trim([whole.share]), CallTable.load([whole.share]), CallTable.loadPendingFrames([whole.share]),
                BusySlotTable.whole(among: calls.map(\.wakeID)),
            ])
            let loaded = try CallTable.calls(rows[1], pendingFrames: rows[2])
            let kinds = Dictionary(uniqueKeysWithValues: loaded.map { ($0.wakeID, $0.pendingFrames.map(\.kind)) })
            #expect(
                kinds == [
                    whole.wakeID: [.candidate, .end], torn.wakeID: [], over.wakeID: [.end], ringing.wakeID: [.candidate, .end],
                ])
            #expect(try BusySlotTable.whole(rows[3]) == [whole.wakeID])
        }
    }

    @Test func aRingIsTakenOnceAndGoesWithItsCall() async throws {
        let (one, other) = (Self.call(.ringing(reachedAt: nil)), Self.call(.ringing(reachedAt: nil)))
        let calls = [one.wakeID, other.wakeID]
        try await Self.run { connection in
            let rows = try await connection.pipeline([
                BusySlotTable.addRings([(Self.bob, one.wakeID)]), BusySlotTable.addRings([(Self.bob, other.wakeID)]),
                BusySlotTable.add([(Self.alice, Self.slot(one))]), BusySlotTable.whole(among: calls),
                BusySlotTable.lock([Self.alice, Self.bob]), BusySlotTable.lockRings([Self.alice, Self.bob]),
            ])
            #expect(rows[0].affected == 1 && rows[1].affected == 0)
            #expect(try BusySlotTable.whole(rows[3]) == [one.wakeID])
            let slots = try BusySlotTable.slots(rows[4], rings: rows[5], notedSince: Self.now)
            #expect(slots.after == [Self.alice: Self.slot(one)] && slots.rings == [Self.bob: one.wakeID])
            let gone = try await connection.pipeline(BusySlotTable.release(calls) + [BusySlotTable.whole(among: calls)])
            #expect(gone.map(\.affected) == [1, 1, 0])
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
                keys += try await connection.query(RelayKeyTable.key(for: period.startsAt)).map { row throws(StoreError) in try row.decode(0) }
            }
            #expect(keys.count == 2 && keys[0] == keys[1] && keys[0].count == RelayKeyTable.keyBytes)
            _ = try await connection.query(RelayKeyTable.make(for: past.startsAt))
            #expect(try await connection.query(RelayKeyTable.sweep).affected == 1)
            #expect(try await connection.query(RelayKeyTable.key(for: past.startsAt)).isEmpty)
            #expect(try await connection.query(RelayKeyTable.key(for: period.startsAt)).count == 1)
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
        let server = try await PostgresServer.temporary()
        do {
            try await callsMigrator.run(
                PostgresConfiguration(url: server.url(), applicationName: "migrate"), logger: Self.quiet)
            try await server.run("ALTER ROLE whisper_calls LOGIN")
            let connection = PostgresConnection(
                PostgresConfiguration(url: server.url(user: "whisper_calls"), applicationName: "calls-tests"), logger: Self.quiet)
            try await connection.connect()
            try await body(connection)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}
