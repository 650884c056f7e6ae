import Contract
import Foundation
import Testing

@testable import GatewayCore

/// A gateway's limits while Redis is away (contract §11).
@Suite(.timeLimit(.minutes(20))) struct OutageTests {
    @Test func nobodyLogsIn() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await bench.bus.goAway()
            try await client.send(Frames.begin())
            let refusal = try await client.json()
            #expect(refusal.code == "RATE_LIMITED")
            #expect(refusal.requestID == "b1")
            #expect(try #require(refusal.payload["retryAfterMs"] as? Int) > 0)
            try await bench.bus.comeBack()
            try await client.send(Frames.begin(requestID: "b2"))
            guard case .frame("register_begin", _) = try await bench.request().body else { return #expect(Bool(false)) }
        }
    }

    @Test func newConnectionsAreCountedHere() async throws {
        // 0.6 a minute.
        try await GatewayBench.run(scale: 0.01) { bench in
            try await bench.bus.goAway()
            let first = try await bench.client()
            let refused = try await TestClient.connect(port: bench.port).request(
                "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Version: 13\r\n\r\n")
            #expect(refused.hasPrefix("HTTP/1.1 429 "))
            #expect(refused.contains("\r\nRetry-After: "))
            try await first.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await first.json().type == "pong")
        }
    }

    /// Redis is connected and says nothing.
    @Test func timePassesWhileRedisIsSilent() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            bench.bus.fallSilent()
            while bench.bus.waiting == 0 { try await Task.sleep(for: .milliseconds(1)) }
            await bench.gateway.askedTooLongAgo("q1", on: connection)
            let refusal = try await client.json()
            #expect(refusal.code == "INTERNAL_ERROR")
            #expect(refusal.requestID == "q1")
            await bench.gateway.letPass(Limits.idleTimeout + .milliseconds(1), on: connection)
            #expect(try await client.closeCode() == 4008)
            // One look waits, however many seconds have passed.
            try await bench.looks(2)
            #expect(bench.bus.waiting == 1)
            bench.bus.speak()
            while await bench.gateway.isLookingAtBus { try await Task.sleep(for: .milliseconds(1)) }
            #expect(bench.bus.waiting == 0)
        }
    }

    /// A gateway counts its identities' rates anyway. A use within them fails for another reason.
    @Test func identitiesAreCountedHere() async throws {
        // Half an exchange of push tokens in a minute.
        try await GatewayBench.run(scale: 0.05) { bench in
            let (client, _) = try await bench.boundClient()
            try await bench.bus.goAway()
            for (requestID, code) in [("u1", "INTERNAL_ERROR"), ("u2", "RATE_LIMITED")] {
                try await client.send(
                    Frames.frame(
                        "update_tokens", UpdateTokens.definition.samples[0], requestID: requestID, session: token))
                let refusal = try await client.json()
                #expect(refusal.code == code)
                #expect(refusal.requestID == requestID)
            }
        }
    }
}

extension Gateway {
    fileprivate var isLookingAtBus: Bool { self.busWatch.isLooking }
}
