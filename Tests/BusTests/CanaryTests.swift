import Bus
import Contract
import Testing
import TestKit

/// By which a process notices that Redis was emptied.
@Suite struct CanaryTests {
    private let bus = MemoryBus()
    private let canary = Canary(NodeID(value: 7))

    private func looks(_ count: Int = 1) async throws -> [Bool] {
        var seen: [Bool] = []
        for _ in 0..<count { seen.append(try await self.canary.sawEmptied(self.bus)) }
        return seen
    }

    @Test func anEmptiedBusIsSeenOnce() async throws {
        #expect(try await self.looks(2) == [false, false])
        self.bus.forgetEverything()
        #expect(try await self.looks(2) == [true, false])
    }

    @Test func aBusThatComesBackWithWhatItKnewIsNotEmptied() async throws {
        _ = try await self.looks()
        self.bus.goAway()
        await #expect(throws: BusError.unavailable) { try await self.looks() }
        self.bus.comeBack()
        #expect(try await self.looks() == [false])
    }

    @Test func whatAFailedLookFoundMissingTheNextOneTells() async throws {
        _ = try await self.looks()
        self.bus.forgetEverything()
        // The key is written, and nobody hears so.
        self.bus.loseAnswer(after: 1)
        await #expect(throws: BusError.unavailable) { try await self.looks() }
        #expect(try await self.bus.get(Keyspace.canary(NodeID(value: 7))) != nil)
        #expect(try await self.looks(2) == [true, false])
    }

    @Test func theFirstLookTellsNothingEvenIfItFails() async throws {
        self.bus.loseAnswer(after: 1)
        await #expect(throws: BusError.unavailable) { try await self.looks() }
        #expect(try await self.looks(2) == [false, false])
    }
}
