import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Hummingbird
import Store
import Testing

/// Contract §14.4, against a real Postgres.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ProfileTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)
    let carol = TestIdentity(3)
    let profile = UUIDText.random()

    // MARK: Members

    @Test func aProfileIsMadeAndJoined() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let first = #"{"whisperId":"\#(alice.id)","joinedAt":\#(bench.now.milliseconds)}"#
            for _ in 0..<2 {
                let made = try await http.putProfile(self.profile, by: alice)
                #expect(made.status == 200 && made.text == #"{"profileId":"\#(self.profile)","members":[\#(first)]}"#)
            }
            bench.wait(.seconds(5))
            let second = #"{"whisperId":"\#(bob.id)","joinedAt":\#(bench.now.milliseconds)}"#
            for _ in 0..<2 {
                let joined = try await http.join(self.profile, by: bob)
                #expect(joined.status == 200)
                #expect(joined.text == #"{"profileId":"\#(self.profile)","members":[\#(first),\#(second)]}"#)
                bench.wait(.seconds(1))
            }
            for login in [alice, bob] {
                #expect(
                    try await http.profile(self.profile, by: login).text
                        == #"{"profileId":"\#(self.profile)","members":[\#(first),\#(second)],"documents":[]}"#)
            }
        }
    }

    @Test func whoeverIsNoMemberFindsNothing() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.write(HTTPBench.document(1), of: self.profile, over: nil, by: alice)
            let others = try await http.everything(about: self.profile, member: alice, by: bob)
            let none = try await http.everything(about: .random(), member: alice, by: bob)
            for answer in others { #expect(answer.is(404, .notFound)) }
            // It is said in the same words.
            #expect(others.map(\.text) == none.map(\.text))
            #expect(try await http.putProfile(self.profile, by: bob).is(403, .forbidden))
            let wrongKey = try await http.join(self.profile, key: 2, by: bob)
            #expect(wrongKey.is(403, .forbidden))
            #expect(wrongKey.text == (try await http.join(.random(), key: 2, by: bob)).text)
            #expect(try await http.profile(self.profile, by: alice).members == ["\(alice.id)"])
            #expect(try await http.document(of: self.profile, by: alice).version == 1)
        }
    }

    @Test func aMemberExchangesTheKey() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let carol = try await bench.login(self.carol)
            _ = try await http.putProfile(self.profile, by: alice)
            bench.wait(.seconds(1))
            #expect(try await http.join(self.profile, by: bob).status == 200)
            #expect(try await http.putProfile(self.profile, key: 2, by: bob).members == ["\(alice.id)", "\(bob.id)"])
            #expect(try await http.join(self.profile, key: 1, by: carol).is(403, .forbidden))
            // A member that shows a wrong key is no exception.
            #expect(try await http.join(self.profile, key: 1, by: alice).is(403, .forbidden))
            #expect(try await http.join(self.profile, key: 2, by: carol).members.count == 3)
        }
    }

    @Test func whoeverIsTakenOutDoesNothingMore() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.join(self.profile, by: bob)
            // Any member may do it, and again.
            for _ in 0..<2 {
                let removed = try await http.remove(alice, from: self.profile, by: bob)
                #expect(removed.status == 200 && removed.text == #"{"success":true}"#)
            }
            for answer in try await http.everything(about: self.profile, member: bob, by: alice) {
                #expect(answer.is(404, .notFound))
            }
            #expect(try await http.putProfile(self.profile, key: 2, by: alice).is(403, .forbidden))
            #expect(try await http.profile(self.profile, by: bob).members == ["\(bob.id)"])
            // It knows the key, and comes back unless that is exchanged.
            #expect(try await http.join(self.profile, by: alice).members == ["\(bob.id)", "\(alice.id)"])
        }
    }

    @Test func theProfileGoesWithItsLastMember() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.join(self.profile, by: bob)
            for name in ProfileDocumentName.allCases {
                let written = try await http.write(
                    HTTPBench.document(1), as: name.rawValue, of: self.profile, over: nil, by: alice)
                #expect(written.status == 200)
            }
            #expect(try await http.remove(bob, from: self.profile, by: bob).status == 200)
            #expect(try await http.document(of: self.profile, by: alice).status == 200)
            // A member that has left may repeat the request.
            for _ in 0..<2 { #expect(try await http.remove(alice, from: self.profile, by: alice).status == 200) }
            #expect(try await http.remove(alice, from: self.profile, by: bob).is(404, .notFound))
            for table in ["profiles", "profile_members", "profile_documents"] {
                #expect(try await bench.sql("SELECT count(*) FROM auth.\(table)") == "0", "\(table)")
            }
            // The id is free, and nothing is left of what was.
            #expect(try await http.join(self.profile, by: alice).is(403, .forbidden))
            #expect(try await http.putProfile(self.profile, by: bob).members == ["\(bob.id)"])
            #expect(try await http.document(of: self.profile, by: bob).is(404, .notFound))
            #expect(
                try await http.write(HTTPBench.document(1), of: self.profile, over: nil, by: bob).version == 1)
        }
    }

    /// Each share may have some of them.
    @Test func liveConversationsHearThatSomebodyHasLeft() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            func told() async throws -> [Int] {
                try await bench.bus.depth(of: LiveShare.all.map { Keyspace.live($0).name })
            }
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.join(self.profile, by: bob)
            #expect(try await told() == LiveShare.all.map { _ in 0 })
            #expect(try await http.remove(bob, from: self.profile, by: alice).status == 200)
            #expect(try await told() == LiveShare.all.map { _ in 1 })
            _ = try await http.remove(bob, from: self.profile, by: alice)
            #expect(try await told() == LiveShare.all.map { _ in 1 }, "nobody was there to be taken out")
            #expect(try await http.remove(alice, from: self.profile, by: alice).status == 200)
            #expect(try await told() == LiveShare.all.map { _ in 2 })
        }
    }

    @Test func aProfileHasEightMembers() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            var logins: [AuthBench.Login] = []
            for seed in UInt8(1)...9 { logins.append(try await bench.login(TestIdentity(seed))) }
            _ = try await http.putProfile(self.profile, by: logins[0])
            for login in logins[1..<8] { #expect(try await http.join(self.profile, by: login).status == 200) }
            #expect(try await http.join(self.profile, by: logins[8]).is(403, .forbidden))
            // A member again is no ninth.
            #expect(try await http.join(self.profile, by: logins[7]).members.count == 8)
            #expect(try await http.remove(logins[3], from: self.profile, by: logins[0]).status == 200)
            #expect(try await http.join(self.profile, by: logins[8]).members.count == 8)
        }
    }

    @Test func anIdentityIsInEightProfiles() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let profiles = (0..<8).map { _ in UUIDText.random() }
            for profile in profiles.prefix(4) { #expect(try await http.putProfile(profile, by: alice).status == 200) }
            for profile in profiles.suffix(4) {
                _ = try await http.putProfile(profile, by: bob)
                #expect(try await http.join(profile, by: alice).status == 200)
            }
            _ = try await http.putProfile(self.profile, by: bob)
            #expect(try await http.join(self.profile, by: alice).is(403, .forbidden))
            #expect(try await http.putProfile(.random(), by: alice).is(403, .forbidden))
            // It may repeat requests for a profile that it is in.
            #expect(try await http.putProfile(profiles[0], key: 2, by: alice).status == 200)
            #expect(try await http.join(profiles[7], by: alice).status == 200)
            #expect(try await http.remove(alice, from: profiles[0], by: alice).status == 200)
            #expect(try await http.join(self.profile, by: alice).status == 200)
        }
    }

    // MARK: Documents

    @Test func aDocumentIsWrittenAndRead() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.join(self.profile, by: bob)
            #expect(try await http.document(of: self.profile, by: alice).is(404, .notFound))
            for version in Int64(1)...5 {
                let writer = version % 2 == 0 ? alice : bob
                let document = HTTPBench.document(UInt8(version), bytes: 17 + Int(version))
                let written = try await http.write(
                    document, of: self.profile, over: version == 1 ? nil : version - 1, by: writer)
                #expect(written.status == 200 && written.headers[.eTag] == "\"\(version)\"")
                #expect(
                    written.text
                        == #"{"success":true,"version":\#(version),"updatedAt":\#(bench.now.milliseconds)}"#)
                for login in [alice, bob] {
                    let read = try await http.document(of: self.profile, by: login)
                    #expect(read.status == 200 && read.headers[.eTag] == "\"\(version)\"" && read.version == version)
                    #expect(read.json["updatedAt"] as? Int64 == bench.now.milliseconds)
                    #expect(document.contains(#""nonce":"\#(read.json["nonce"] as? String ?? "?")""#))
                    #expect(document.contains(#""ciphertext":"\#(read.json["ciphertext"] as? String ?? "?")""#))
                    #expect(read.json.count == 4)
                }
                bench.wait(.seconds(1))
            }
            _ = try await http.write(HTTPBench.document(1), as: "user", of: self.profile, over: nil, by: bob)
            let listed = try await http.profile(self.profile, by: alice).text
            #expect(
                listed.hasSuffix(
                    #""documents":[{"name":"user","version":1,"updatedAt":\#(bench.now.milliseconds),"sizeBytes":100},"#
                        + #"{"name":"whisper","version":5,"updatedAt":\#(bench.now.milliseconds - 1_000),"sizeBytes":22}]}"#
                ))
        }
    }

    @Test func whatIsKnownIsNotSentAgain() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let alice = try await bench.login(self.alice)
            _ = try await http.putProfile(self.profile, by: alice)
            #expect(try await http.document(of: self.profile, unless: "*", by: alice).is(404, .notFound))
            _ = try await http.write(HTTPBench.document(1), of: self.profile, over: nil, by: alice)
            _ = try await http.write(HTTPBench.document(2), of: self.profile, over: 1, by: alice)
            for tag in ["\"2\"", "W/\"2\"", "\"1\", \"2\"", "*"] {
                let answer = try await http.document(of: self.profile, unless: tag, by: alice)
                #expect(answer.status == 304 && answer.text.isEmpty && answer.headers[.eTag] == "\"2\"", "\(tag)")
            }
            for tag in ["\"1\"", "\"3\"", "2", "nonsense"] {
                #expect(try await http.document(of: self.profile, unless: tag, by: alice).version == 2, "\(tag)")
            }
            #expect(try await http.document(of: self.profile, unless: "", by: alice).is(400, .invalidPayload))
        }
    }

    @Test func whoeverHasNotSeenTheLatestLosesTheRace() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let alice = try await bench.login(self.alice)
            _ = try await http.putProfile(self.profile, by: alice)
            let lost: [HTTPFields] = [[.ifMatch: "\"1\""], [.ifMatch: "nonsense"]]
            for headers in lost {
                let answer = try await http.write(HTTPBench.document(1), of: self.profile, headers, by: alice)
                #expect(answer.is(412, .invalidPayload))
            }
            _ = try await http.write(HTTPBench.document(1), of: self.profile, over: nil, by: alice)
            _ = try await http.write(HTTPBench.document(2), of: self.profile, over: 1, by: alice)
            for headers in [[.ifNoneMatch: "*"], [.ifMatch: "W/\"2\""], [.ifMatch: "\"3\""]] + lost {
                let answer = try await http.write(HTTPBench.document(3), of: self.profile, headers, by: alice)
                #expect(answer.is(412, .invalidPayload), "\(headers)")
            }
            #expect(try await http.document(of: self.profile, by: alice).version == 2)
            // Other documents have their own versions.
            #expect(
                try await http.write(HTTPBench.document(3), as: "listen", of: self.profile, over: nil, by: alice)
                    .version == 1)
        }
    }

    @Test func aDocumentIsNeverWrittenUnseen() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let alice = try await bench.login(self.alice)
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.write(HTTPBench.document(1), of: self.profile, over: nil, by: alice)
            let wrong: [HTTPFields] = [
                [:], [.ifMatch: "*"], [.ifNoneMatch: "\"1\""], [.ifMatch: "\"1\"", .ifNoneMatch: "*"],
                [.ifMatch: ""], [.ifMatch: String(repeating: "\"1\",", count: 300)],
            ]
            for headers in wrong {
                let answer = try await http.write(HTTPBench.document(2), of: self.profile, headers, by: alice)
                #expect(answer.is(400, .invalidPayload), "\(headers)")
            }
            #expect(try await http.document(of: self.profile, by: alice).version == 1)
        }
    }

    @Test func aDocumentHoldsAQuarterOfAMebibyte() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let alice = try await bench.login(self.alice)
            _ = try await http.putProfile(self.profile, by: alice)
            for bytes in [262_145, 1_000_000] {
                let answer = try await http.write(
                    HTTPBench.document(1, bytes: bytes), of: self.profile, over: nil, by: alice)
                #expect(answer.is(413, .invalidPayload), "\(bytes)")
            }
            // So much is for those who have a peer.
            try await bench.addRouter()
            let (one, other) = (self.alice.id().bits, self.bob.id().bits)
            try await bench.sql("INSERT INTO router.peers VALUES (\(one), \(other), now()), (\(other), \(one), now())")
            let largest = HTTPBench.document(1, bytes: 262_144)
            #expect(try await http.write(largest, of: self.profile, over: nil, by: alice).status == 200)
            let read = try await http.document(of: self.profile, by: alice)
            #expect(largest.contains(read.json["ciphertext"] as? String ?? "?"))
            #expect(try await http.profile(self.profile, by: alice).text.contains(#""sizeBytes":262144"#))
        }
    }

    // MARK: What is refused

    @Test func everythingHasItsForm() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench, rates: RateTable(scale: 10))
            let alice = try await bench.login(self.alice)
            _ = try await http.putProfile(self.profile, by: alice)
            let capitals = "5B0C7A5E-2F0D-4F6B-8D55-0C4B7D1F2A61"
            for id in [capitals, "x", String(self.profile.description.dropLast()), "\(self.profile)0"] {
                for (method, path) in [
                    (.put, ""), (.get, ""), (.post, "/members"), (.delete, "/members/\(alice.id)"),
                    (.put, "/documents/user"), (.get, "/documents/user"),
                ] as [(HTTPRequest.Method, String)] {
                    let answer = try await http.ask(method, "/profiles/\(id)\(path)", by: alice)
                    #expect(answer.is(400, .invalidPayload), "\(method) \(id)\(path)")
                }
            }
            for name in ["User", "users", "contacts"] {
                #expect(try await http.document(name, of: self.profile, by: alice).is(400, .invalidPayload))
                let answer = try await http.write(
                    HTTPBench.document(1), as: name, of: self.profile, over: nil, by: alice)
                #expect(answer.is(400, .invalidPayload))
            }
            #expect(
                try await http.ask(.delete, "/profiles/\(self.profile)/members/WSP-nope", by: alice).is(
                    400, .invalidPayload))
            let good = HTTPBench.document(1)
            for body in [
                "", "{}", good.replacing("Version\":1", with: "Version\":2"), good.replacing("nonce", with: "once"),
                HTTPBench.document(1, bytes: 16),
                good.replacing(base64([UInt8](repeating: 1, count: 12)), with: "AQ=="),
            ] {
                let answer = try await http.write(body, of: self.profile, over: nil, by: alice)
                #expect(answer.is(400, .invalidPayload), "\(body)")
            }
            let short = base64([UInt8](repeating: 1, count: 31))
            for (method, path, field) in [
                (.put, "", "joinHash"), (.post, "/members", "joinKey"),
            ] as [(HTTPRequest.Method, String, String)] {
                for body in [
                    "", "{}", #"{"protocolVersion":1,"cryptoVersion":1,"\#(field)":"\#(short)"}"#,
                    #"{"\#(field)":"\#(base64(HTTPBench.joinKey(1)))"}"#, String(repeating: " ", count: 5_000),
                ] {
                    let answer = try await http.ask(method, "/profiles/\(self.profile)\(path)", by: alice, body: body)
                    #expect(answer.is(400, .invalidPayload), "\(method) \(body)")
                }
            }
        }
    }

    @Test func withoutALiveSessionThereIsNothing() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let old = try await bench.login(self.alice)
            _ = try await http.putProfile(self.profile, by: old)
            _ = try await http.write(HTTPBench.document(1), of: self.profile, over: nil, by: old)
            func all(_ login: AuthBench.Login) async throws -> [HTTPBench.Answer] {
                try await http.everything(about: self.profile, member: login, by: login) + [
                    try await http.putProfile(self.profile, key: 2, by: login),
                    try await http.join(self.profile, by: login), try await http.join(.random(), by: login),
                ]
            }
            // Replaced, and still in a cache that was not cleared in time.
            let cached = try #require(try await bench.bus.get(Keyspace.session(old.session.tokenHash)))
            let new = try await bench.login(self.alice)
            try await bench.bus.set(Keyspace.session(old.session.tokenHash), to: cached, for: .seconds(60))
            for answer in try await all(old) { #expect(answer.is(401, .notRegistered)) }
            var nobody = new
            nobody.token = String(repeating: "A", count: 43)
            for answer in try await all(nobody) { #expect(answer.is(401, .notRegistered)) }
            // Banned, and the cache does not know it.
            try await bench.sql("UPDATE auth.identities SET is_banned = true")
            for answer in try await all(new) { #expect(answer.is(403, .userBanned)) }
            try await bench.sql("UPDATE auth.identities SET is_banned = false")
            #expect(try await http.document(of: self.profile, by: new).version == 1)
            #expect(try await http.join(self.profile, by: new).members == ["\(new.id)"])
        }
    }

    @Test func whoeverAsksTooMuchIsToldWhenToComeBack() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let alice = try await bench.login(self.alice)
            for _ in 0..<120 { #expect(try await http.profile(self.profile, by: alice).is(404, .notFound)) }
            var answer = try await http.profile(self.profile, by: alice)
            for _ in 0..<120 where answer.status == 404 { answer = try await http.profile(self.profile, by: alice) }
            #expect(answer.is(429, .rateLimited) && answer.headers[.retryAfter] == "1")
        }
    }

    @Test func callsReadsMembersAndNothingElse() async throws {
        try await AuthBench.run { bench in
            let alice = try await bench.login(self.alice)
            _ = try await HTTPBench(bench).putProfile(self.profile, by: alice)
            let found = try await bench.sql(
                "SET ROLE whisper_calls; SELECT profile_id, whisper_id, epoch, is_banned FROM auth.profile_membership")
            #expect(
                found.hasSuffix("\(self.profile)|\(alice.id.bits)|\(alice.session.caller.epoch.value)|f"), "\(found)")
            for table in ["profiles", "profile_members", "profile_documents"] {
                await #expect(throws: (any Error).self) {
                    try await bench.sql("SET ROLE whisper_calls; SELECT * FROM auth.\(table)")
                }
            }
        }
    }

    // MARK: News

    /// Sets a member's presence. The gateway follows from the connection's number.
    private func connect(_ login: AuthBench.Login, _ connection: UInt64, _ bench: AuthBench) async throws {
        let node = connection % 2 == 0 ? bench.near : bench.far
        let presence = Presence(
            node: node, connection: ConnectionID(value: connection), epoch: login.session.caller.epoch)
        try await bench.bus.set(Keyspace.presence(login.id), to: presence.encoded(), for: .seconds(60))
    }

    /// The news that connections received, in any order.
    private func heard(_ bench: AuthBench) -> [String] {
        bench.listener.heard.compactMap { heard in
            guard case .frame(let node, let connection, ProfileChanged.type, let payload) = heard,
                let frame = try? ProfileChanged(payload: payload), frame.profileID == self.profile
            else { return nil }
            #expect(node == (connection.value % 2 == 0 ? bench.near : bench.far))
            return switch frame.change {
            case .document(let name, let version): "\(connection.value) \(name) \(version)"
            case .members: "\(connection.value) members"
            }
        }.sorted()
    }

    @Test func theOtherMembersAreTold() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let carol = try await bench.login(self.carol)
            for (number, login) in zip(UInt64(1)..., [alice, bob, carol]) {
                try await self.connect(login, number, bench)
            }
            var expected: [String] = []
            /// News does not wait for each other, so each is awaited before the next is made.
            func expectNews(_ news: [String]) async throws {
                expected += news
                while self.heard(bench).count < expected.count {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                #expect(self.heard(bench) == expected.sorted())
            }
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.join(self.profile, by: bob)
            try await expectNews(["1 members"])
            _ = try await http.join(self.profile, by: carol)
            try await expectNews(["1 members", "2 members"])
            // Nothing has changed for the others.
            _ = try await http.join(self.profile, by: carol)
            _ = try await http.putProfile(self.profile, by: carol)
            _ = try await http.write(HTTPBench.document(1), of: self.profile, over: 1, by: carol)
            _ = try await http.write(HTTPBench.document(1), as: "user", of: self.profile, over: nil, by: bob)
            try await expectNews(["1 user 1", "3 user 1"])
            _ = try await http.write(HTTPBench.document(1), as: "user", of: self.profile, over: 1, by: carol)
            try await expectNews(["1 user 2", "2 user 2"])
            _ = try await http.remove(carol, from: self.profile, by: alice)
            try await expectNews(["2 members"])
            _ = try await http.remove(carol, from: self.profile, by: alice)
            _ = try await http.write(HTTPBench.document(1), as: "user", of: self.profile, over: 2, by: bob)
            try await expectNews(["1 user 3"])
            _ = try await http.join(self.profile, by: carol)
            try await expectNews(["1 members", "2 members"])
            // News does not wait for a member that is offline. Alice reconnects after carol got hers: by then both
            // presences have been read.
            try await bench.bus.delete([Keyspace.presence(alice.id)])
            #expect(try await http.remove(bob, from: self.profile, by: bob).status == 200)
            try await expectNews(["3 members"])
            try await self.connect(alice, 5, bench)
            _ = try await http.join(self.profile, by: bob)
            try await expectNews(["3 members", "5 members"])
        }
    }

    @Test func withoutRedisDocumentsAreWritten() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.join(self.profile, by: bob)
            bench.bus.goAway()
            #expect(try await http.write(HTTPBench.document(1), of: self.profile, over: nil, by: alice).version == 1)
            #expect(try await http.document(of: self.profile, by: bob).version == 1)
            bench.bus.comeBack()
        }
    }
}
