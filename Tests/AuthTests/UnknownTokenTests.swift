import AuthCore
import AuthTestKit
import Bus
import Contract
import Foundation
import HTTPAccess
import Hummingbird
import Testing

/// Tokens that are nobody's, over HTTP (contract §13a): 60 a minute for each address.
@Suite(.serialized, .timeLimit(.minutes(20))) struct UnknownTokenTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)

    private func get(
        _ http: HTTPBench, token: String, from address: String
    ) async throws -> HTTPBench.Answer {
        var headers = HTTPFields()
        headers[.init("X-Forwarded-For")!] = address
        return try await http.send(
            .get, "/users/\(self.alice.id())/keys", authorization: "Bearer \(token)", headers: headers)
    }

    private func badToken() -> String { UUIDText.random().description.replacing("-", with: "") + "AAAAAAAAAAA" }

    @Test func anAddressWithTooManyHears429BeforeAnythingIsLookedUp() async throws {
        try await AuthBench.run(alone: true) { bench in
            // Time stands still, so that no use comes back, however long the requests take.
            let start = ContinuousClock.now
            let http = HTTPBench(bench) { start }
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let (stranger, other) = ("203.0.113.7", "203.0.113.8")
            // A neighbour of the stranger, seen before.
            #expect(try await self.get(http, token: alice.token, from: stranger).status == 200)
            for _ in 0..<60 {
                #expect(try await self.get(http, token: self.badToken(), from: stranger).is(401, .notRegistered))
            }
            var answer = try await self.get(http, token: self.badToken(), from: stranger)
            #expect(answer.is(429, .rateLimited))
            // One more is due each second.
            #expect(answer.headers[.retryAfter] == "1")
            #expect(
                try await self.get(http, token: alice.token, from: stranger).status == 200,
                "a token that was seen passes")
            #expect(
                try await self.get(http, token: bob.token, from: other).status == 200, "so does everybody elsewhere")
            // Nothing is looked up: neither store nor cache is there to ask.
            await bench.database.server.kill()
            bench.bus.forgetEverything()
            answer = try await self.get(http, token: self.badToken(), from: stranger)
            #expect(answer.is(429, .rateLimited))
            #expect(try await self.get(http, token: self.badToken(), from: other).is(500, .internalError))
        }
    }

    /// Thousands at once do not pass before the first of them is answered.
    @Test func manyAtOnceAreFew() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<500 {
                    group.addTask {
                        try await self.get(http, token: self.badToken(), from: "2001:db8::\(Int.random(in: 1...999))")
                            .status
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            // A minute's worth, and one for each second that this takes. All are of one /64.
            #expect((60...75).contains(statuses[401] ?? 0), "\(statuses)")
            #expect(statuses[429] == 500 - (statuses[401] ?? 0))
        }
    }

    /// Unknown tokens that one process has seen count at the others.
    @Test func processesCountTogether() async throws {
        try await AuthBench.run { bench in
            let (one, two) = (HTTPBench(bench), HTTPBench(bench))
            for _ in 0..<60 { _ = try await self.get(one, token: self.badToken(), from: "203.0.113.7") }
            var statuses: [Int] = []
            for _ in 0..<30 {
                statuses.append(try await self.get(two, token: self.badToken(), from: "203.0.113.7").status)
            }
            #expect(statuses.count { $0 == 401 } < 15, "\(statuses)")
            #expect(statuses.last == 429)
        }
    }

    /// Tokens that are somebody's cost an address nothing.
    @Test func goodTokensAreNotCounted() async throws {
        try await AuthBench.run { bench in
            for seed in UInt8(1)...20 {
                let login = try await bench.login(TestIdentity(seed))
                for _ in 0..<5 {
                    // A process that has not seen it before, each time.
                    #expect(try await self.get(HTTPBench(bench), token: login.token, from: "203.0.113.7").status == 200)
                }
            }
            let http = HTTPBench(bench)
            #expect(try await self.get(http, token: self.badToken(), from: "203.0.113.7").is(401, .notRegistered))
        }
    }
}
