import ClusterContract
import Contract
import Foundation
import Testing

@testable import GatewayCore

/// Answers to a client without a session, or with a wrong one. Through a real socket.
@Suite(.timeLimit(.minutes(20))) struct GatewayFrameTests {
    @Test func theUpgradeIsAnsweredAsRFC6455Shows() async throws {
        try await GatewayBench.run { bench in
            let client = try await TestClient.connect(port: bench.port)
            let answer = try await client.request(
                "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
            #expect(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
        }
    }

    @Test(arguments: [("/health", "200"), ("/ready", "200"), ("/ws", "400"), ("/nothing", "404")])
    func plainRequestsAreAnsweredAndEnded(path: String, status: String) async throws {
        try await GatewayBench.run { bench in
            let client = try await TestClient.connect(port: bench.port)
            let answer = try await client.request("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
            #expect(await client.ends())
        }
    }

    /// RFC 6455 §4.4, RFC 9110 §15.5.22.
    @Test func anotherVersionOfWebSocketIsToldWhichOneIsSpoken() async throws {
        try await GatewayBench.run { bench in
            let answer = try await TestClient.connect(port: bench.port).request(
                "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 426 "))
            #expect(
                answer.contains("\r\nSec-WebSocket-Version: 13\r\n") && answer.contains("\r\nUpgrade: websocket\r\n"))
        }
    }

    /// RFC 9112 §3, RFC 6585 §5; RFC 9110 §9.3.2.
    @Test func aHeadThatIsTooLongIsCalledSoAndAHeadHasNoBody() async throws {
        try await GatewayBench.run { bench in
            let long = String(repeating: "x", count: UpgradeRequest.bytesMax)
            let answer = try await TestClient.connect(port: bench.port).request(
                "GET /ws HTTP/1.1\r\nHost: x\r\nX: \(long)\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 431 "))
            let head = try await TestClient.connect(port: bench.port).request("HEAD /ws HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 404 ") && head.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func aDeafGatewayIsNotReadyButAlive() async throws {
        try await GatewayBench.run { bench in
            try await bench.bus.goAway()
            for (path, status) in [("/ready", "503"), ("/health", "200")] {
                let answer = try await TestClient.connect(port: bench.port).request(
                    "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
            }
            try await bench.bus.comeBack()
            #expect(
                try await TestClient.connect(port: bench.port).request("GET /ready HTTP/1.1\r\nHost: x\r\n\r\n")
                    .hasPrefix(
                        "HTTP/1.1 200 "))
        }
    }

    @Test func pingIsAnsweredWithTheServersTime() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(#"{"type":"ping","requestId":"p1","payload":{"timestamp":1730000000000}}"#)
            let reply = try await client.json()
            #expect(reply.type == "pong")
            #expect(reply.requestID == "p1")
            #expect(reply.payload["timestamp"] as? Int64 == 1_730_000_000_000)
            #expect(abs((reply.payload["serverTime"] as? Int64 ?? 0) - Timestamp.now.milliseconds) < 60_000)
            try await client.send(#"{"type":"ping","payload":{}}"#)
            let bare = try await client.json()
            #expect(bare.requestID == nil)
            #expect(bare.payload["timestamp"] == nil)
        }
    }

    @Test func aWebSocketPingIsPonged() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(ClientFrame(opcode: 9, payload: [1, 2, 3]))
            let frame = try await client.frame()
            #expect(frame.opcode == 10)
            #expect(frame.payload == [1, 2, 3])
        }
    }

    @Test(arguments: [
        #"{"type":"ping","requestId":"x9","payload":{"timestamp":0}}"#,
        #"{"type":"unknown","requestId":"x9","payload":{}}"#,
    ])
    func anInvalidFrameIsRefusedUnderItsRequestIDAndTheConnectionStays(frame: String) async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(frame)
            let reply = try await client.json()
            #expect(reply.type == "error")
            #expect(reply.code == "INVALID_PAYLOAD")
            #expect(reply.requestID == "x9")
            #expect(reply.payload["requestId"] as? String == "x9")
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
        }
    }

    @Test func moreThanTwentyInvalidFramesAreAbuse() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            for _ in 0..<21 { try await client.send("{}") }
            for _ in 0..<21 { #expect(try await client.json().code == "INVALID_PAYLOAD") }
            #expect(try await client.closeCode() == 1008)
        }
    }

    @Test func otherErrorsAreNoAbuse() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            for _ in 0..<30 { try await client.send(Frames.message(session: nil)) }
            for _ in 0..<30 { #expect(try await client.json().code == "NOT_REGISTERED") }
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
        }
    }

    @Test(arguments: [
        (ClientFrame(opcode: 2, payload: [1]), 1003), (ClientFrame(opcode: 1, payload: [0xC3, 0x28]), 1007),
        (ClientFrame(opcode: 1, payload: [UInt8](repeating: 32, count: 512_001)), 1009),
        (ClientFrame(opcode: 1, mask: nil), 1002),
        (ClientFrame(opcode: 3), 1002), (ClientFrame(opcode: 8, payload: [3, 232]), 1000),
    ])
    private func whatBreaksTheProtocolClosesWithItsCode(frame: ClientFrame, code: Int) async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(frame)
            #expect(try await client.closeCode() == code)
        }
    }

    @Test func theLargestFrameIsTaken() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            let frame = #"{"type":"ping","payload":{}}"#
            try await client.send(frame + String(repeating: " ", count: 512_000 - frame.utf8.count))
            #expect(try await client.json().type == "pong")
        }
    }

    @Test func theFramesOfOneConnectionAreLimited() async throws {
        try await GatewayBench.run(scale: 0.01) { bench in
            // A burst of two.
            let client = try await bench.client()
            let ping = ClientFrame.text(#"{"type":"ping","requestId":"q","payload":{}}"#).bytes
            try await client.send(bytes: ping + ping + ping)
            #expect(try await client.json().type == "pong")
            #expect(try await client.json().type == "pong")
            let refusal = try await client.json()
            #expect(refusal.code == "RATE_LIMITED")
            #expect(refusal.requestID == "q")
            #expect(try #require(refusal.payload["retryAfterMs"] as? Int) > 0)
        }
    }

    // MARK: Sessions

    @Test(arguments: [nil, "", "short", String(repeating: "x", count: 65)])
    func withoutATokenNobodyIsRegistered(session: String?) async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(Frames.message(session: session))
            let reply = try await client.json()
            #expect(reply.code == "NOT_REGISTERED")
            #expect(reply.requestID == "m1")
        }
    }

    @Test(arguments: ["1", "true", "[]", "{}"])
    func aTokenOfAnotherTypeIsInvalid(json: String) async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(Frames.message().replacing("\"\(token)\"", with: json))
            #expect(try await client.json().code == "INVALID_PAYLOAD")
        }
    }

    /// Even if answers are mixed up, no client becomes another identity.
    @Test func aSessionOfAnotherTokenBindsNobody() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(Frames.message())
            let request = try await bench.request()
            let other = Session.of(identity: "WSP-7777-7777-7777", token: "another")
            try await bench.tell(.answer(question: request.answer.question, .session(other)))
            let refusal = try await client.json()
            #expect(refusal.code == "INTERNAL_ERROR")
            #expect(refusal.requestID == "m1")
            #expect(await !bench.gateway.isBound(other.caller.identity))
        }
    }

    @Test func aCacheThatNamesSomebodyElseIsNoAnswer() async throws {
        try await GatewayBench.run { bench in
            let own = Session.of(identity: "WSP-JBPU-D452-TLT4", token: token)
            let other = Session.of(identity: "WSP-7777-7777-7777", token: "another")
            try await bench.bus.set(Keyspace.session(own.tokenHash), to: other.encoded(), for: .seconds(60))
            let client = try await bench.client()
            try await client.send(Frames.message())
            let request = try await bench.request()
            try await bench.tell(.answer(question: request.answer.question, .session(own)))
            guard case .bound = try await bench.job(of: Partition(of: own.caller.identity)) else {
                return #expect(Bool(false))
            }
            #expect(await !bench.gateway.isBound(other.caller.identity))
        }
    }

    @Test func aTokenThatTheCacheDoesNotKnowIsAskedOfAuth() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(Frames.message())
            let request = try await bench.request()
            let session = Session.of(identity: "WSP-JBPU-D452-TLT4", token: token)
            guard case .session(session.tokenHash) = request.body else {
                return #expect(Bool(false), "\(request.body)")
            }
            #expect(request.presentedToken.isEmpty)
            try await bench.tell(.answer(question: request.answer.question, .session(nil)))
            #expect(try await client.json().code == "NOT_REGISTERED")
            // Known a moment later.
            try await client.send(Frames.message(requestID: "m2"))
            let again = try await bench.request()
            try await bench.tell(.answer(question: again.answer.question, .session(session)))
            guard case .bound = try await bench.job(of: Partition(of: session.caller.identity)) else {
                return #expect(Bool(false))
            }
            guard case .accept = try await bench.job(of: Partition(of: try #require(WhisperID("WSP-AAAA-AAAA-AAAA"))))
            else { return #expect(Bool(false)) }
        }
    }

    @Test func anExpiredSessionIsNone() async throws {
        try await GatewayBench.run { bench in
            try await bench.cache(.of(identity: "WSP-JBPU-D452-TLT4", token: token, expiresAt: .now - .seconds(1)))
            let client = try await bench.client()
            try await client.send(Frames.message())
            #expect(try await client.json().code == "NOT_REGISTERED")
        }
    }

    @Test func aBannedSessionIsToldAndClosed() async throws {
        try await GatewayBench.run { bench in
            try await bench.cache(.of(identity: "WSP-JBPU-D452-TLT4", token: token, isBanned: true))
            let client = try await bench.client()
            try await client.send(Frames.message())
            #expect(try await client.json().code == "USER_BANNED")
            #expect(try await client.closeCode() == 4003)
        }
    }

    @Test func aSecondIdentityOnOneSocketEndsIt() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            let other = String(repeating: "B", count: 43)
            try await bench.cache(.of(identity: "WSP-7777-7777-7777", token: other))
            try await client.send(Frames.fetch(session: other))
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
        }
    }

    @Test func aSecondConnectionWithTheSameTokenReplacesTheFirst() async throws {
        try await GatewayBench.run { bench in
            let (first, _) = try await bench.boundClient()
            let second = try await bench.client()
            try await second.send(Frames.fetch())
            #expect(try await first.json().code == "AUTH_FAILED")
            #expect(try await first.closeCode() == 4001)
        }
    }

    // MARK: Addresses

    @Test func loginsAreLimitedByAddress() async throws {
        try await GatewayBench.run(scale: 0.1) { bench in
            // Three a minute; another connection does not help.
            let first = try await bench.client()
            let second = try await bench.client()
            for _ in 0..<3 {
                try await first.send(Frames.begin())
                guard case .frame("register_begin", _) = try await bench.request().body else {
                    return #expect(Bool(false))
                }
            }
            try await second.send(Frames.begin(requestID: "b9"))
            let refusal = try await second.json()
            #expect(refusal.code == "RATE_LIMITED")
            #expect(refusal.requestID == "b9")
            let wait = try #require(refusal.payload["retryAfterMs"] as? Int)
            #expect((1...20_000).contains(wait))
        }
    }

    @Test func newConnectionsAreLimitedByAddressBehindTheProxy() async throws {
        try await GatewayBench.run(scale: 0.02, trustedProxies: ["127.0.0.1"]) { bench in
            // 1.2 a minute for each.
            _ = try await bench.client(headers: "X-Forwarded-For: 9.9.9.9, 1.1.1.1\r\n")
            _ = try await bench.client(headers: "X-Forwarded-For: 9.9.9.9, 2.2.2.2\r\n")
            let refused = try await TestClient.connect(port: bench.port).request(
                "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Version: 13\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n")
            #expect(refused.hasPrefix("HTTP/1.1 429 "))
            #expect(refused.contains("\r\nRetry-After: "))
            #expect(refused.contains(#""error":"RATE_LIMITED""#))
        }
    }
}
