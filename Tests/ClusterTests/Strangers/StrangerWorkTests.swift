import LocalStack
import TestKit
import Testing

extension StrangerCluster {
    // MARK: Connections

    @Test func silentConnectionsOfOneAddressKeepNobodyOut() async throws {
        let ports = Cluster.stack.ports
        let address = FreshAddress.next()
        let open = (0..<StrangerBounds.connectionsOpen + 100).map { _ in
            try? OpenConnection(to: ports.public, from: address)
        }
        // HAProxy's threads take connections in any order: it is their number that is bounded.
        try await waitUntil("as many have ended as are beyond the bound", within: .seconds(30)) {
            open.count { $0?.hasEnded ?? true } >= 100
        }
        await #expect(throws: HTTPCall.Failed.self) { try await self.ready(from: address) }
        #expect(try await self.ready(from: FreshAddress.next()) == 200)
        #expect(await LoopbackRequest.get("/ready", port: ports.ops)?.status == 200)
        // The others did not end because nothing came.
        #expect(open.count { $0?.hasEnded == false } == StrangerBounds.connectionsOpen)
    }

    @Test func anAddressThatConnectsAllTheTimeIsKeptOut() async throws {
        let ports = Cluster.stack.ports
        let address = FreshAddress.next()
        for _ in 0..<StrangerBounds.connectionsAMinute + 50 { _ = try? OpenConnection(to: ports.public, from: address) }
        await #expect(throws: HTTPCall.Failed.self) { try await self.ready(from: address) }
        #expect(try await self.ready(from: FreshAddress.next()) == 200)
        #expect(await LoopbackRequest.get("/ready", port: ports.ops)?.status == 200)
    }

    private func ready(from address: String) async throws -> Int {
        var call = HTTPCall("GET", "\(Cluster.stack.publicURL)/ready")
        call.from = address
        return try await call.answer().status
    }

    /// RFC 6455 §7.1.1. Another, closed before it for the same reason, does not answer: its connection stands for a
    /// while.
    @Test(arguments: [1003, 1008, 1009]) func whoAnswersTheCloseIsLetGoAtOnce(code: Int) async throws {
        let clients = [
            try await Cluster.client(from: FreshAddress.next()), try await Cluster.client(from: FreshAddress.next()),
        ]
        let (silent, polite) = (clients[0], clients[1])
        silent.answersClose = false
        for client in clients {
            switch code {
            case 1003: client.send(raw: ClientFraming.frame(.binary, [1, 2, 3]))
            case 1008: client.send(texts: Array(repeating: "{}", count: 21))
            default: client.send(raw: ClientFraming.frame(.text, [UInt8](repeating: 0x20, count: 600_000)))
            }
            #expect(try await client.end().code == code)
        }
        try await waitUntil("TCP has ended", within: .seconds(30)) { !polite.isConnected }
        #expect(silent.isConnected)
    }

    // MARK: Work for nobody

    @Test func tokensOfNobodyAreAskedAboutSixtyTimesAMinute() async throws {
        let address = FreshAddress.next()
        let known = try await Person().logIn(on: try await Cluster.client(gateway: 1, from: address))
        let allowed = AllowedUses(perMinute: StrangerBounds.failuresAMinute)
        var answers: [JSONFrame?] = []
        for gateway in [1, 2] {
            let client = try await Cluster.client(gateway: gateway, from: address)
            for _ in 0..<4 {
                let nobody = Phone(client: client, person: known.person, id: known.id, token: "")
                answers += await nobody.asks(
                    atOnce: (0..<15).map { _ in ("fetch_pending", ["sessionToken": String.tokenOfNobody]) })
            }
        }
        let (asked, refused) = (answers.count(ofError: "NOT_REGISTERED"), answers.count(ofError: "RATE_LIMITED"))
        #expect((1...allowed.count).contains(asked), "\(asked) asked, \(refused) refused")
        #expect(asked + refused == answers.count)
        #expect(answers.compactMap { $0?.payload["retryAfterMs"]?.integer }.allSatisfy { (1...60_000).contains($0) })
        // A client that is logged in there is still served, and so is another address.
        _ = try await known.fetch()
        _ = try await Cluster.stranger(gateway: 1)
    }

    @Test func tokensOfNobodyAreAskedAboutSixtyTimesAMinuteOverHTTP() async throws {
        let stranger = try await Cluster.stranger()
        let (address, allowed) = (FreshAddress.next(), AllowedUses(perMinute: StrangerBounds.failuresAMinute))
        var statuses: [Int: Int] = [:]
        for number in 0..<120 {
            let file = "/attachments/att/2026/01/\(newUUID()).bin/download"
            let path = ["/users/\(stranger.id)/keys", file, "/calls/ringing"][number % 3]
            let headers = ["Authorization": "Bearer \(String.tokenOfNobody)"]
            var call = HTTPCall("GET", Cluster.stack.publicURL + path, headers: headers)
            call.from = address
            let answer = try await call.answer()
            statuses[answer.status, default: 0] += 1
            if answer.status == 429 { #expect(answer.headers["retry-after"] != nil) }
        }
        let (asked, refused) = (statuses[401] ?? 0, statuses[429] ?? 0)
        #expect((1...allowed.count).contains(asked) && asked + refused == 120, "\(statuses)")
        #expect(try await stranger.http("GET", "/calls/ringing").status == 200)
    }

    @Test func proofsFailSixtyTimesAMinute() async throws {
        let address = FreshAddress.next()
        let allowed = AllowedUses(perMinute: StrangerBounds.failuresAMinute)
        var answers: [JSONFrame?] = []
        for gateway in [1, 2] {
            let client = try await Cluster.client(gateway: gateway, from: address)
            let person = Person()
            let nobody = Phone(client: client, person: person, id: "", token: .tokenOfNobody)
            for _ in 0..<4 {
                answers += await nobody.asks(
                    atOnce: (0..<15).map { _ in
                        let challenge: Fields = ["challengeId": newUUID(), "challenge": Keys.random(32).base64]
                        return ("register_proof", person.proof(of: challenge.json))
                    })
            }
        }
        let (asked, refused) = (answers.count(ofError: "AUTH_FAILED"), answers.count(ofError: "RATE_LIMITED"))
        #expect((1...allowed.count).contains(asked), "\(asked) asked, \(refused) refused")
        #expect(asked + refused == answers.count)
        _ = try await Cluster.stranger(gateway: 1)
    }

    // MARK: Files

    /// Three files, because of one only half of all places can be had; larger than what kernels keep on the way.
    @Test func slowDownloadsOfOneIdentityKeepNobodyOut() async throws {
        let (mallory, alice) = (try await Cluster.stranger(), try await Cluster.stranger())
        let content = Keys.random(14_000_000)
        var urls: [String] = []
        for _ in 0..<3 {
            let answer = try await mallory.asksFor(try await mallory.upload(content))
            urls.append(try #require(answer.json["downloadUrl"]?.string))
        }
        var open: [OpenConnection] = []
        for number in 0..<300 {
            var call = HTTPCall("GET", urls[number % 3])
            call.from = FreshAddress.next()
            open.append(try call.stalled(after: 0, receiveBuffer: 4_096))
        }
        let downloads = open
        try await waitUntil("each has begun or been refused", within: .seconds(60), every: .milliseconds(100)) {
            downloads.allSatisfy { $0.hasReceived || $0.hasEnded }
        }
        let key = try await alice.upload(Array(content.prefix(10_000)))
        #expect(try await alice.download(key).count == 10_000)
        #expect(open.contains { !$0.hasEnded })
    }

    // MARK: Relays, calls and keys

    @Test func anIdentityHasOneNameAtTheRelay() async throws {
        let (alice, bob) = (try await Cluster.stranger(gateway: 1), try await Cluster.stranger(gateway: 2))
        let first = try await alice.ask("get_turn_credentials").expecting("turn_credentials").payload
        let second = try await alice.elsewhere(gateway: 2).ask("get_turn_credentials")
            .expecting("turn_credentials").payload
        #expect(first["username"] == second["username"] && first["credential"] == second["credential"])
        for credentials in [first, second] {
            #expect((11 * 3_600...12 * 3_600).contains(try #require(credentials["ttl"]?.integer)))
        }
        let others = try await bob.ask("get_turn_credentials").expecting("turn_credentials").payload
        #expect(others["username"] != first["username"])
    }

    @Test func whoIsRungMayCallOut() async throws {
        let people = try await Cluster.strangers(3)
        let (mallory, alice, bob) = (people[0], people[1], people[2])
        let ringing = try await mallory.rings(alice)
        let own = try await alice.talks(to: bob)
        // The ringing call goes on.
        alice.send("call_end", own, to: bob)
        try await bob.gets("call_end", own)
        alice.send("call_answer", ringing, to: mallory)
        try await mallory.gets("call_answer", ringing)
    }

    /// Two encodings of one X25519 key would be two identities.
    @Test func anX25519KeyIsTakenInOneFormOnly() async throws {
        var highBit = Keys().encPublicKey
        highBit[31] |= 0x80
        // 2²⁵⁵−19+9, which is the base point's 9.
        let beyond = [0xF6] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        for key in [highBit, beyond] {
            let (person, client) = (Person(), try await Cluster.client(from: FreshAddress.next()))
            let challenge = try await client.ask("register_begin", person.begin())
                .expecting("register_challenge").payload
            let proof = person.proof(of: challenge).with(["encPublicKey": key.base64])
            #expect(try await client.ask("register_proof", proof).errorCode == "AUTH_FAILED")
        }
    }
}
