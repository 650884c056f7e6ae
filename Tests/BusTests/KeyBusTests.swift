import Bus
import ClusterContract
import Contract
import Testing

/// Every bus's promises about keys.
@Suite struct KeyBusTests {
    private let a = KeyName("a")
    private let b = KeyName("b")

    @Test(arguments: BusKind.present)
    func aValueIsThereUntilDeleted(kind: BusKind) async throws {
        try await kind.run { test in
            #expect(try await test.bus.get(a) == nil)
            try await test.bus.set(a, to: bytes("1"), for: .seconds(60))
            test.bus.setWithoutWaiting(b, to: [], for: .seconds(60))
            #expect(try await test.bus.get([a, KeyName("none"), b]) == [bytes("1"), nil, []])
            try await test.bus.delete([a, b])
            #expect(try await test.bus.get([a, b]) == [nil, nil])
        }
    }

    @Test(arguments: BusKind.present)
    func ofSeveralTakersOneGetsTheValue(kind: BusKind) async throws {
        try await kind.run { test in
            let (bus, key) = (test.bus, a)
            try await bus.set(key, to: bytes("1"), for: .seconds(60))
            let got = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                for _ in 0..<8 { group.addTask { try await bus.take(key) } }
                return try await group.reduce(into: [[UInt8]]()) { if let value = $1 { $0.append(value) } }
            }
            #expect(got == [bytes("1")])
        }
    }

    @Test(arguments: BusKind.present)
    func aKeyIsDeletedOnlyIfItStillHoldsTheValue(kind: BusKind) async throws {
        try await kind.run { test in
            try await test.bus.set(a, to: bytes("new"), for: .seconds(60))
            test.bus.deleteWithoutWaiting(a, ifStill: bytes("old"))
            #expect(try await test.bus.get(a) == bytes("new"))
            test.bus.deleteWithoutWaiting(a, ifStill: bytes("new"))
            #expect(try await test.bus.get(a) == nil)
        }
    }

    /// Each sees the one before it, so that one is the last.
    @Test(arguments: BusKind.present)
    func whoExchangesAValueHearsWhatStoodThere(kind: BusKind) async throws {
        try await kind.run { test in
            let (bus, key) = (test.bus, a)
            @Sendable func exchange(_ value: String) async -> [UInt8]? {
                await withCheckedContinuation { continuation in
                    bus.exchangeWithoutWaiting(key, for: bytes(value), for: .seconds(60)) {
                        continuation.resume(returning: (try? $0.get()) ?? nil)
                    }
                }
            }
            let before = await withTaskGroup(of: [UInt8]?.self) { group in
                for number in 0..<8 { group.addTask { await exchange("\(number)") } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let last = try await bus.get(key)
            #expect(before.count { $0 == nil } == 1)
            #expect(Set(before + [last]).count == 9)
        }
    }

    @Test(arguments: BusKind.present)
    func aKeyEndsWithItsTimeUnlessTouched(kind: BusKind) async throws {
        try await kind.run { test in
            try await test.bus.set(a, to: bytes("touched"), for: .milliseconds(3_000))
            test.bus.extendWithoutWaiting([a, KeyName("none")], for: .seconds(60))
            try await test.bus.set(b, to: bytes("not touched"), for: .milliseconds(3_001))
            // Its end comes after that of the first key would have come.
            while try await test.bus.get(b) != nil { try await Task.sleep(for: .milliseconds(10)) }
            #expect(try await test.bus.get([a, KeyName("none")]) == [bytes("touched"), nil])
        }
    }
}

/// Every bus's promises about rates.
@Suite struct AdmissionTests {
    @Test(arguments: BusKind.present)
    func aMinutesWorthIsAllowedAtOnceAndThenAWaitIsNamed(kind: BusKind) async throws {
        try await kind.run { test in
            let key = KeyName("ratelimit:somebody:test")
            for _ in 0..<6 { #expect(try await test.bus.admit(key, Allowance(perMinute: 6)) == nil) }
            let wait = try await test.bus.admit(key, Allowance(perMinute: 6))
            #expect((1...10_000).contains(wait ?? 0))
            #expect(try await test.bus.admit(KeyName("ratelimit:another:test"), Allowance(perMinute: 6)) == nil)
        }
    }

    @Test(arguments: BusKind.present)
    func lessThanOneAMinuteIsAllowedOnce(kind: BusKind) async throws {
        try await kind.run { test in
            let key = KeyName("ratelimit:somebody:seldom")
            #expect(try await test.bus.admit(key, Allowance(perMinute: 0.5)) == nil)
            let wait = try await test.bus.admit(key, Allowance(perMinute: 0.5))
            #expect(wait ?? 0 > 60_000)
        }
    }

    @Test(arguments: BusKind.present)
    func usesAreLeasedInChunksByTheSameCount(kind: BusKind) async throws {
        try await kind.run { test in
            let (key, allowance) = (KeyName("ratelimit:somebody:test"), Allowance(perMinute: 6))
            #expect(try await test.bus.admit(key, allowance) == nil)
            let first = try await test.bus.lease(key, RateRequest(allowance, uses: 4))
            #expect(first.uses == 4 && first.wait == 0 && (40_000...50_000).contains(first.rest))
            #expect(try await test.bus.admit(key, allowance) == nil)
            #expect(try await test.bus.admit(key, allowance) != nil)
            let again = RateRequest(allowance, uses: 4, known: 60_000, record: first.record)
            let second = try await test.bus.lease(key, again)
            #expect(second.uses == 0 && (1...10_000).contains(second.wait) && second.record == first.record)
            #expect(second.rest <= 60_000)
        }
    }

    @Test(arguments: BusKind.present)
    func aUseThatDidNotTakePlaceIsGivenBackOnce(kind: BusKind) async throws {
        try await kind.run { test in
            let (key, allowance) = (KeyName("ratelimit:somebody:day"), Allowance(perMinute: 2 / 1_440, burst: 2))
            let back = RateRequest(allowance, uses: 0, uncounted: -allowance.step)
            // Nobody gets more for what nobody used.
            _ = try await test.bus.lease(key, back)
            for _ in 0..<2 { #expect(try await test.bus.admit(key, allowance) == nil) }
            #expect(try await test.bus.admit(key, allowance) != nil)
            _ = try await test.bus.lease(key, back)
            #expect(try await test.bus.admit(key, allowance) == nil)
            #expect(try await test.bus.admit(key, allowance) != nil)
            for _ in 0..<3 { _ = try await test.bus.lease(key, back) }
            for _ in 0..<2 { #expect(try await test.bus.admit(key, allowance) == nil) }
            #expect(try await test.bus.admit(key, allowance) != nil)
        }
    }

    /// Three processes knew what was lost, one of them most. A fourth has begun anew, and one has counted by itself.
    @Test(arguments: BusKind.present)
    func whatTheServerLostIsToldAnew(kind: BusKind) async throws {
        try await kind.run { test in
            let (key, allowance) = (KeyName("ratelimit:somebody:test"), Allowance(perMinute: 60))
            let lost = try await test.bus.lease(key, RateRequest(allowance, uses: 40))
            try await test.forgetEverything()
            let anew = try await test.bus.lease(key, RateRequest(allowance, uses: 5))
            #expect(anew.uses == 5 && anew.record != lost.record)
            for known in [20_000.0, 40_000, 30_000] {
                _ = try await test.bus.lease(key, RateRequest(allowance, uses: 0, known: known, record: lost.record))
            }
            let own = RateRequest(allowance, uses: 0, record: anew.record, uncounted: 5_000)
            let alone = try await test.bus.lease(key, own)
            #expect((45_000...51_000).contains(alone.rest))
            let many = RateRequest(allowance, uses: 60, known: alone.rest, record: alone.record)
            let rest = try await test.bus.lease(key, many)
            #expect((9...15).contains(rest.uses))
        }
    }

    @Test(arguments: BusKind.present)
    func anAnswerThatNobodyWaitsForIsHeard(kind: BusKind) async throws {
        try await kind.run { test in
            let (one, none) = (KeyName("one"), KeyName("none"))
            try await test.bus.set(one, to: bytes("1"), for: .seconds(60))
            let found = await withCheckedContinuation { continuation in
                test.bus.getWithoutWaiting([one, none]) { continuation.resume(returning: $0) }
            }
            #expect(try found.get() == [bytes("1"), nil])
        }
    }
}
