import ClusterContract
import Contract
import TestKit
import Testing

@testable import RoomsCore

/// A request that is read again is not done again.
@Suite struct HandledRequestsTests {
    private let start = ContinuousClock.now

    private func address(_ question: Int) -> AnswerAddress {
        AnswerAddress(node: NodeID(value: 7), question: UInt64(question))
    }

    @Test func theyAreRememberedAsLongAsTheyMayComeAgain() {
        var handled = HandledRequests()
        handled.note([self.address(1)], at: self.start)
        #expect(handled.contains(self.address(1)) && !handled.contains(self.address(2)))
        handled.note([self.address(2)], at: self.start + ClusterLimits.frameAgeMax)
        handled.note([self.address(3)], at: self.start + RoomOwnerLimits.handledFor)
        #expect(handled.contains(self.address(1)))
        handled.note([self.address(4)], at: self.start + RoomOwnerLimits.handledFor * 2)
        #expect(!handled.contains(self.address(1)) && handled.contains(self.address(3)))
    }

    @Test func thereIsABound() {
        var handled = HandledRequests()
        handled.note((0..<3 * RoomOwnerLimits.handledMax).map { self.address($0) }, at: self.start)
        #expect(!handled.contains(self.address(0)))
        #expect(handled.contains(self.address(3 * RoomOwnerLimits.handledMax - 1)))
    }

    /// A new master has the stream from its start. The guest's leaving, which is there, does not take its new seat.
    @Test func whoHasLeftAndReturnedStays() throws {
        var (bench, _) = try RoomBench.created()
        let guest = bench.guest
        _ = try bench.send("room_join", bench.join(guest.keys, proof: bench.proof), as: guest)
        let leave = LiveRequest(
            answer: self.address(1), connection: guest.connection.connection, principal: guest.principal,
            requestID: nil, type: "room_leave", payload: Array(Person.versions.with(bench.named).json.text.utf8),
            receivedAt: bench.now)
        var handled = HandledRequests()
        for _ in 1...2 {
            var batch = RoomBatch()
            batch.add(.frame(leave), share: RoomShare(of: bench.room.id), age: .zero)
            batch.drop(handled)
            for frame in batch.frames { bench.rules(for: [frame.principal.id]) { _ = $0.received(frame) } }
            handled.note(batch.asked, at: self.start)
            _ = try bench.send("room_join", bench.join(guest.keys, proof: bench.proof), as: guest)
        }
        // The first one was given up.
        #expect(bench.room.participants[guest.principal.id]?.seat == 3)
    }
}
