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
                    LineTable.add([
                        (Self.alice, Self.line(whole)), (Self.bob, Self.line(whole)), (WhisperID("WSP-AAAA-AAAA-AAAA")!, Self.line(torn)),
                    ])
                ])
            let rows = try await connection.pipeline([
                CallTable.trim([whole.share]), CallTable.load([whole.share]), CallTable.loadParcels([whole.share]),
                LineTable.whole(among: calls.map(\.wakeID)),
            ])
            let loaded = try CallTable.calls(rows[1], parcels: rows[2])
            let kinds = Dictionary(uniqueKeysWithValues: loaded.map { ($0.wakeID, $0.parcels.map(\.kind)) })
            #expect(
                kinds == [
                    whole.wakeID: [.candidate, .end], torn.wakeID: [], over.wakeID: [.end], ringing.wakeID: [.candidate, .end],
                ])
            #expect(try LineTable.whole(rows[3]) == [whole.wakeID])
        }
    }

    /// With a candidate and an end that its callee has not got.
    private static func call(_ phase: CallMachine.Phase) -> CallMachine {
        CallMachine(
            callID: .random(), wakeID: .random(), caller: alice, callee: bob, isVideo: false, startedAt: now,
            ringsUntil: now + .seconds(60), phase: phase, isWoken: false,
            parcels: [
                CallParcel(number: 1, side: .callee, kind: .candidate, payload: [1]),
                CallParcel(number: 2, side: .callee, kind: .end, payload: [2]),
            ])
    }

    private static func line(_ call: CallMachine) -> Lines.Line {
        Lines.Line(call: call.wakeID, isAnswered: true, seenAt: now)
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
