import LocalStack
import TestKit
import Testing

extension MistreatedCluster {
    /// Contract §3, close code 4010: a client that takes nothing costs a bounded amount of memory, and nobody else anything.
    @Test func aClientThatNeverReadsIsClosedAndItsMailKept() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let lazyCount = 5
        var lazy: [Phone] = []
        for _ in 0..<lazyCount {
            let client = try await TestClient.connect(to: stack.endpoint(ofGateway: 2), receiveBuffer: 16_384)
            lazy.append(try await Person().logIn(on: client))
            try await client.stopReading()
        }
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let before = try await self.residentBytes(of: .gateway(2))

        // Each is sent far more than a gateway keeps for one client, and the kernel's buffers besides.
        let (lettersEach, letterBytes) = (40, 256 * 1_024)
        var ids: [String: [String]] = [:]
        for number in 0..<lettersEach {
            for phone in lazy {
                let message = alice.message(to: phone.id, bytes: letterBytes) { $0["msgType"] = "file" }
                try await alice.send(message).expecting("message_accepted")
                ids[phone.id, default: []].append(message["messageId"]!.json.string!)
            }
            // Somebody at the same gateway is not held up.
            guard number.isMultiple(of: 8) else { continue }
            let id = try await alice.text(bob)
            _ = try await bob.received(id)
            bob.acknowledge(id, from: alice.id)
        }
        let grown = try await self.residentBytes(of: .gateway(2)) - before
        #expect(grown < 64 * 1_024 * 1_024, "grown by \(grown) bytes for \(lazyCount) clients")

        for phone in lazy {
            try await phone.client.goOnReading()
            // The farewell is behind what was written; the gateway gives it up after a while, and the socket with it.
            let ending = try await phone.client.end()
            #expect(ending.code == 4010 || ending == .dropped)
            let back = try await Cluster.reconnected(phone, gateway: 2)
            #expect(try await back.pending().map(\.id) == ids[phone.id])
        }
        #expect(bob.client.ending == nil)
    }

    private func residentBytes(of process: StackProcess) async throws -> Int {
        try #require(await Cluster.stack.usage().first { $0.process == process }).residentBytes
    }
}
