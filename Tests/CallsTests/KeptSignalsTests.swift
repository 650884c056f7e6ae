import Contract
import Testing

@testable import RoomsCore

/// The bounds of what waits for a participant who is away (contract §15.2).
@Suite struct KeptSignalsTests {
    private let room = UUIDText("5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61")!
    private let one = PrincipalID("WSP-AAAA-AAAA-AAAA")!
    private let two = PrincipalID("WSP-AAAA-AAAA-AAAB")!
    private let now = Timestamp(milliseconds: 1_000)

    private func keep(_ count: Int, of bytes: Int, _ kind: RoomSignalKind, in signals: inout KeptSignals) {
        for number in 0..<count {
            signals.keep(
                kind, [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes), from: self.one, to: self.two,
                in: self.room, at: self.now + .milliseconds(number))
        }
    }

    @Test func theNewestCandidatesStay() {
        var signals = KeptSignals()
        self.keep(70, of: 10, .candidate, in: &signals)
        let taken = signals.take(for: self.two, in: self.room, at: self.now + .seconds(1))
        #expect(taken.map(\.first) == (6..<70).map { UInt8($0) })
        #expect(signals.bytes == 0)
    }

    @Test func aPairHoldsSoManyBytes() {
        var signals = KeptSignals()
        self.keep(10, of: 60_000, .candidate, in: &signals)
        #expect(signals.bytes == 240_000)
        #expect(signals.take(for: self.two, in: self.room, at: self.now + .seconds(1)).count == 4)
    }

    @Test func whoHasNoSeatGetsNothing() {
        var signals = KeptSignals()
        self.keep(3, of: 10, .candidate, in: &signals)
        signals.forget(self.one, in: self.room)
        #expect(signals.bytes == 0 && signals.take(for: self.two, in: self.room, at: self.now).isEmpty)
    }

    @Test func aNonceCountsOnce() {
        var signals = KeptSignals()
        let seen = [
            signals.isRepeated([1], from: self.one, in: self.room),
            signals.isRepeated([1], from: self.one, in: self.room),
            signals.isRepeated([1], from: self.two, in: self.room),
        ]
        #expect(seen == [false, true, false])
    }
}
