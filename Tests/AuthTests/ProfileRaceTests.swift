import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Store
import Testing

/// Devices of one person that do something at the same moment (contract §14.4), against a real Postgres.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ProfileRaceTests {
    /// Often enough to meet in every place where two can meet.
    private static let rounds = 60
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)
    private let profile = UUIDText.random()

    /// Asks much in little time.
    private func http(_ bench: AuthBench) -> HTTPBench { HTTPBench(bench, rates: RateTable(scale: 1_000)) }

    private func logins(_ count: UInt8, _ bench: AuthBench) async throws -> [AuthBench.Login] {
        var logins: [AuthBench.Login] = []
        for seed in 1...count { logins.append(try await bench.login(TestIdentity(seed))) }
        return logins
    }

    private func statuses(_ answers: HTTPBench.Answer...) -> [Int] { answers.map(\.status).sorted() }

    // MARK: Documents

    @Test func ofTwoWritersAtOnceOneLosesTheRace() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(profile, by: alice)
            _ = try await http.join(profile, by: bob)
            for round in 0..<Self.rounds {
                // The first round makes the document.
                let version = round == 0 ? nil : Int64(round)
                async let one = http.write(
                    HTTPBench.document(1, bytes: 100 + round), of: profile, over: version, by: alice)
                async let other = http.write(
                    HTTPBench.document(2, bytes: 100 + round), of: profile, over: version, by: bob)
                let (mine, theirs) = (try await one, try await other)
                #expect(self.statuses(mine, theirs) == [200, 412])
                #expect((mine.status == 200 ? mine : theirs).version == Int64(round + 1))
                let kept = try await http.document(of: profile, by: alice)
                #expect(kept.version == Int64(round + 1))
                let document = HTTPBench.document(mine.status == 200 ? 1 : 2, bytes: 100 + round)
                #expect(document.contains(kept.json["ciphertext"] as? String ?? "?"))
            }
        }
    }

    @Test func ofTwoFirstWritersOneLosesTheRace() async throws {
        try await AuthBench.run { bench in
            let http = self.http(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            for _ in 0..<Self.rounds {
                let profile = UUIDText.random()
                _ = try await http.putProfile(profile, by: alice)
                _ = try await http.join(profile, by: bob)
                async let one = http.write(HTTPBench.document(1), of: profile, over: nil, by: alice)
                async let other = http.write(HTTPBench.document(2), of: profile, over: nil, by: bob)
                #expect(self.statuses(try await one, try await other) == [200, 412])
                #expect(try await http.document(of: profile, by: alice).version == 1)
                for login in [alice, bob] { _ = try await http.remove(login, from: profile, by: login) }
            }
        }
    }

    /// All documents at once, by all: nobody waits for ever, and each version is given once.
    @Test func versionsHaveNoGaps() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let logins = try await self.logins(4, bench)
            _ = try await http.putProfile(profile, by: logins[0])
            for login in logins.dropFirst() { _ = try await http.join(profile, by: login) }
            let written = try await withThrowingTaskGroup(of: [String: [Int64]].self) { group in
                for login in logins {
                    group.addTask {
                        var written: [String: [Int64]] = [:]
                        for round in 0..<Self.rounds {
                            let name = ProfileDocumentName.allCases[round % ProfileDocumentName.allCases.count].rawValue
                            let known = try await http.document(name, of: profile, by: login).version
                            let answer = try await http.write(
                                HTTPBench.document(1), as: name, of: profile, over: known, by: login)
                            #expect([200, 412].contains(answer.status))
                            if let version = answer.version { written[name, default: []].append(version) }
                        }
                        return written
                    }
                }
                return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
            }
            for name in ProfileDocumentName.allCases.map(\.rawValue) {
                let version = try #require(try await http.document(name, of: profile, by: logins[0]).version)
                #expect(written[name]?.sorted() == Array(1...version), "\(name)")
            }
        }
    }

    // MARK: Coming and going

    @Test func ofTwoForTheLastSeatOneIsRefused() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let logins = try await self.logins(9, bench)
            _ = try await http.putProfile(profile, by: logins[0])
            for login in logins[1..<7] { _ = try await http.join(profile, by: login) }
            for _ in 0..<Self.rounds {
                async let one = http.join(profile, by: logins[7])
                async let other = http.join(profile, by: logins[8])
                let (mine, theirs) = (try await one, try await other)
                #expect(self.statuses(mine, theirs) == [200, 403])
                #expect(try await http.profile(profile, by: logins[0]).members.count == 8)
                let winner = mine.status == 200 ? logins[7] : logins[8]
                _ = try await http.remove(winner, from: profile, by: logins[0])
            }
        }
    }

    /// Joined and made: both count.
    @Test func ofTwoForTheLastProfileOfAnIdentityOneIsRefused() async throws {
        try await AuthBench.run { bench in
            let http = self.http(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            for _ in 0..<7 { _ = try await http.putProfile(.random(), by: alice) }
            _ = try await http.putProfile(self.profile, by: bob)
            for round in 0..<Self.rounds {
                let (joined, made, another) = (self.profile, UUIDText.random(), UUIDText.random())
                async let one = http.putProfile(made, by: alice)
                async let other =
                    round % 2 == 0 ? http.join(joined, by: alice) : http.putProfile(another, by: alice)
                #expect(self.statuses(try await one, try await other) == [200, 403])
                for profile in [joined, made, another] { _ = try await http.remove(alice, from: profile, by: alice) }
            }
        }
    }

    @Test func ofTwoWhoMakeTheSameProfileOneIsRefused() async throws {
        try await AuthBench.run { bench in
            let http = self.http(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            for _ in 0..<Self.rounds {
                let profile = UUIDText.random()
                async let one = http.putProfile(profile, by: alice)
                async let other = http.putProfile(profile, by: bob)
                let (mine, theirs) = (try await one, try await other)
                #expect(self.statuses(mine, theirs) == [200, 403])
                let winner = mine.status == 200 ? alice : bob
                #expect(try await http.profile(profile, by: winner).members == ["\(winner.id)"])
                _ = try await http.remove(winner, from: profile, by: winner)
            }
        }
    }

    /// A removed member removes nobody: one of the two stays.
    @Test func ofTwoWhoRemoveEachOtherOneStays() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(profile, by: alice)
            _ = try await http.join(profile, by: bob)
            for _ in 0..<Self.rounds {
                async let one = http.remove(bob, from: profile, by: alice)
                async let other = http.remove(alice, from: profile, by: bob)
                let (mine, theirs) = (try await one, try await other)
                #expect(self.statuses(mine, theirs) == [200, 404])
                let (winner, loser) = mine.status == 200 ? (alice, bob) : (bob, alice)
                #expect(try await http.profile(profile, by: winner).members == ["\(winner.id)"])
                #expect(try await http.join(profile, by: loser).members.count == 2)
            }
        }
    }

    @Test func whoeverLeavesAndWritesAtOnceDoesOneAfterTheOther() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(profile, by: alice)
            _ = try await http.write(HTTPBench.document(1), of: profile, over: nil, by: alice)
            var version: Int64 = 1
            for _ in 0..<Self.rounds {
                let before = version
                _ = try await http.join(profile, by: bob)
                async let one = http.remove(bob, from: profile, by: alice)
                async let other = http.write(HTTPBench.document(2), of: profile, over: before, by: bob)
                let (removed, written) = (try await one, try await other)
                #expect(removed.status == 200)
                #expect([200, 404].contains(written.status))
                if written.status == 200 { version += 1 }
                #expect(try await http.document(of: profile, by: alice).version == version)
                #expect(
                    try await http.write(HTTPBench.document(3), of: profile, over: version, by: bob).is(404, .notFound))
            }
        }
    }

    /// Nothing is left of a profile, whoever wrote last.
    @Test func theLastMemberLeavesAndWritesAtOnce() async throws {
        try await AuthBench.run { bench in
            let http = self.http(bench)
            let alice = try await bench.login(self.alice)
            for round in 0..<Self.rounds {
                let profile = UUIDText.random()
                _ = try await http.putProfile(profile, by: alice)
                let version: Int64? = round % 2 == 0 ? nil : 1
                if version != nil { _ = try await http.write(HTTPBench.document(1), of: profile, over: nil, by: alice) }
                async let one = http.remove(alice, from: profile, by: alice)
                async let other = http.write(HTTPBench.document(2), of: profile, over: version, by: alice)
                #expect(try await one.status == 200)
                #expect([200, 404].contains(try await other.status))
                #expect(try await http.profile(profile, by: alice).is(404, .notFound))
            }
            for table in ["profiles", "profile_members", "profile_documents"] {
                #expect(try await bench.sql("SELECT count(*) FROM auth.\(table)") == "0", "\(table)")
            }
        }
    }

    /// Either the newcomer keeps the profile alive, or it finds none.
    @Test func somebodyJoinsWhileTheLastOneLeaves() async throws {
        try await AuthBench.run { bench in
            let http = self.http(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            for _ in 0..<Self.rounds {
                let profile = UUIDText.random()
                _ = try await http.putProfile(profile, by: alice)
                async let one = http.remove(alice, from: profile, by: alice)
                async let other = http.join(profile, by: bob)
                let (left, joined) = (try await one, try await other)
                #expect(left.status == 200)
                #expect([200, 403].contains(joined.status))
                let found = try await http.profile(profile, by: bob)
                #expect(joined.status == 200 ? found.members == ["\(bob.id)"] : found.is(404, .notFound))
                if joined.status == 200 { _ = try await http.remove(bob, from: profile, by: bob) }
            }
        }
    }

    /// A request whose answer was lost is sent again, perhaps while the first is still under way.
    @Test func theSameRequestTwiceAtOnceIsDoneOnce() async throws {
        try await AuthBench.run { bench in
            let http = self.http(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            for _ in 0..<Self.rounds {
                let profile = UUIDText.random()
                async let made = http.putProfile(profile, by: alice)
                async let madeAgain = http.putProfile(profile, by: alice)
                let answers = [try await made, try await madeAgain]
                #expect(answers.allSatisfy { $0.status == 200 } && answers[0].text == answers[1].text)
                async let joined = http.join(profile, by: bob)
                async let joinedAgain = http.join(profile, by: bob)
                let joins = [try await joined, try await joinedAgain]
                #expect(joins.allSatisfy { $0.status == 200 } && joins[0].text == joins[1].text)
                async let gone = http.remove(bob, from: profile, by: bob)
                async let goneAgain = http.remove(bob, from: profile, by: bob)
                #expect(self.statuses(try await gone, try await goneAgain) == [200, 200])
                #expect(try await http.profile(profile, by: alice).members == ["\(alice.id)"])
                async let last = http.remove(alice, from: profile, by: alice)
                async let lastAgain = http.remove(alice, from: profile, by: alice)
                #expect(self.statuses(try await last, try await lastAgain) == [200, 200])
            }
        }
    }

    // MARK: One after the other, in the worst order

    private func removal(of login: AuthBench.Login) -> [SQL] {
        [
            "SELECT FROM auth.profiles WHERE profile_id = \(PostgresUUID(self.profile)) FOR UPDATE",
            "DELETE FROM auth.profile_members WHERE whisper_id = \(login.id)",
        ]
    }

    /// Each has found the caller to be a member, and waits for the one who takes it out.
    @Test func whoeverIsRemovedWhileItWaitsDoesNothing() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(profile, by: alice)
            _ = try await http.write(HTTPBench.document(1), of: profile, over: nil, by: alice)
            let actions: [@Sendable () async throws -> HTTPBench.Answer] = [
                { try await http.write(HTTPBench.document(2), of: profile, over: 1, by: bob) },
                { try await http.write(HTTPBench.document(2), as: "user", of: profile, over: nil, by: bob) },
                { try await http.remove(alice, from: profile, by: bob) },
            ]
            for action in actions {
                _ = try await http.join(profile, by: bob)
                let answer = try await bench.collide(with: self.removal(of: bob), action)
                #expect(answer.is(404, .notFound))
                #expect(try await http.profile(profile, by: alice).members == ["\(alice.id)"])
                #expect(try await http.document(of: profile, by: alice).version == 1)
            }
            _ = try await http.join(profile, by: bob)
            let put = try await bench.collide(with: self.removal(of: bob)) {
                try await http.putProfile(profile, key: 2, by: bob)
            }
            #expect(put.is(403, .forbidden))
            #expect(try await http.join(profile, key: 1, by: bob).status == 200)
        }
    }

    /// The key is exchanged when the old one has been found to be good.
    @Test func whoeverJoinsWithAKeyThatIsExchangedMeanwhileIsRefused() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(profile, by: alice)
            let answer = try await bench.collide(with: [
                "UPDATE auth.profiles SET join_hash = sha256('another') WHERE profile_id = \(PostgresUUID(profile))"
            ]) { try await http.join(profile, by: bob) }
            #expect(answer.is(403, .forbidden))
            #expect(try await http.profile(profile, by: alice).members == ["\(alice.id)"])
        }
    }

    /// A newer login commits when the older session has been found to be live, and has done nothing yet.
    @Test func whoeverMeetsANewerLoginDoesNothing() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(profile, by: alice)
            _ = try await http.write(HTTPBench.document(1), of: profile, over: nil, by: alice)
            let other = UUIDText.random()
            _ = try await http.putProfile(other, by: bob)
            let actions: [@Sendable () async throws -> HTTPBench.Answer] = [
                { try await http.write(HTTPBench.document(2), of: profile, over: 1, by: alice) },
                { try await http.remove(alice, from: profile, by: alice) },
                { try await http.putProfile(profile, key: 2, by: alice) },
                { try await http.join(other, by: alice) },
            ]
            for action in actions {
                let answer = try await bench.collide(
                    with: ["UPDATE auth.identities SET epoch = epoch + 1 WHERE whisper_id = \(alice.id)"], action)
                #expect(answer.is(401, .notRegistered))
                _ = try await bench.pool.execute(
                    "UPDATE auth.identities SET epoch = epoch - 1 WHERE whisper_id = \(alice.id)")
            }
            #expect(try await http.document(of: profile, by: alice).version == 1)
            #expect(try await http.profile(other, by: bob).members == ["\(bob.id)"])
        }
    }

    /// The last one's going deletes what is written just before it.
    @Test func theProfileIsMadeAnewWhileItGoes() async throws {
        try await AuthBench.run { bench in
            let (http, profile) = (self.http(bench), self.profile)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(profile, by: alice)
            let made = try await bench.collide(with: [
                "DELETE FROM auth.profiles WHERE profile_id = \(PostgresUUID(profile))"
            ]) { try await http.putProfile(profile, by: bob) }
            #expect(made.members == ["\(bob.id)"])
        }
    }
}
