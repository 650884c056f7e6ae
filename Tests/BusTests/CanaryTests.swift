import Bus
import ClusterContract
import Contract
import Testing
import TestKit

/// By which a process notices that Redis was emptied.
@Suite struct CanaryTests {
    private let bus = MemoryBus()
    private let canary = Canary(NodeID(value: 7))

    private func looks(_ count: Int = 1) async throws -> [Bool] {
        var seen: [Bool] = []
        for _ in 0..<count { seen.append(try await self.canary.look(self.bus).isEverything) }
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

    /// Names of other parts are as they were.
    @Test func aReplacedPartIsLostAndNothingElse() async throws {
        self.bus.replacePart(of: "before the first look")
        #expect(try await self.canary.look(self.bus).isEmpty)
        self.bus.replacePart(of: "a")
        let losses = try await self.canary.look(self.bus)
        #expect(losses.includes("a") && !losses.includes("b") && !losses.isEverything && !losses.isEmpty)
        #expect(try await self.canary.look(self.bus).isEmpty)
    }

    /// It lacks the key, and that is no sign that the others were emptied. Perhaps nobody reached it at first.
    @Test(arguments: [true, false]) func aNewMasterWithoutTheKeyIsNoEmptiedBus(isReached: Bool) async throws {
        self.bus.replacePart(of: "a")
        _ = try await self.looks()
        self.bus.forgetEverything()
        self.bus.replacePart(of: Keyspace.canary(NodeID(value: 7)).name)
        if !isReached { self.bus.goAway() }
        let losses = try await self.canary.look(self.bus)
        #expect(!losses.isEverything && !losses.includes("b"))
        self.bus.comeBack()
        #expect(try await self.canary.look(self.bus).isEmpty)
        self.bus.forgetEverything()
        #expect(try await self.looks(2) == [true, false])
    }

    /// While the master of its own key is away it tells what others have lost.
    @Test func ofManyPartsOneMayBeAway() async throws {
        self.bus.replacePart(of: "a")
        _ = try await self.looks()
        self.bus.goAway()
        self.bus.replacePart(of: "a")
        let losses = try await self.canary.look(self.bus)
        #expect(losses.includes("a") && !losses.includes("b"))
        self.bus.comeBack()
        #expect(try await self.canary.look(self.bus).isEmpty)
    }
}
