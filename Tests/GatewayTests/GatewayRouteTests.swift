import ClusterContract
import Contract
import Testing

@testable import GatewayCore

/// Frames that the gateway itself handles, as the catalogue has them.
@Suite(.timeLimit(.minutes(20))) struct GatewayRouteTests {
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

    @Test(arguments: FrameCatalogue.all.map(\.type))
    func eachRateOfADefinitionIsCounted(type: String) throws {
        #expect(try #require(FrameCatalogue.definition(of: type)).areRatesCounted)
    }

    /// The check can fail.
    @Test func aRateThatNobodyCountsIsSeen() {
        func areCounted(
            _ route: FrameDefinition.Route, _ principal: FrameDefinition.Principal, _ rate: Rate? = nil,
            ofAddress addressRate: Rate? = nil
        ) -> Bool {
            FrameDefinition(
                "of_a_test", about: "", route: route, principal: principal, rate: rate, addressRate: addressRate,
                fields: CommonFields.privileged, samples: []
            ).areRatesCounted
        }
        #expect(areCounted(.gateway, .anybody))
        #expect(!areCounted(.gateway, .anybody, Rates.typing))
        #expect(!areCounted(.gateway, .anybody, Rates.register))
        #expect(areCounted(.gateway, .session, Rates.typing))
        #expect(areCounted(.service(.auth), .anybody, Rates.register))
        #expect(!areCounted(.service(.auth), .anybody, Rates.typing))
        #expect(!areCounted(.service(.auth), .session, Rates.register))
        #expect(!areCounted(.gateway, .session, ofAddress: Rates.liveKnocksOfAddress))
        #expect(areCounted(.ownShare, .session, ofAddress: Rates.liveKnocksOfAddress))
    }
}

extension FrameDefinition {
    fileprivate var isForTheGateway: Bool { if case .gateway = self.route { true } else { false } }

    /// A rate that it names elsewhere is counted by nobody.
    fileprivate var areRatesCounted: Bool {
        let isRateCounted =
            switch (self.principal, self.route) {
            // Before a login nobody is known but the address.
            case (.anybody, .service): self.rate.map { $0.per == .address } ?? true
            case (.anybody, _): self.rate == nil
            default: self.rate?.per != .address
            }
        return switch self.route {
        case .share, .ownShare: isRateCounted && (self.addressRate.map { $0.per == .address } ?? true)
        default: isRateCounted && self.addressRate == nil && self.guess == nil
        }
    }
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
