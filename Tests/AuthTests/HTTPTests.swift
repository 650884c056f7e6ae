import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Foundation
import Hummingbird
import Logging
import Testing

@Suite(.serialized, .timeLimit(.minutes(20))) struct HTTPTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)

    @Test func keysAreShownToWhoeverHasASession() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let login = try await bench.login(self.alice)
            let path = "/users/\(self.bob.id())/keys"
            #expect(try await http.get(path, token: login.token).is(404, .notFound))
            _ = try await bench.login(self.bob)
            let answer = try await http.get(path, token: login.token)
            #expect(answer.status == 200)
            #expect(
                answer.text
                    == #"{"whisperId":"\#(self.bob.id())","encPublicKey":"\#(base64(self.bob.encPublicKey.bytes))","signPublicKey":"\#(base64(self.bob.signPublicKey.bytes))","status":"active"}"#
            )
            #expect(try await http.get("/users/WSP-nope/keys", token: login.token).is(400, .invalidPayload))
            try await bench.sql("UPDATE auth.identities SET is_banned = true WHERE whisper_id = \(self.bob.id().bits)")
            #expect(try await http.get(path, token: login.token).json["status"] as? String == "banned")
        }
    }

    @Test func withoutALiveSessionThereIsNothing() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let login = try await bench.login(self.alice)
            let path = "/users/\(self.alice.id())/keys"
            for header in [
                nil, "", "Bearer", "Bearer ", "Bearer x", "Basic \(login.token)", "Bearer \(login.token)=",
                "Bearer \(String(repeating: "A", count: 43))",
            ] {
                #expect(try await http.send(.get, path, authorization: header).is(401, .notRegistered))
            }
            #expect(try await http.send(.get, path, authorization: "bearer  \(login.token)").status == 200)
            // Replaced, and still in a cache that was not cleared in time.
            let cached = try #require(try await bench.bus.get(Keyspace.session(login.session.tokenHash)))
            let newer = try await bench.login(self.alice)
            try await bench.bus.set(Keyspace.session(login.session.tokenHash), to: cached, for: .seconds(60))
            for path in [path, "/backup/contacts"] {
                #expect(try await http.get(path, token: login.token).is(401, .notRegistered))
            }
            // Banned, and the cache does not know it.
            try await bench.sql("UPDATE auth.identities SET is_banned = true")
            for path in [path, "/backup/contacts"] {
                #expect(try await http.get(path, token: newer.token).is(403, .userBanned))
            }
            bench.bus.forgetEverything()
            #expect(try await http.get(path, token: newer.token).is(403, .userBanned))
            bench.wait(.seconds(7 * 86_400))
            #expect(try await http.get(path, token: newer.token).is(401, .notRegistered))
        }
    }

    @Test func whoeverAsksTooMuchIsToldWhenToComeBack() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let token = try await bench.login(self.alice).token
            for _ in 0..<20 { #expect(try await http.get("/backup/contacts", token: token).is(404, .notFound)) }
            // Each three seconds allow one more.
            var answer = try await http.get("/backup/contacts", token: token)
            for _ in 0..<20 where answer.status == 404 { answer = try await http.get("/backup/contacts", token: token) }
            #expect(answer.is(429, .rateLimited))
            #expect((1...3).contains(answer.headers[.retryAfter].flatMap { Int($0) } ?? 0))
            #expect(try await http.get("/users/\(self.alice.id())/keys", token: token).status == 200)
        }
    }

    @Test func withoutPostgresTheAnswerIs500() async throws {
        try await AuthBench.run(alone: true) { bench in
            let login = try await bench.login(self.alice)
            await bench.database.server.kill()
            let answer = try await HTTPBench(bench).get("/users/\(self.alice.id())/keys", token: login.token)
            #expect(answer.is(500, .internalError))
        }
    }

    @Test func aBackupIsWrittenReadAndRemoved() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let token = try await bench.login(self.alice).token
            #expect(try await http.get("/backup/contacts", token: token).is(404, .notFound))
            let put = try await http.put(Self.backup(1), token: token)
            #expect(put.status == 200 && put.text == #"{"success":true,"updatedAt":\#(bench.now.milliseconds)}"#)
            let got = try await http.get("/backup/contacts", token: token)
            #expect(got.status == 200 && got.headers[.eTag] == put.headers[.eTag])
            #expect(got.json["nonce"] as? String == base64([UInt8](repeating: 1, count: 24)))
            #expect(got.json["ciphertext"] as? String == base64([UInt8](repeating: 1, count: 100)))
            #expect(got.json["updatedAt"] as? Int64 == bench.now.milliseconds)
            for _ in 0..<2 {
                let removed = try await http.send(.delete, "/backup/contacts", authorization: "Bearer \(token)")
                #expect(removed.status == 200 && removed.text == #"{"success":true}"#)
            }
            #expect(try await http.get("/backup/contacts", token: token).is(404, .notFound))
        }
    }

    @Test func ofTwoWritersTheSecondLosesItsRace() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let token = try await bench.login(self.alice).token
            #expect(try await http.put(Self.backup(1), token: token, ifMatch: "*").is(412, .invalidPayload))
            let first = try await http.put(Self.backup(1), token: token).headers[.eTag]!
            let second = try await http.put(Self.backup(2), token: token, ifMatch: first)
            #expect(second.status == 200 && second.headers[.eTag] != first)
            #expect(try await http.put(Self.backup(3), token: token, ifMatch: first).is(412, .invalidPayload))
            #expect(try await http.put(Self.backup(3), token: token, ifMatch: "\"nonsense\"").is(412, .invalidPayload))
            #expect(try await http.get("/backup/contacts", token: token).headers[.eTag] == second.headers[.eTag])
            #expect(try await http.put(Self.backup(3), token: token, ifMatch: "*").status == 200)
        }
    }

    @Test func aBackupHasItsForm() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let token = try await bench.login(self.alice).token
            for body in [
                "", "{}", "[]", "\u{FEFF}", Self.backup(1).replacing("Version\":1", with: "Version\":2"),
                Self.backup(1).replacing("nonce", with: "once"), Self.backup(1, bytes: 0),
            ] {
                #expect(try await http.put(body, token: token).is(400, .invalidPayload))
            }
            try await bench.addRouter()
            try await self.makePeers(bench)
            #expect(try await http.put(Self.backup(1, bytes: 1_048_576), token: token).status == 200)
            #expect(try await http.put(Self.backup(1, bytes: 1_048_577), token: token).is(413, .invalidPayload))
            #expect(try await http.put(Self.backup(1, bytes: 2_000_000), token: token).is(413, .invalidPayload))
            #expect(try await http.put(Self.backup(1), token: "x").is(401, .notRegistered))
        }
    }

    /// Makes alice and bob peers. Peers count for a month after their last exchange.
    private func makePeers(_ bench: AuthBench, daysAgo: Int = 0) async throws {
        let (alice, bob) = (self.alice.id().bits, self.bob.id().bits)
        try await bench.sql(
            """
            DELETE FROM router.peers;
            INSERT INTO router.peers SELECT identity, peer, now() - interval '\(daysAgo) days'
            FROM (VALUES (\(alice), \(bob)), (\(bob), \(alice))) AS p (identity, peer)
            """)
    }

    /// So a client that makes many identities cannot store much.
    @Test func anIdentityWithoutPeersKeepsASmallBackup() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let http = HTTPBench(bench)
            let token = try await bench.login(self.alice).token
            #expect(try await http.put(Self.backup(1, bytes: 65_537), token: token).is(413, .invalidPayload))
            #expect(try await http.get("/backup/contacts", token: token).is(404, .notFound))
            #expect(try await http.put(Self.backup(1, bytes: 65_536), token: token).status == 200)
            // An identity whose messages were not answered has no peer.
            try await bench.sql(
                "INSERT INTO router.peers VALUES (\(self.alice.id().bits), \(self.bob.id().bits), now())")
            #expect(try await http.put(Self.backup(2, bytes: 65_537), token: token).is(413, .invalidPayload))
            try await self.makePeers(bench)
            let etag = try #require(try await http.put(Self.backup(2, bytes: 200_000), token: token).headers[.eTag])
            #expect(
                try await http.put(Self.backup(3, bytes: 200_000), token: token, ifMatch: "\"1\"").is(
                    412, .invalidPayload))
            // A backup from the time with peers can be read, and replaced by a small one.
            try await self.makePeers(bench, daysAgo: 31)
            #expect(
                try await http.put(Self.backup(3, bytes: 200_000), token: token, ifMatch: etag).is(413, .invalidPayload)
            )
            let kept = try await http.get("/backup/contacts", token: token)
            #expect(kept.json["ciphertext"] as? String == base64([UInt8](repeating: 2, count: 200_000)))
            #expect(try await http.put(Self.backup(3), token: token, ifMatch: etag).status == 200)
        }
    }

    /// Nothing is known about its peers then: neither allowed nor refused for good.
    @Test func aLargeBackupWaitsForTheRoutersTables() async throws {
        try await AuthBench.run { bench in
            let token = try await bench.login(self.alice).token
            #expect(try await HTTPBench(bench).put(Self.backup(1, bytes: 65_537), token: token).is(500, .internalError))
        }
    }

    private static func backup(_ byte: UInt8, bytes: Int = 100) -> String {
        #"{"nonce":"\#(base64([UInt8](repeating: byte, count: 24)))","ciphertext":"\#(base64([UInt8](repeating: byte, count: bytes)))","cryptoVersion":1,"protocolVersion":1}"#
    }
}
