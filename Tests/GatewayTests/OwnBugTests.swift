import ClusterContract
import Contract
import Testing

@testable import GatewayCore

#if !DEBUG
/// A debug build ends there.
@Suite(.timeLimit(.minutes(20))) struct OwnBugTests {
    @Test func aCorruptedPayloadIsAnInternalError() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            #expect(try await bench.gateway.readsCorrupted(on: connection) == false)
            let refusal = try await client.json()
            #expect(refusal.code == "INTERNAL_ERROR")
            #expect(refusal.requestID == "q1")
        }
    }

    /// Contributors are told to look for this line when a new frame is not answered.
    @Test func aFrameWithoutAHandlerIsLoggedAndRefused() async throws {
        let log = LogRecorder()
        try await GatewayBench.run(logger: log.logger) { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.gateway.answersUnheardOf(on: connection)
            let refusal = try await client.json()
            #expect(refusal.code == "INTERNAL_ERROR")
            #expect(refusal.requestID == "q1")
            let line = try #require(log.lines.first { $0.event == "frame without a handler" })
            #expect(line.facts["frame"] == "unheard_of")
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

    fileprivate func answersUnheardOf(on id: ConnectionID) throws {
        let definition = FrameDefinition(
            "unheard_of", about: "", route: .gateway, principal: .anybody, fields: CommonFields.versions, samples: [])
        let payload = try FrameDecoder.payload(
            bare: Array(#"{"protocolVersion":1,"cryptoVersion":1}"#.utf8), schema: definition.schema)
        self.answer(
            ReceivedFrame(definition: definition, payload: payload, requestID: "q1", bytes: 0),
            on: self.connections[id]!)
    }
}
#endif
