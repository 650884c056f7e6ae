import ClusterContract
import Contract
import Testing
import TestKit

@testable import GatewayCore

/// Memory that a gateway holds for clients, for each and for all together. Through a real socket.
@Suite(.timeLimit(.minutes(20))) struct BoundsTests {
    private static let ping = #"{"type":"ping","payload":{}}"#

    @Test func connectionsWithoutASessionAreEvictedFirstThenTheLargest() {
        var budget = MemoryBudget()
        let kept: [UInt64: (bytes: Int, hasSession: Bool)] = [
            1: (500_000, true), 2: (400_000, false), 3: (300_000, true), 4: (30_000, false), 5: (10_000, false),
            6: (900_000, true),
        ]
        for id in kept.keys { budget.track(ConnectionID(value: id)) }
        // Connection 6 has gone. Connection 3 has an incomplete message.
        budget.forget(ConnectionID(value: 6))
        budget.track(ConnectionID(value: 3), incoming: 300_000)
        func evicted(_ limit: Int) -> [UInt64] {
            budget.connectionsToEvict(limit: limit) { kept[$0.value] }.map(\.value)
        }
        #expect(evicted(1_530_000) == [])
        #expect(evicted(1_529_999) == [2])
        #expect(evicted(1_400_000) == [2, 4, 3])
        // A small connection is not tracked any more.
        #expect(evicted(0) == [2, 4, 3, 1])
    }

    @Test func whoKeepsTooMuchIsClosedAndOthersAreNot() async throws {
        try await GatewayBench.run(heldBytesMax: 400_000) { bench in
            let (client, connection) = try await bench.boundClient()
            let stranger = try await bench.client()
            // Incomplete messages: one of a fragment, one of half a frame.
            try await client.send(
                ClientFrame(opcode: 1, payload: [UInt8](repeating: 0x20, count: 150_000), isFinal: false))
            try await bench.looks(2)
            #expect(await bench.gateway.isOpen(connection))
            let frame = ClientFrame(opcode: 1, payload: [UInt8](repeating: 0x20, count: 400_000)).bytes
            try await stranger.send(bytes: Array(frame.prefix(300_000)))
            #expect(await stranger.ends())
            #expect(await bench.gateway.isOpen(connection))
            try await client.send(ClientFrame(opcode: 0, payload: Array(Self.ping.utf8)))
            #expect(try await client.json().type == "pong")
        }
    }

    @Test func whoReadsNothingIsClosedWhenMemoryIsShort() async throws {
        try await GatewayBench.run(heldBytesMax: 100_000) { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            try await client.stopReading()
            // More than the kernel keeps, and less than this client may have waiting by itself.
            let message = Array(#"{"messageId":"1","ciphertext":"\#(String(repeating: "x", count: 250_000))"}"#.utf8)
            var number: Int64 = 0
            while await bench.gateway.isOpen(connection), number < 100 {
                number += 1
                try await bench.tell(.mail(connection, [Mail(number: number, payload: message)], again: false))
                let unsent = await bench.gateway.unsent(on: connection)
                #expect(unsent < GatewayLimits.outboundBytesMax)
                if unsent > 100_000 { try await bench.looks(2) }
            }
            #expect(await bench.gateway.isOpen(connection) == false, "it was written \(number) messages")
        }
    }

    /// The RFC wants an answer to each ping; it does not want a client to have as many as it likes.
    @Test func pingsAreAnsweredAtTheRateOfFrames() async throws {
        try await GatewayBench.run { bench in
            let pings = 2 * Limits.framesBurst
            // In one write: between two the bucket would fill again.
            let frames = (0..<pings).map { ClientFrame(opcode: 9, payload: [UInt8($0 & 127)]) } + [.text(Self.ping)]
            // On a busy machine the gateway may read it in parts, and the bucket fills between them: then once more.
            for _ in 0..<20 {
                let client = try await bench.client()
                try await client.send(bytes: frames.flatMap(\.bytes))
                var pongs = 0
                var frame = try await client.anyFrame()
                while frame.opcode == 10 {
                    pongs += 1
                    frame = try await client.anyFrame()
                }
                #expect(frame.opcode == 1 && pongs >= Limits.framesBurst)
                if pongs < pings, String(decoding: frame.payload, as: UTF8.self).contains("RATE_LIMITED") { return }
            }
            Issue.record("pings and the frame behind them were never limited")
        }
    }

    @Test func framesThatWaitForASessionAreBoundedInBytes() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(Frames.message())
            let request = try await bench.request()
            // Unknown fields are allowed.
            let large =
                Frames.message(requestID: "large").dropLast()
                + #","filling":"\#(String(repeating: "x", count: 400_000))"}"#
            for _ in 0..<2 { try await client.send(String(large)) }
            try await client.send(Frames.message(requestID: "small"))
            try await client.send(String(large.replacing("large", with: "third")))
            let refusal = try await client.json()
            #expect(refusal.code == "INTERNAL_ERROR" && refusal.requestID == "third")
            try await bench.tell(.answer(question: request.answer.question, .session(nil)))
            for requestID in ["m1", "large", "large", "small"] {
                let answer = try await client.json()
                #expect(answer.code == "NOT_REGISTERED" && answer.requestID == requestID)
            }
        }
    }

    /// Also if it was renewed, and the new token never used. A session lives longer than a busy machine takes to bind it.
    @Test(arguments: [false, true]) func aConnectionEndsWithItsSession(isRenewed: Bool) async throws {
        try await GatewayBench.run { bench in
            // Long enough to be bound on a busy machine.
            let session = Session.of(
                identity: "WSP-JBPU-D452-TLT4", token: token, expiresAt: .now + .seconds(isRenewed ? 60 : 15))
            let (client, connection) = try await bench.boundClient(session)
            if isRenewed {
                try await client.send(
                    Frames.frame(
                        "session_refresh", SessionRefresh.definition.samples[0], requestID: "r", session: token))
                let request = try await bench.request()
                let successor = Session.of(identity: "WSP-JBPU-D452-TLT4", token: "next", expiresAt: .now + .seconds(5))
                try await bench.tell(
                    .answer(
                        question: request.answer.question,
                        .refreshed(successor, type: "session_refresh_ack", payload: Array("{}".utf8))))
                #expect(try await client.json().type == "session_refresh_ack")
            }
            #expect(try await client.json().code == "NOT_REGISTERED")
            #expect(try await client.closeCode() == 1000)
            try await bench.untilToldGone(connection, of: session.caller.identity)
        }
    }
}

extension Gateway {
    fileprivate func unsent(on id: ConnectionID) -> Int { self.connections[id]?.unsentBytes ?? 0 }
}
