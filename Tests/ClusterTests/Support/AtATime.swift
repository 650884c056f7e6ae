import Testing

/// Lets so many tests of a suite run at a time, which would starve each other otherwise.
struct AtATime: SuiteTrait, TestTrait, TestScoping {
    fileprivate let places: Places

    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> AtATime? { testCase == nil ? nil : self }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await self.places.take()
        do {
            try await function()
        } catch {
            await self.places.leave()
            throw error
        }
        await self.places.leave()
    }

    fileprivate actor Places {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(_ count: Int) { self.free = count }

        func take() async {
            guard self.free == 0 else { return self.free -= 1 }
            await withCheckedContinuation { self.waiting.append($0) }
        }

        func leave() {
            if self.waiting.isEmpty { self.free += 1 } else { self.waiting.removeFirst().resume() }
        }
    }
}

extension Trait where Self == AtATime {
    static func atATime(_ count: Int) -> AtATime { AtATime(places: AtATime.Places(count)) }
}
