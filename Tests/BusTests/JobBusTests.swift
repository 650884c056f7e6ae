import Bus
import Testing

/// Every bus's promises about Jobs.
@Suite struct JobBusTests {
    @Test(arguments: BusKind.present)
    func jobsAreReadInTheOrderOfTheirAppending(kind: BusKind) async throws {
        try await kind.run { test in
            for index in 0..<10 { try await test.bus.append(bytes("\(index)"), to: "s") }
            let first = try await test.bus.read([("s", .start), ("none", .start)], limit: 4, blockFor: .zero)
            #expect(first.map(\.stream) == ["s"])
            #expect(first[0].entries.texts == ["0", "1", "2", "3"])
            let rest = try await test.bus.read([("s", first[0].entries[3].id)], limit: 100, blockFor: .seconds(1))
            #expect(rest[0].entries.texts == ["4", "5", "6", "7", "8", "9"])
            #expect(zip(rest[0].entries, rest[0].entries.dropFirst()).allSatisfy { $0.id < $1.id })
        }
    }

    @Test(arguments: BusKind.present)
    func tenThousandAppendsWithoutWaitingAllArriveInOrder(kind: BusKind) async throws {
        try await kind.run { test in
            for index in 0..<10_000 {
                test.bus.append(bytes("\(index)"), to: "s") { Issue.record("failed: \($0)") }
            }
            try await test.bus.append(bytes("last"), to: "s")
            #expect(try await test.bus.depth(of: ["s", "none"]) == [10_001, 0])
            let batches = try await test.bus.read([("s", .start)], limit: 20_000, blockFor: .zero)
            #expect(batches[0].entries.texts == (0..<10_000).map { "\($0)" } + ["last"])
        }
    }

    @Test(arguments: BusKind.present)
    func bytesComeBackAsTheyWere(kind: BusKind) async throws {
        try await kind.run { test in
            let values: [[UInt8]] = [[], Array(0...255), bytes("\r\n$3\r\n"), [UInt8](repeating: 7, count: 700_000)]
            for value in values { try await test.bus.append(value, to: "s") }
            let entries = try await test.bus.read([("s", .start)], limit: 10, blockFor: .zero)[0].entries
            #expect(entries.map(\.bytes) == values)
        }
    }

    @Test(arguments: BusKind.present)
    func aReaderWaitsForTheFirstJob(kind: BusKind) async throws {
        try await kind.run { test in
            let bus = test.bus
            async let batches = bus.read([("a", .start), ("b", .start)], limit: 10, blockFor: .seconds(20))
            try await bus.append(bytes("x"), to: "b")
            #expect(try await batches.map(\.stream) == ["b"])
            #expect(try await bus.read([("a", .start)], limit: 10, blockFor: .milliseconds(5)).isEmpty)
        }
    }

    @Test(arguments: BusKind.present)
    func aCancelledReaderReturnsAtOnce(kind: BusKind) async throws {
        try await kind.run { test in
            let bus = test.bus
            let reader = Task { try await bus.read([("s", .start)], limit: 10, blockFor: .seconds(600)) }
            try await bus.append(bytes("elsewhere"), to: "t")
            reader.cancel()
            #expect(try await reader.value.isEmpty)
        }
    }

    @Test(arguments: BusKind.present)
    func trimRemovesTheEntryAndAllBeforeIt(kind: BusKind) async throws {
        try await kind.run { test in
            for index in 0..<5 { try await test.bus.append(bytes("\(index)"), to: "s") }
            let entries = try await test.bus.read([("s", .start)], limit: 10, blockFor: .zero)[0].entries
            test.bus.trim("s", through: entries[2].id)
            #expect(try await test.bus.depth(of: ["s"]) == [2])
            #expect(
                try await test.bus.read([("s", .start)], limit: 10, blockFor: .zero)[0].entries.texts == ["3", "4"])
        }
    }

    @Test(arguments: BusKind.present)
    func aJobIsTakenByOneConsumerAndEndsWhenAcknowledged(kind: BusKind) async throws {
        try await kind.run { test in
            for index in 0..<6 { try await test.bus.append(bytes("\(index)"), to: "s") }
            let one = try await test.bus.take(from: "s", group: "g", consumer: "one", limit: 4, blockFor: .zero)
            let two = try await test.bus.take(from: "s", group: "g", consumer: "two", limit: 4, blockFor: .seconds(1))
            #expect(one.texts == ["0", "1", "2", "3"])
            #expect(two.texts == ["4", "5"])
            test.bus.acknowledge(one.map(\.id), in: "s", group: "g")
            #expect(try await test.bus.depth(of: ["s"]) == [2])
            #expect(
                try await test.bus.take(from: "s", group: "g", consumer: "one", limit: 4, blockFor: .milliseconds(5))
                    .isEmpty)
        }
    }

    @Test(arguments: BusKind.present)
    func whatAConsumerLeavesBehindIsClaimedOnceItIsIdle(kind: BusKind) async throws {
        try await kind.run { test in
            for index in 0..<30 { try await test.bus.append(bytes("\(index)"), to: "s") }
            let one = try await test.bus.take(from: "s", group: "g", consumer: "one", limit: 30, blockFor: .zero)
            #expect(
                try await test.bus.claim(from: "s", group: "g", consumer: "two", idle: .seconds(60), limit: 30).isEmpty)
            test.bus.acknowledge(one.prefix(10).map(\.id), in: "s", group: "g")
            try await waitUntilIdle(test.bus, count: 20)
            #expect(try await test.bus.take(from: "s", group: "g", consumer: "one", limit: 30, blockFor: .zero).isEmpty)
        }
    }

    /// Claims as soon as the server counts one millisecond of idleness.
    private func waitUntilIdle(_ bus: any Bus, count: Int) async throws {
        var claimed: Set<EntryID> = []
        while claimed.count < count {
            let entries = try await bus.claim(from: "s", group: "g", consumer: "two", idle: .milliseconds(1), limit: 30)
            claimed.formUnion(entries.map(\.id))
        }
        #expect(claimed.count == count)
    }

    @Test(arguments: BusKind.present)
    func aGroupIsMadeAgainAfterTheServerForgotEverything(kind: BusKind) async throws {
        try await kind.run { test in
            try await test.bus.append(bytes("lost"), to: "s")
            _ = try await test.bus.take(from: "s", group: "g", consumer: "one", limit: 4, blockFor: .zero)
            try await test.forgetEverything()
            #expect(
                try await test.bus.claim(from: "s", group: "g", consumer: "one", idle: .seconds(1), limit: 4).isEmpty)
            try await test.forgetEverything()
            try await test.bus.append(bytes("new"), to: "s")
            let taken = try await test.bus.take(from: "s", group: "g", consumer: "one", limit: 4, blockFor: .seconds(5))
            #expect(taken.texts == ["new"])
        }
    }

    @Test(arguments: BusKind.present)
    func aConsumerThatWaitsWhileTheServerForgetsGetsTheNextJob(kind: BusKind) async throws {
        try await kind.run { test in
            let bus = test.bus
            _ = try await bus.take(from: "s", group: "g", consumer: "one", limit: 4, blockFor: .zero)
            async let taken = bus.take(from: "s", group: "g", consumer: "one", limit: 4, blockFor: .seconds(20))
            try await bus.append(bytes("elsewhere"), to: "t")
            try await test.forgetEverything()
            try await bus.append(bytes("new"), to: "s")
            #expect(try await taken.texts == ["new"])
        }
    }
}
