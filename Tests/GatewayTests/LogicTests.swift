import ClusterContract
import Contract
import ServerCrypto
import Testing
import TestKit

@testable import GatewayCore

@Suite struct ConfirmedNumbersTests {
    @Test func whatIsRepeatedIsSaidAgain() {
        var numbers = ConfirmedNumbers(rememberedMax: 10)
        numbers.add([1, 2])
        #expect(self.unsaid(&numbers) == [1, 2])
        #expect(self.unsaid(&numbers) == [])
        #expect(self.repeated(1...3, &numbers) == [1, 2])
        #expect(self.unsaid(&numbers) == [1, 2])
    }

    @Test func itForgetsWithTime() {
        var numbers = ConfirmedNumbers(rememberedMax: 10)
        numbers.add([1])
        numbers.age()
        #expect(self.repeated(1...1, &numbers) == [1])
        numbers.age()
        #expect(self.repeated(1...1, &numbers) == [])
    }

    @Test func itRemembersTheLatest() {
        var numbers = ConfirmedNumbers(rememberedMax: 10)
        for number in Int64(0)..<1_000 {
            numbers.add([number])
            let latest = max(0, number - 9)...number
            #expect(self.repeated(latest, &numbers) == Array(latest))
            #expect(self.repeated(number - 20...number - 20, &numbers) == [])
        }
        // To be said, it is never forgotten.
        #expect(Set(self.unsaid(&numbers)) == Set(0..<1_000))
    }

    private func repeated(_ candidates: ClosedRange<Int64>, _ numbers: inout ConfirmedNumbers) -> [Int64] {
        candidates.filter { numbers.sayAgain(ifConfirmed: $0) }
    }

    private func unsaid(_ numbers: inout ConfirmedNumbers) -> [Int64] { numbers.takeUnsaid() }
}

@Suite struct TokenBucketTests {
    private let rule = TokenBucket.Rule(perSecond: 10, burst: 5)

    @Test func theBurstIsThereAtOnceAndNoMore() {
        var bucket = TokenBucket(self.rule, at: 0)
        for _ in 0..<5 { #expect(bucket.take(self.rule, at: 0) == nil) }
        #expect(bucket.take(self.rule, at: 0) == 100)
        #expect(bucket.take(self.rule, at: 40) == 60)
        #expect(bucket.take(self.rule, at: 100) == nil)
        #expect(bucket.take(self.rule, at: 100) != nil)
    }

    @Test func aFullBucketDoesNotOverflow() {
        var bucket = TokenBucket(self.rule, at: 0)
        #expect(bucket.isFull(self.rule, at: 0))
        for _ in 0..<5 { #expect(bucket.take(self.rule, at: 1_000_000) == nil) }
        #expect(bucket.take(self.rule, at: 1_000_000) != nil)
        #expect(!bucket.isFull(self.rule, at: 1_000_499))
        #expect(bucket.isFull(self.rule, at: 1_000_501))
    }

    @Test(arguments: UInt64(0)..<50)
    func itGivesWhatExactArithmeticGives(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let rules: [(perMinute: Int, burst: Int)] = [(6_000, 200), (30, 30), (60, 60), (1, 1), (100_000, 3)]
        let (perMinute, burst) = rules[random.upTo(rules.count)]
        let rule = TokenBucket.Rule(perSecond: Double(perMinute) / 60, burst: Double(burst))
        var now = Int64(random.next() >> 16)
        var bucket = TokenBucket(rule, at: now)
        // In sixty-thousandths of a token: what a millisecond brings is then a whole number.
        let one = 60_000
        var exact = burst * one
        for _ in 0..<500 {
            let pause = random.upTo(3) == 0 ? random.upTo(4_000) : random.upTo(30)
            now += Int64(pause)
            exact = min(burst * one, exact + pause * perMinute)
            let wait = bucket.take(rule, at: now)
            // Within a thousandth of a token either answer will do: the bucket counts in Float.
            if abs(exact - one) > one / 1_000 { #expect((wait == nil) == (exact >= one), "\(exact) of \(one)") }
            if wait == nil { exact -= one }
        }
    }

    @Test(arguments: UInt64(0)..<50)
    func afterTheTimeItNamesThereIsAToken(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let rule = TokenBucket.Rule(
            perSecond: [0.5, 1, 10, 100, 0.25][random.upTo(5)], burst: Double(1 + random.upTo(60)))
        var now: Int64 = 5_000
        var bucket = TokenBucket(rule, at: now)
        for _ in 0..<200 {
            now += Int64(random.upTo(20))
            guard let wait = bucket.take(rule, at: now) else { continue }
            #expect(wait > 0)
            now += wait
            #expect(bucket.take(rule, at: now) == nil)
        }
    }

    @Test func theClockMayWrap() {
        let edge = Int64(UInt32.max)
        var bucket = TokenBucket(self.rule, at: edge - 10)
        for _ in 0..<5 { #expect(bucket.take(self.rule, at: edge) == nil) }
        #expect(bucket.take(self.rule, at: edge + 50) != nil)
        #expect(bucket.take(self.rule, at: edge + 110) == nil)
    }

    @Test(arguments: [0, 0.001, 0.1])
    func howeverSmallTheScaleOneEventFits(scale: Double) {
        let rule = self.rule.scaled(by: scale)
        var bucket = TokenBucket(rule, at: 0)
        #expect(bucket.take(rule, at: 0) == nil)
        #expect(bucket.take(rule, at: 0) == (scale == 0 ? 3_600_000 : Int64(100 / scale)))
    }

    @Test func limitsAreTheContracts() {
        let limits = EdgeLimits(openConnections: Limits.connectionsPerAddressMax, scale: 1)
        #expect(limits.frames == TokenBucket.Rule(perSecond: 100, burst: 200))
        #expect(limits.openConnectionsMax == 500)
        #expect(EdgeLimits(openConnections: Limits.connectionsPerAddressMax, scale: 2).openConnectionsMax == 1_000)
    }
}

@Suite struct UTF8CheckTests {
    @Test(arguments: Prove.seeds(0..<200))
    func itAgreesWithTheStandardLibrary(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            var bytes = Array(String(repeating: "abcdefg", count: random.upTo(4)).utf8)
            for _ in 0..<random.upTo(3) {
                bytes += Array(["é", "👍", "\u{7FF}", "\u{800}", "\u{FFFF}", "\u{10FFFF}"][random.upTo(6)].utf8)
            }
            if random.upTo(2) == 0, !bytes.isEmpty {
                bytes[random.upTo(bytes.count)] = UInt8.random(in: .min ... .max, using: &random)
            }
            if random.upTo(4) == 0, !bytes.isEmpty { bytes.removeLast() }
            #expect(isValidUTF8(bytes) == (String(validating: bytes, as: UTF8.self) != nil))
        }
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xC3], [0xE2, 0x82], [0xC3, 0x28],
        ] as [[UInt8]])
    func brokenSequencesAreFoundAtEveryOffset(sequence: [UInt8]) {
        for offset in 0..<18 {
            let ascii = [UInt8](repeating: 65, count: offset)
            #expect(!isValidUTF8(ascii + sequence))
            #expect(!isValidUTF8(ascii + sequence + [65, 65, 65, 65, 65, 65, 65, 65]))
            #expect(isValidUTF8(ascii + Array("é".utf8)))
        }
    }
}

@Suite struct PendingRequestsTests {
    private func request(_ connection: UInt64) -> PendingRequest {
        .init(connection: ConnectionID(value: connection), requestID: nil, kind: .frame)
    }

    @Test func anAnswerFindsItsRequestOnce() {
        var requests = PendingRequests()
        let first = requests.add(self.request(1), at: 0)
        let second = requests.add(self.request(2), at: 0)
        #expect(first != second)
        #expect(requests.answered(second)?.connection == ConnectionID(value: 2))
        #expect(requests.answered(second) == nil)
        #expect(requests.answered(99) == nil)
        #expect(requests.count == 1)
    }

    @Test func requestsExpireInOrderAtTheirDeadline() {
        let wait = ClusterLimits.answerMax.milliseconds
        var requests = PendingRequests()
        let numbers = (0..<3).map { requests.add(self.request(UInt64($0)), at: Int64($0) * 10) }
        #expect(requests.popExpired(at: wait - 1) == nil)
        #expect(requests.popExpired(at: wait)?.request.connection == ConnectionID(value: 0))
        #expect(requests.popExpired(at: wait) == nil)
        // Answered in time: it never expires.
        #expect(requests.answered(numbers[1]) != nil)
        #expect(requests.popExpired(at: wait + 1_000)?.request.connection == ConnectionID(value: 2))
        #expect(requests.popExpired(at: .max) == nil)
        #expect(requests.count == 0)
    }

    @Test func anAnswerAfterTheDeadlineIsTooLate() {
        var requests = PendingRequests()
        let number = requests.add(self.request(1), at: 0)
        #expect(requests.popExpired(at: ClusterLimits.answerMax.milliseconds) != nil)
        #expect(requests.answered(number) == nil)
    }
}

@Suite struct DrainSpreadTests {
    /// A few come back at once, many not all together, and nobody waits for longer than five seconds.
    @Test func clientsComeBackAsSoonAsTheOthersCanTakeThem() {
        #expect([0, 100, 1_000, 100_000].map { DrainSpread.delayMax(connections: $0) } == [200, 200, 1_000, 5_000])
    }
}

@Suite struct KnownTokensTests {
    private func hash(_ number: Int) -> Bytes32 { SHA256.hash(Array("\(number)".utf8)) }

    @Test func aTokenIsKnownOnce() {
        var tokens = KnownTokens()
        var taken = [tokens.take(self.hash(1))]
        tokens.add(self.hash(1))
        for _ in 0..<2 { taken.append(tokens.take(self.hash(1))) }
        #expect(taken == [false, true, false])
    }

    @Test func thoseThatCameLastAreKnown() {
        var tokens = KnownTokens()
        let count = 3 * GatewayLimits.knownTokensMax
        for number in 0..<count { tokens.add(self.hash(number)) }
        let first = tokens.take(self.hash(0))
        #expect(!first)
        let last = (count - GatewayLimits.knownTokensMax / 2..<count).filter { tokens.take(self.hash($0)) }
        #expect(last.count == GatewayLimits.knownTokensMax / 2)
    }
}
