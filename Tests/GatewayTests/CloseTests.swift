import ClusterContract
import Contract
import Testing

@testable import GatewayCore

/// How a connection ends that the server closes: with TCP closed as soon as both have said so (RFC 6455 §7.1.1).
/// Through a real socket. `SilentClientTests` closes with 4010.
@Suite(.timeLimit(.minutes(20))) struct CloseTests {
    private static let farewell = ClientFrame(opcode: 8, payload: [3, 232])
    private static let binary = ClientFrame(opcode: 2, payload: [1])
    private static let tooBig = ClientFrame(opcode: 1, payload: [UInt8](repeating: 0x20, count: 600_000))
    /// Longer than any test.
    private static let postponed = Duration.seconds(3_600)

    enum Cause: Int, CaseIterable {
        case binary = 1003
        case invalidText = 1007
        case abuse = 1008
        case tooBig = 1009
        case replaced = 4001
        case banned = 4003
        case idle = 4008
    }

    /// A client that was closed for this cause. The linger does not end it.
    private func closed(_ cause: Cause, in bench: GatewayBench) async throws -> (client: TestClient, id: ConnectionID) {
        let client: TestClient
        let id: ConnectionID
        if cause == .replaced || cause == .idle {
            (client, id) = try await bench.boundClient()
        } else {
            client = try await bench.client()
            id = try #require(await bench.gateway.newest)
        }
        switch cause {
        case .binary: try await client.send(Self.binary)
        case .invalidText: try await client.send(ClientFrame(opcode: 1, payload: [0xC3, 0x28]))
        case .abuse:
            for _ in 0...Limits.invalidFramesPerMinuteMax { try await client.send("{}") }
            for _ in 0...Limits.invalidFramesPerMinuteMax { #expect(try await client.json().code == "INVALID_PAYLOAD") }
        case .tooBig: try await client.send(Self.tooBig)
        case .replaced:
            try await bench.client().send(Frames.fetch())
            #expect(try await client.json().code == "AUTH_FAILED")
        case .banned:
            try await bench.cache(.of(identity: "WSP-JBPU-D452-TLT4", token: token, isBanned: true))
            try await client.send(Frames.message())
            #expect(try await client.json().code == "USER_BANNED")
        case .idle: await bench.gateway.letPass(Limits.idleTimeout + .milliseconds(1), on: id)
        }
        #expect(try await client.closeCode() == cause.rawValue)
        await bench.gateway.letPass(.zero - Self.postponed, on: id)
        return (client, id)
    }

    /// RFC 6455 §7.4: what the client says is wrong is answered as such, and TCP ends all the same.
    @Test(
        arguments: [([3], 1002), ([3, 237], 1002), ([3, 232, 0xC3], 1007), ([3, 233], 1000), ([], 1000)]
            as [([UInt8], Int)])
    func aCloseOfTheClientsIsAnswered(payload: [UInt8], code: Int) async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            let id = try #require(await bench.gateway.newest)
            try await client.send(ClientFrame(opcode: 8, payload: payload))
            #expect(try await client.closeCode() == code)
            #expect(await client.ends())
            try await bench.untilGone(id)
        }
    }

    @Test(arguments: Cause.allCases) func theAnswerToACloseEndsTCP(cause: Cause) async throws {
        try await GatewayBench.run { bench in
            let (client, id) = try await self.closed(cause, in: bench)
            try await client.send(Self.farewell)
            #expect(await client.ends())
            try await bench.untilGone(id)
        }
    }

    @Test(arguments: Cause.allCases) func whoDoesNotAnswerACloseIsEndedByTheLinger(cause: Cause) async throws {
        try await GatewayBench.run { bench in
            let (client, id) = try await self.closed(cause, in: bench)
            try await bench.looks(1)
            #expect(await bench.gateway.isThere(id))
            await bench.gateway.letPass(Self.postponed + GatewayLimits.closeLinger, on: id)
            #expect(await client.ends())
            try await bench.untilGone(id)
        }
    }

    @Test func whatComesBeforeTheAnswerIsNotAnswered() async throws {
        try await GatewayBench.run { bench in
            let (client, id) = try await self.closed(.binary, in: bench)
            let ping = #"{"type":"ping","payload":{}}"#
            for frame in [ClientFrame(opcode: 9), .text(ping), .text("{", isFinal: false), Self.binary, Self.tooBig] {
                try await client.send(frame)
            }
            try await client.send(Self.farewell)
            #expect(await client.ends(), "nothing is said")
            try await bench.untilGone(id)
        }
    }

    /// The rest of a frame that is too large is no frame, whatever it looks like.
    @Test func theRestOfATooLargeFrameIsSkipped() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            let id = try #require(await bench.gateway.newest)
            var large = ClientFrame(opcode: 1, mask: 0)
            while large.payload.count < 600_000 { large.payload += Self.farewell.bytes }
            try await client.send(bytes: Array(large.bytes.prefix(100_000)))
            #expect(try await client.closeCode() == 1009)
            await bench.gateway.letPass(.zero - Self.postponed, on: id)
            try await client.send(bytes: Array(large.bytes.dropFirst(100_000)))
            try await bench.looks(2)
            #expect(await bench.gateway.isThere(id))
            try await client.send(Self.farewell)
            #expect(await client.ends())
            try await bench.untilGone(id)
        }
    }

    @Test func anAnswerInTheSameWriteIsFound() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            let id = try #require(await bench.gateway.newest)
            try await client.send(bytes: Self.binary.bytes + Self.farewell.bytes)
            #expect(try await client.closeCode() == 1003)
            await bench.gateway.letPass(.zero - Self.postponed, on: id)
            #expect(await client.ends())
            try await bench.untilGone(id)
        }
    }

    @Test func whoSendsTooMuchInsteadOfAnAnswerIsEnded() async throws {
        try await GatewayBench.run { bench in
            let (client, id) = try await self.closed(.binary, in: bench)
            let frame = ClientFrame(opcode: 2, payload: [UInt8](repeating: 0, count: 1 << 20)).bytes
            for _ in 0...GatewayLimits.closingBytesMax >> 20 {
                // It may be gone already.
                try? await client.send(bytes: frame)
            }
            #expect(await client.ends())
            try await bench.untilGone(id)
        }
    }

    // MARK: After an error in the protocol nobody knows where a frame begins

    @Test(arguments: [
        ClientFrame(opcode: 1, mask: nil), ClientFrame(opcode: 3), ClientFrame(opcode: 1, reserved: 0x40),
    ])
    private func anErrorInTheProtocolEndsTCPWithoutAnAnswer(frame: ClientFrame) async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            let id = try #require(await bench.gateway.newest)
            try await client.send(frame)
            #expect(try await client.closeCode() == 1002)
            await bench.gateway.letPass(.zero - Self.postponed, on: id)
            #expect(await client.ends())
            // It has closed its own side.
            try await bench.untilGone(id)
        }
    }

    @Test func whoKeepsItsSideOpenIsEndedByTheLinger() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            let id = try #require(await bench.gateway.newest)
            try await client.keepItsSideOpen()
            try await client.send(ClientFrame(opcode: 3))
            #expect(try await client.closeCode() == 1002)
            await bench.gateway.letPass(.zero - Self.postponed, on: id)
            #expect(await client.ends())
            // Could be a close frame, could be anything.
            try await client.send(Self.farewell)
            try await bench.looks(2)
            #expect(await bench.gateway.isThere(id))
            await bench.gateway.letPass(Self.postponed + GatewayLimits.closeLinger, on: id)
            try await bench.untilGone(id)
        }
    }

    /// An incomplete message of a closed connection is dropped, and does not count when memory is short.
    @Test func aClosedConnectionKeepsNothing() async throws {
        try await GatewayBench.run(heldBytesMax: 400_000) { bench in
            let client = try await bench.client()
            let id = try #require(await bench.gateway.newest)
            try await client.keepItsSideOpen()
            let fragment = [UInt8](repeating: 0x20, count: 300_000)
            try await client.send(ClientFrame(opcode: 1, payload: fragment, isFinal: false))
            try await client.send(ClientFrame(opcode: 3))
            #expect(try await client.closeCode() == 1002)
            await bench.gateway.letPass(.zero - Self.postponed, on: id)
            let other = try await bench.client()
            try await other.send(ClientFrame(opcode: 1, payload: fragment, isFinal: false))
            try await bench.looks(2)
            #expect(await bench.gateway.isThere(id))
            try await other.send(ClientFrame(opcode: 0, payload: Array(#"{"type":"ping","payload":{}}"#.utf8)))
            #expect(try await other.json().type == "pong")
        }
    }
}
