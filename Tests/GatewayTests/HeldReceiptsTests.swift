import Contract
import Testing

@testable import GatewayCore

@Suite struct HeldReceiptsTests {
    private let alice = Session.of(identity: "WSP-JBPU-D452-TLT4", token: String(repeating: "a", count: 43))

    private func receipt(_ number: Int) -> HeldReceipts.Receipt {
        HeldReceipts.Receipt(
            report: ReceiptReport(
                recipient: self.alice.caller, sender: self.alice.caller.identity, messageID: UUIDText(high: 0, low: UInt64(number)),
                status: .delivered, timestamp: Timestamp(milliseconds: 1)),
            connection: ConnectionID(value: UInt64(number)))
    }

    @Test func receiptsOfAPartitionLeaveInTheirOrder() {
        var held = HeldReceipts()
        for number in 0..<4 { held.add(self.receipt(number), to: Partition(number % 2)!) }
        #expect(held.take(of: Partition(1)!).map(\.connection.value) == [1, 3])
        #expect(held.take(of: Partition(1)!).isEmpty)
        #expect(held.count == 2)
        #expect(held.takeAll().map { $0.receipts.map(\.connection.value) } == [[0, 2]])
        #expect(held.count == 0 && held.takeAll().isEmpty)
    }

    @Test func noMoreAreHeldThanTheBound() {
        var held = HeldReceipts()
        for number in 1..<GatewayLimits.receiptsHeldMax { held.add(self.receipt(number), to: Partition(0)!) }
        #expect(!held.isFull)
        held.add(self.receipt(0), to: Partition(1)!)
        #expect(held.isFull)
    }

    /// A page must not show what its reader has acknowledged before it asked.
    @Test func aQuestionComesBehindTheReceiptsBeforeIt() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            let identity = self.alice.caller.identity
            try await client.send(Frames.receipt(from: identity))
            try await client.send(Frames.fetch())
            guard case .receipt = try await bench.job(of: Partition(of: identity)) else { return #expect(Bool(false), "no receipt") }
            guard case .fetch = try await bench.job(of: Partition(of: identity)) else { return #expect(Bool(false), "no question") }
        }
    }

    /// Whose mail is acknowledged need not be woken for it.
    @Test func aDepartureComesBehindTheReceiptsBeforeIt() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            let identity = self.alice.caller.identity
            try await client.send(Frames.receipt(from: identity))
            await client.close()
            guard case .receipt = try await bench.job(of: Partition(of: identity)) else { return #expect(Bool(false), "no receipt") }
            #expect(try await bench.departure(in: Partition(of: identity)) != nil)
        }
    }
}
