import ClusterContract
import Contract
import Testing

@testable import RouterCore

/// Which sessions timers look at, and when.
@Suite struct TimerTests {
    private let eighth: Int64 = 125

    @Test func eachSliceHasItsTurnOnceASecond() {
        var turns = TimerTurns()
        _ = turns.due(at: 1_000_000)
        let due = (1...16).map { turns.due(at: 1_000_000 + $0 * self.eighth) }
        #expect(due.allSatisfy { $0.count == 1 })
        #expect(due.prefix(8).flatMap { $0 }.sorted() == Array(0..<RouterLimits.timerSlices))
        #expect(due.prefix(8).elementsEqual(due.suffix(8)))
        #expect(turns.due(at: 1_000_000 + 16 * self.eighth).isEmpty)
    }

    /// However rarely a router looks, no slice has two turns at once, and none is left out.
    @Test func whatCameDueMeanwhileHasItsTurnOnce() {
        var turns = TimerTurns()
        #expect(turns.due(at: 1_000_000).sorted() == Array(0..<RouterLimits.timerSlices))
        #expect(turns.due(at: 1_000_000 + 4 * self.eighth).count == 4)
        #expect(turns.due(at: 1_060_000).sorted() == Array(0..<RouterLimits.timerSlices))
    }

    @Test func slicesHoldAllSessionsInEqualParts() {
        var sessions = MailboxSessions()
        for number in UInt64(0)..<800 { sessions[identity(number << 20 | number)] = self.session(of: number) }
        #expect(sessions.count == 800)
        let slices = (0..<RouterLimits.timerSlices).map { Set(sessions.identities(inSlice: $0)) }
        #expect(slices.allSatisfy { $0.count == 100 })
        #expect(slices.reduce(into: Set()) { $0.formUnion($1) } == Set(sessions.map(\.key)))
        sessions.keep { $0.bits & 1 == 0 }
        #expect(sessions.count == 400)
        for (identity, _) in sessions { sessions[identity] = nil }
        #expect(sessions.isEmpty)
    }

    private func session(of number: UInt64) -> MailboxSession {
        MailboxSession(
            BoundConnection(
                caller: Caller(identity: identity(number), epoch: Epoch(value: 1)), node: NodeID(value: 1),
                connection: ConnectionID(value: number), boundAt: Timestamp(milliseconds: 0), progress: .fresh,
                state: .new, number: 1),
            newest: nil, at: 0)
    }
}
