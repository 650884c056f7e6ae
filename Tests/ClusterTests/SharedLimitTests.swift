import TestKit
import Testing

/// Limits that hold whatever the number of connections and gateways (contract §13a), with every limit at a tenth: 12 messages a
/// minute, 6 tokens that are nobody's.
extension LimitedCluster {
    /// Everything is said in one write, before the gateway knows whose the connection is; then the next one comes.
    @Test func anIdentityHasOneRateOnAllItsConnections() async throws {
        let start = ContinuousClock.now
        let alice = try await Person().logIn(on: try await Cluster.client(gateway: 1, from: "127.0.2.1"))
        let bob = try await Person().logIn(on: try await Cluster.client(gateway: 2, from: "127.0.2.2"))
        let before = try #require(Int(try await Cluster.database("SELECT count(*) FROM router.ledger")))
        for round in 0..<8 {
            let client = try await Cluster.client(gateway: 1 + round % 2, from: "127.0.2.\(10 + round)")
            let phone = alice.moved(to: client)
            let unknown = Person.versions.with(["sessionToken": String(repeating: "u", count: 42) + "\(round)"])
            let messages = (0..<17).map { _ in
                TestClient.text("send_message", phone.privileges.with(phone.message(to: bob.id)), requestID: "m")
            }
            client.send(texts: [TestClient.text("fetch_pending", unknown, requestID: "unknown")] + messages)
            #expect(try await client.frame("unknown") { $0.requestID == "unknown" }.errorCode == "NOT_REGISTERED")
            // Accepted or refused: it is bound, and the next connection ends it.
            _ = try await client.frame("the first answer") { $0.requestID == "m" }
        }
        // Behind all of them, in the same stream.
        let last = alice.moved(to: try await Cluster.client(gateway: 1, from: "127.0.2.30"))
        _ = try await last.send(last.message(to: bob.id))
        let after = try #require(Int(try await Cluster.database("SELECT count(*) FROM router.ledger")))
        let allowed = 12 + Int((ContinuousClock.now - start).components.seconds + 1) / 5
        #expect(after - before >= 12)
        #expect(after - before <= allowed)
    }

    @Test func anAddressMayBeWrongSixTimesAMinute() async throws {
        let address = "127.0.2.50"
        let honest = try await Person().logIn(on: try await Cluster.client(gateway: 1, from: address))
        let start = ContinuousClock.now
        var codes: [String: Int] = [:]
        // At whichever gateway.
        for gateway in [1, 2] {
            let client = try await Cluster.client(gateway: gateway, from: address)
            let frames = (0..<15).map { number in
                TestClient.text(
                    "fetch_pending",
                    Person.versions.with([
                        "sessionToken": String(repeating: "\(gateway)", count: 40) + "\(100 + number)"
                    ]),
                    requestID: "\(number)")
            }
            client.send(texts: frames)
            for number in 0..<15 {
                let answer = try await client.frame("answer \(number)") { $0.requestID == "\(number)" }
                codes[answer.errorCode ?? "", default: 0] += 1
                if answer.errorCode == "RATE_LIMITED" {
                    #expect(try #require(answer.payload["retryAfterMs"]?.integer) > 0)
                }
            }
            let proof = Person().proof(of: .object(["challengeId": .string(newUUID()), "challenge": .string("")]))
            let refused = try await client.ask("register_proof", proof)
            #expect(["RATE_LIMITED", "AUTH_FAILED"].contains(refused.errorCode))
            codes[refused.errorCode ?? "", default: 0] += 1
        }
        let wrong = (codes["NOT_REGISTERED"] ?? 0) + (codes["AUTH_FAILED"] ?? 0)
        let allowed = 6 + Int((ContinuousClock.now - start).components.seconds + 1) / 10
        #expect((4...allowed).contains(wrong), "\(codes)")
        #expect(wrong + (codes["RATE_LIMITED"] ?? 0) == 32)
        // A client that has a connection is still served.
        try await honest.ask("fetch_pending").expecting("pending_messages")
    }
}
