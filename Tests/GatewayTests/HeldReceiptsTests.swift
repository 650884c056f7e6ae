import ClusterContract
import Contract
import Testing

@testable import GatewayCore

@Suite struct HeldReceiptsTests {
    private let alice = Session.of(identity: "WSP-JBPU-D452-TLT4", token: String(repeating: "a", count: 43))

    private func receipt(_ number: Int) -> HeldReceipts.Receipt {
        HeldReceipts.Receipt(
            report: ReceiptReport(
                recipient: self.alice.caller, sender: self.alice.caller.identity,
                messageID: UUIDText(high: 0, low: UInt64(number)),
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
    @Test func aRequestComesBehindTheReceiptsBeforeIt() async throws {
        try await GatewayBench.run(scale: 1_000) { bench in
            let (client, _) = try await bench.boundClient()
            try await self.sendReceipts(on: client)
            try await client.send(Frames.fetch())
            try await self.expectReceipts(on: bench)
            guard case .fetch = try await self.job(on: bench) else { return #expect(Bool(false), "no request") }
        }
    }

    /// A recipient that has acknowledged its mail need not be woken for it.
    @Test func aDepartureComesBehindTheReceiptsBeforeIt() async throws {
        try await GatewayBench.run(scale: 1_000) { bench in
            let (client, _) = try await bench.boundClient()
            try await self.sendReceipts(on: client)
            await client.close()
            try await self.expectReceipts(on: bench)
            #expect(try await bench.departure(in: Partition(of: self.identity)) != nil)
        }
    }

    private var identity: WhisperID { self.alice.caller.identity }

    /// So many at once that some are held, and not all.
    private static let burst = GatewayLimits.receiptsHeldMax * 3 / 2

    private func sendReceipts(on client: TestClient) async throws {
        for _ in 0..<Self.burst { try await client.send(Frames.receipt(from: self.identity)) }
    }

    private func expectReceipts(on bench: GatewayBench) async throws {
        for number in 0..<Self.burst {
            guard case .receipt = try await self.job(on: bench) else {
                return #expect(Bool(false), "no receipt \(number)")
            }
        }
    }

    /// The next one that is no announcement. A connection that no router confirms is announced again.
    private func job(on bench: GatewayBench) async throws -> MailboxJob {
        while true {
            let job = try await bench.job(of: Partition(of: self.identity))
            if case .bound = job { continue }
            return job
        }
    }
}
