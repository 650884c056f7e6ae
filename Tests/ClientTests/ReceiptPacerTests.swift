import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct ReceiptPacerTests {
    var pacer = ReceiptPacer()

    private func receipts(_ count: Int) -> [OwedReceipt] {
        (0..<count).map { _ in OwedReceipt(id: .random(), to: bobID) }
    }

    @Test mutating func aBurstGoesAtOnceAndTheRestInTurn() throws {
        let receipts = self.receipts(ClientLimits.receiptsBurst + 2 * ClientLimits.receiptsPerSecond)
        for receipt in receipts { self.pacer.delivered(receipt) }
        var sent = self.pacer.due(at: start)
        #expect(sent.count == ClientLimits.receiptsBurst)
        #expect(self.pacer.due(at: start) == [])
        for second in 1...2 {
            #expect(self.pacer.nextWake == start + .seconds(second))
            sent += self.pacer.due(at: start + .seconds(second))
        }
        #expect(sent == receipts)
        #expect(self.pacer.nextWake == nil)
    }

    @Test mutating func readMarksShareTheRateAndSayDeliveredToo() {
        let receipts = self.receipts(ClientLimits.receiptsBurst + 1)
        for receipt in receipts { self.pacer.delivered(receipt) }
        #expect(self.pacer.due(at: start).count == ClientLimits.receiptsBurst)
        #expect(self.pacer.readMarks(of: receipts, at: start) == [])
        let later = start + .seconds(60)
        #expect(self.pacer.nextWake.map { $0 <= later } == true)
        #expect(self.pacer.readMarks(of: [receipts.last!], at: later) == [receipts.last!])
        #expect(self.pacer.due(at: later) == [])
        #expect(self.pacer.nextWake == nil)
    }

    @Test mutating func theServersSilenceIsKept() {
        let receipts = self.receipts(2)
        self.pacer.delivered(receipts[0])
        self.pacer.refused(retryAfter: .seconds(20), at: start)
        #expect(self.pacer.nextWake == start + .seconds(20))
        #expect(self.pacer.due(at: start + .seconds(19)) == [])
        #expect(self.pacer.due(at: start + .seconds(20)) == [receipts[0]])
        // Waiting receipts are dropped with the connection. The rate stays.
        self.pacer.delivered(receipts[1])
        self.pacer.disconnected()
        #expect(self.pacer.due(at: start + .seconds(20)) == [])
    }

    @Test mutating func whatWaitsIsBoundedAndWaitsOnce() {
        let receipts = self.receipts(ClientLimits.receiptsWaitingMax + 1)
        for receipt in receipts + receipts { self.pacer.delivered(receipt) }
        var sent: [OwedReceipt] = []
        var now = start
        while self.pacer.nextWake != nil || now == start {
            sent += self.pacer.due(at: now)
            now += .seconds(1)
        }
        #expect(sent == receipts.dropLast())
    }

    /// Whenever mail comes, and whenever the machine is asked.
    @Test(arguments: UInt64(0)..<50)
    func noMinuteHasMoreThanTheServerTakes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var pacer = ReceiptPacer()
        var now = start
        var sent: [ContinuousClock.Instant] = []
        for _ in 0..<400 {
            if Int.random(in: 0..<4, using: &random) == 0 {
                for receipt in self.receipts(Int.random(in: 1...150, using: &random)) { pacer.delivered(receipt) }
            }
            if Int.random(in: 0..<50, using: &random) == 0 { pacer.disconnected() }
            let marks = self.receipts(Int.random(in: 0...3, using: &random))
            let count = pacer.due(at: now).count + pacer.readMarks(of: marks, at: now).count
            sent += Array(repeating: now, count: count)
            now += .milliseconds(Int.random(in: 0..<2_000, using: &random))
        }
        #expect(sent.count > Rates.receipts.uses)
        // So many later there is another minute.
        let another = sent.dropFirst(Rates.receipts.uses)
        #expect(zip(sent, another).allSatisfy { $1 - $0 >= .seconds(60) })
    }
}

extension EngineTests {
    /// So many that the rest could not follow within the time limit of the test.
    @Test func receiptsOfAFullMailboxDoNotGoAtOnce() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        self.server.set {
            $0.holdsMail = true
            $0.pageSize = 100
        }
        let alice = try self.client("alice", aliceWords)
        let count = 600
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { $0 == .caughtUp }
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            for number in 0..<count { self.server.deliver(try self.mail("\(number)")) }
            self.server.breakConnections()
            await self.wait(alice, for: events) { $0 == .caughtUp }
            #expect(try alice.store.messages.unreadCount() == count)
            #expect(self.server.receipts.count >= ClientLimits.receiptsBurst)
            #expect(self.server.receipts.count < count)
        }
    }
}
