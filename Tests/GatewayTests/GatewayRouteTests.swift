import Contract
import Testing

@testable import GatewayCore

/// Frames that the gateway itself handles, as the catalogue has them.
@Suite(.timeLimit(.minutes(1))) struct GatewayRouteTests {
    private static let types = FrameCatalogue.all.filter(\.isForTheGateway).map(\.type)

    /// A debug build ends here if a frame has no case in `Gateway.answer`.
    @Test(arguments: types)
    func eachFrameOfTheGatewayHasAHandler(type: String) async throws {
        let log = LogRecorder()
        try await GatewayBench.run(logger: log.logger) { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.gateway.answersSample(of: type, on: connection)
            // Behind the answer, or instead of it: some frames have none.
            try await client.send(#"{"type":"ping","requestId":"last","payload":{}}"#)
            var replies: [Reply] = []
            repeat { replies.append(try await client.json()) } while replies.last?.requestID != "last"
            #expect(!replies.contains { $0.code == "INTERNAL_ERROR" })
            #expect(!log.lines.contains { $0.event == "frame without a handler" })
        }
    }

    /// A rate that a definition names elsewhere is counted by nobody.
    @Test(arguments: FrameCatalogue.all.map(\.type))
    func eachRateOfADefinitionIsCounted(type: String) throws {
        let definition = try #require(FrameCatalogue.definition(of: type))
        switch (definition.principal, definition.route) {
        // Before a login nobody is known but the address.
        case (.anybody, .service): #expect(definition.rate.map { $0.per == .address } ?? true)
        case (.anybody, _): #expect(definition.rate == nil, "counted only behind a login")
        default: #expect(definition.rate?.per != .address)
        }
        switch definition.route {
        case .share, .ownShare: #expect(definition.addressRate.map { $0.per == .address } ?? true)
        default: #expect(definition.addressRate == nil && definition.guess == nil)
        }
    }
}

extension FrameDefinition {
    fileprivate var isForTheGateway: Bool { if case .gateway = self.route { true } else { false } }
}

extension Gateway {
    fileprivate func answersSample(of type: String, on id: ConnectionID) throws {
        let definition = FrameCatalogue.definition(of: type)!
        let payload = try FrameDecoder.payload(bare: Array(definition.samples[0].utf8), schema: definition.schema)
        self.answer(
            ReceivedFrame(definition: definition, payload: payload, requestID: "q1", bytes: 0),
            on: self.connections[id]!)
    }
}
