import Contract
import Testing

@testable import GatewayCore

#if !DEBUG
/// A debug build ends there.
@Suite(.timeLimit(.minutes(1))) struct OwnBugTests {
    @Test func aCorruptedPayloadIsAnInternalError() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            #expect(try await bench.gateway.readsCorrupted(on: connection) == false)
            let refusal = try await client.json()
            #expect(refusal.code == "INTERNAL_ERROR")
            #expect(refusal.requestID == "q1")
        }
    }
}

extension Gateway {
    /// - Returns: whether a payload in which our own bug shows is passed on.
    fileprivate func readsCorrupted(on id: ConnectionID) throws -> Bool {
        let definition = GroupList.definition
        let payload = try FrameDecoder.payload(
            bare: Array(definition.samples[0].utf8), schema: definition.schema)
        let frame = ReceivedFrame(definition: definition, payload: payload, requestID: "q1", bytes: 0)
        return self.read(frame, on: self.connections[id]!) { _ throws(Payload.Corrupted) -> Bool in
            throw Payload.Corrupted()
        } ?? false
    }
}
#endif
