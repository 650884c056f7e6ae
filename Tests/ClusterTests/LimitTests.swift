import LocalStack
import TestKit
import Testing

/// Contract §3, §11 and §13 with every limit at a tenth: 10 frames a second in bursts of 20; a minute's 3 logins, 6 new
/// connections, 12 messages, 6 fetches; 50 connections open. Limits count by address or identity; each test has
/// addresses of its own (127.0.0.0/8 is all this machine).
@Suite(.serialized, .cluster(.busy) { $0.rateLimitScale = 0.1 }) struct LimitedCluster {
    @Test func aConnectionThatSendsTooMuchIsToldWhenToGoOn() async throws {
        let client = try await self.client(from: "127.0.0.10")
        let (tooMany, invalid, tokenless) = (60, "invalid", "tokenless")
        let frames =
            (0..<tooMany).map { TestClient.text("ping", [:], requestID: "\($0)") } + [
                TestClient.text("ping", ["timestamp": "x"], requestID: invalid),
                TestClient.text("fetch_pending", Person.versions, requestID: tokenless),
            ]
        // In one piece, so that no time passes between them.
        client.send(texts: frames)
        var limited = 0
        for number in 0..<tooMany {
            let answer = try await client.frame("answer \(number)") { $0.requestID == "\(number)" }
            guard answer.type == "error" else { continue }
            limited += 1
            #expect(answer.errorCode == "RATE_LIMITED")
            #expect((1...1_000).contains(try #require(answer.payload["retryAfterMs"]?.integer)))
        }
        // 20 at once, and a few more if this machine takes its time.
        #expect((20...40).contains(limited))
        // Schema is checked before the limit, the limit before the session.
        #expect(try await client.frame(invalid) { $0.requestID == invalid }.errorCode == "INVALID_PAYLOAD")
        #expect(try await client.frame(tokenless) { $0.requestID == tokenless }.errorCode == "RATE_LIMITED")
        #expect(client.ending == nil)
        try await waitUntil("it may speak again", within: .seconds(30), every: .milliseconds(200)) {
            try await client.ask("ping", [:]).type == "pong"
        }
    }

    @Test func anAddressLogsInThreeTimesAMinute() async throws {
        // At whichever gateway.
        let clients = [
            try await Cluster.client(gateway: 1, from: "127.0.0.20"),
            try await Cluster.client(gateway: 2, from: "127.0.0.20"),
        ]
        for number in 0..<3 {
            try await clients[number % 2].ask("register_begin", Person().begin()).expecting("register_challenge")
        }
        for client in clients {
            let refused = try await client.ask("register_begin", Person().begin())
            #expect(refused.errorCode == "RATE_LIMITED")
            #expect((10_000...20_000).contains(try #require(refused.payload["retryAfterMs"]?.integer)))
        }
        let other = try await self.client(from: "127.0.0.21")
        try await other.ask("register_begin", Person().begin()).expecting("register_challenge")
    }

    @Test func anAddressOpensSixConnectionsAMinute() async throws {
        var clients: [TestClient] = []
        for number in 0..<6 { clients.append(try await Cluster.client(gateway: 1 + number % 2, from: "127.0.0.30")) }
        for gateway in [1, 2] {
            try await self.expectRefusal { try await Cluster.client(gateway: gateway, from: "127.0.0.30") }
        }
        clients.append(try await self.client(from: "127.0.0.31"))
        for client in clients { try await client.settle() }
    }

    /// Nobody gets around a limit by naming other addresses; the balancer's word counts.
    @Test func forwardedAddressesAreBelievedOnlyFromTheBalancer() async throws {
        func connect(_ number: Int, to url: String, from address: String) async throws -> TestClient {
            try await TestClient.connect(to: url, from: address, headers: ["X-Forwarded-For": "10.0.0.\(number)"])
        }
        var clients: [TestClient] = []
        let gateway = Cluster.stack.endpoint(ofGateway: 1)
        for number in 0..<6 { clients.append(try await connect(number, to: gateway, from: "127.0.0.40")) }
        try await self.expectRefusal { try await connect(7, to: gateway, from: "127.0.0.40") }
        for number in 0..<6 {
            clients.append(try await connect(number, to: Cluster.stack.endpoint, from: "127.0.0.50"))
        }
        try await self.expectRefusal { try await connect(7, to: Cluster.stack.endpoint, from: "127.0.0.50") }
        // The balancer's own address is trusted: what it says is another client each time.
        for number in 100..<108 { clients.append(try await connect(number, to: gateway, from: "127.0.0.1")) }
    }

    @Test func fiftyConnectionsOfAnAddressStayOpen() async throws {
        var clients: [TestClient] = []
        for number in 0..<50 {
            // The rate of new ones is kept in Redis; what is open, each gateway knows itself.
            if number.isMultiple(of: 6) { try await Cluster.stack.flushRedis() }
            clients.append(try await self.client(from: "127.0.0.60"))
        }
        try await Cluster.stack.flushRedis()
        #expect(try await self.client(from: "127.0.0.60").end().code == 4029)
        for client in clients { try await client.settle() }
        clients.removeLast().cut()
        try await waitUntil("there is room again", within: .seconds(30), every: .milliseconds(100)) {
            try await Cluster.stack.flushRedis()
            let client = try await self.client(from: "127.0.0.60")
            return (try? await client.settle()) != nil
        }
    }

    @Test func anIdentitySendsTwelveMessagesAMinute() async throws {
        let alice = try await Person().logIn(on: try await self.client(from: "127.0.0.70"))
        let bob = try await Person().logIn(on: try await self.client(from: "127.0.0.71"))
        var sent: [Fields] = []
        for _ in 0..<12 {
            sent.append(alice.message(to: bob.id))
            try await alice.send(sent.last!).expecting("message_accepted")
        }
        /// On a slow machine a minute's twelfth has passed meanwhile: then it is used up, and asked again.
        func refusal(_ ask: () async throws -> JSONFrame) async throws -> JSONFrame {
            var answer = try await ask()
            for _ in 0..<10 where answer.errorCode != "RATE_LIMITED" { answer = try await ask() }
            return answer
        }
        let refused = try await refusal { try await alice.send(alice.message(to: bob.id)) }
        #expect(refused.errorCode == "RATE_LIMITED")
        #expect((1...5_000).contains(try #require(refused.payload["retryAfterMs"]?.integer)))
        // Step 9 of contract §3: behind the signature, what is accepted already and the time, before the recipient.
        let stale = alice.message(to: bob.id) { $0["timestamp"] = nowMilliseconds() - 660_000 }
        #expect(try await alice.send(sent[3]).type == "message_accepted")
        #expect(try await alice.send(stale).errorCode == "INVALID_TIMESTAMP")
        #expect(
            try await alice.send(stale.with(["sig": [UInt8](repeating: 1, count: 64).base64])).errorCode
                == "AUTH_FAILED")
        #expect(
            try await refusal { try await alice.send(alice.message(to: "WSP-AAAA-AAAA-AAAA")) }.errorCode
                == "RATE_LIMITED")
        // Another connection, at another gateway, is still the same identity.
        alice.client.cut()
        let moved = alice.moved(to: try await Cluster.client(gateway: 2, from: "127.0.0.70"))
        try await moved.ask("fetch_pending").expecting("pending_messages")
        #expect(try await refusal { try await moved.send(moved.message(to: bob.id)) }.errorCode == "RATE_LIMITED")
        // Others are not concerned.
        try await bob.text(alice)
    }

    @Test func anIdentityFetchesSixTimesAMinute() async throws {
        let phone = try await Person().logIn(on: try await self.client(from: "127.0.0.80"))
        for _ in 0..<6 { try await phone.ask("fetch_pending").expecting("pending_messages") }
        #expect(try await phone.ask("fetch_pending").errorCode == "RATE_LIMITED")
        try await phone.text(try await Person().logIn(on: try await self.client(from: "127.0.0.81")))
    }

    private func client(from address: String) async throws -> TestClient {
        try await Cluster.client(gateway: 1, from: address)
    }

    private func expectRefusal(_ connect: () async throws -> TestClient) async throws {
        do {
            _ = try await connect()
            Issue.record("the connection was taken")
        } catch let refused as TestClient.Refused {
            #expect(refused.status == 429)
            #expect((1...10).contains(try #require(Int(refused.headers["retry-after"] ?? ""))))
            #expect(try JSON(parsing: Array(refused.body.utf8))["error"]?.string == "RATE_LIMITED")
        }
    }
}
