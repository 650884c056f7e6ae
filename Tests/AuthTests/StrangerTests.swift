import AuthCore
import AuthTestKit
import Contract
import Store
import Testing

/// Bounds on the data of identities without a peer, and of guests, in auth (contract §13b), against a real Postgres.
@Suite(.serialized, .timeLimit(.minutes(20))) struct StrangerTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)
    let carol = TestIdentity(3)
    let profile = UUIDText.random()

    private func makePeers(_ one: TestIdentity, _ other: TestIdentity, _ bench: AuthBench) async throws {
        let (one, other) = (one.id().bits, other.id().bits)
        try await bench.sql("INSERT INTO router.peers VALUES (\(one), \(other), now()), (\(other), \(one), now())")
    }

    private func write(
        _ bytes: Int, as name: String, over version: Int64? = nil, by login: AuthBench.Login, _ http: HTTPBench
    ) async throws -> HTTPBench.Answer {
        try await http.write(
            HTTPBench.document(1, bytes: bytes), as: name, of: self.profile, over: version, by: login)
    }

    // MARK: Profiles

    @Test func aProfileWithoutPeersHolds64KiBInAll() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let http = HTTPBench(bench)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(self.profile, by: alice)
            #expect(try await self.write(40_000, as: "user", by: alice, http).status == 200)
            #expect(try await self.write(25_537, as: "whisper", by: alice, http).is(413, .invalidPayload))
            #expect(try await self.write(25_536, as: "whisper", by: alice, http).status == 200)
            #expect(try await self.write(40_001, as: "user", over: 1, by: alice, http).is(413, .invalidPayload))
            // The old size of a document does not count beside its new size.
            #expect(try await self.write(40_000, as: "user", over: 1, by: alice, http).status == 200)
            // One member with a peer is enough.
            _ = try await bench.login(self.carol)
            try await self.makePeers(self.bob, self.carol, bench)
            #expect(try await self.write(17, as: "listen", by: alice, http).is(413, .invalidPayload))
            _ = try await http.join(self.profile, by: bob)
            #expect(try await self.write(262_144, as: "listen", by: alice, http).status == 200)
        }
    }

    @Test func aProfileHoldsOneMebibyteInAll() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let http = HTTPBench(bench)
            let alice = try await bench.login(self.alice)
            try await self.makePeers(self.alice, self.bob, bench)
            _ = try await http.putProfile(self.profile, by: alice)
            for name in ["user", "whisper", "listen", "settings"] {
                #expect(try await self.write(262_144, as: name, by: alice, http).status == 200)
            }
            #expect(try await self.write(17, as: "favorites", by: alice, http).is(413, .invalidPayload))
            #expect(try await self.write(262_127, as: "user", over: 1, by: alice, http).status == 200)
            #expect(try await self.write(17, as: "favorites", by: alice, http).status == 200)
        }
    }

    @Test func twoWritersDoNotPassTheBoundTogether() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let http = HTTPBench(bench)
            let alice = try await bench.login(self.alice)
            _ = try await http.putProfile(self.profile, by: alice)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for name in ProfileDocumentName.allCases {
                    group.addTask { try await self.write(30_000, as: name.rawValue, by: alice, http).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 200, 413, 413, 413])
        }
    }

    @Test func aProfileThatNobodyTouchesGoesAfter400Days() async throws {
        try await AuthBench.run { bench in
            let http = HTTPBench(bench)
            let sweep = ExpirySweep(AbandonedProfiles(bench.pool), clock: bench.clock, logger: quiet)
            let others = UUIDText.random()
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await self.write(17, as: "user", by: alice, http)
            _ = try await http.putProfile(others, by: bob)
            bench.wait(.seconds(5 * 86_400))
            // Sessions end sooner than profiles.
            let later = try await bench.login(self.alice)
            #expect(try await http.document("user", of: self.profile, by: later).status == 200)
            // A request of a non-member does not touch the profile.
            #expect(try await http.profile(others, by: later).is(404, .notFound))
            bench.wait(.seconds(395 * 86_400 - 1))
            #expect(try await sweep.sweep() == 0)
            bench.wait(.seconds(1))
            #expect(try await sweep.sweep() == 1)
            #expect(try await bench.sql("SELECT profile_id FROM auth.profiles") == "\(self.profile)")
            bench.wait(.seconds(5 * 86_400))
            #expect(try await sweep.sweep() == 1)
            for table in ["profiles", "profile_members", "profile_documents"] {
                #expect(try await bench.sql("SELECT count(*) FROM auth.\(table)") == "0", "\(table)")
            }
        }
    }

    // MARK: All together

    /// Counts, and takes the mark from those who have a peer. Twice: what the second step frees counts from the next count on.
    private func count<Table: StrangerTable>(_ table: Table) async throws -> Int64 {
        var key = Table.firstKey
        for _ in 0..<2 {
            await StrangerSweep(table, bytesMax: 1, logger: quiet).sweep(from: &key, age: .zero)
            #expect(key == Table.firstKey)
        }
        return try await table.counted()
    }

    private static func backup(_ bytes: Int) -> String {
        #"{"nonce":"\#(base64([UInt8](repeating: 1, count: 24)))","ciphertext":"\#(base64([UInt8](repeating: 1, count: bytes)))","cryptoVersion":1,"protocolVersion":1}"#
    }

    @Test func backupsOfAllStrangersTogetherHaveABound() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            var configuration = AuthConfiguration()
            configuration.strangersBytesMax = 10_000
            let http = HTTPBench(bench, configuration: configuration)
            let table = ContactBackupTable(bench.pool)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let carol = try await bench.login(self.carol)
            for login in [alice, bob] {
                #expect(try await http.put(Self.backup(4_000), token: login.token).status == 200)
            }
            #expect(try await self.count(table) == 8_000)
            let refused = try await http.put(Self.backup(4_000), token: carol.token)
            #expect(refused.is(429, .rateLimited) && refused.headers[.retryAfter] == "3600")
            #expect(try await http.get("/backup/contacts", token: carol.token).is(404, .notFound))
            #expect(try await http.put(Self.backup(2_000), token: carol.token).status == 200)
            // Nobody who has a peer is refused, or counted.
            try await self.makePeers(self.carol, self.bob, bench)
            #expect(try await http.put(Self.backup(200_000), token: carol.token).status == 200)
            #expect(try await self.count(table) == 4_000)
            #expect(try await http.put(Self.backup(6_000), token: alice.token).status == 200)
        }
    }

    @Test func documentsOfAllStrangersTogetherHaveABound() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            var configuration = AuthConfiguration()
            configuration.strangersBytesMax = 10_000
            let http = HTTPBench(bench, configuration: configuration)
            let table = StrangerProfiles(bench.pool)
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let second = UUIDText.random()
            _ = try await http.putProfile(self.profile, by: alice)
            _ = try await http.putProfile(second, by: bob)
            #expect(try await self.write(8_000, as: "user", by: alice, http).status == 200)
            #expect(try await self.count(table) == 8_000)
            let document = HTTPBench.document(1, bytes: 4_000)
            let refused = try await http.write(document, of: second, over: nil, by: bob)
            #expect(refused.is(429, .rateLimited) && refused.headers[.retryAfter] == "3600")
            try await self.makePeers(self.carol, self.bob, bench)
            #expect(try await http.write(document, of: second, over: nil, by: bob).status == 200)
            #expect(try await self.count(table) == 8_000)
        }
    }

    /// A sweep of one process looks again where the one before has ended.
    @Test func marksAreTakenPageByPage() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let http = HTTPBench(bench)
            let table = ContactBackupTable(bench.pool)
            for identity in [self.alice, self.bob, self.carol] {
                let login = try await bench.login(identity)
                _ = try await http.put(Self.backup(100), token: login.token)
            }
            try await self.makePeers(self.carol, self.bob, bench)
            var key = ContactBackupTable.firstKey
            var pages = 0
            while let next = try await table.relieve(after: key, limit: 1) {
                (key, pages) = (next, pages + 1)
            }
            #expect(pages == 3)
            #expect(
                try await bench.sql("SELECT whisper_id FROM auth.contact_backups WHERE of_stranger")
                    == "\(self.alice.id().bits)")
        }
    }

    // MARK: Guests

    @Test func thereIsABoundForGuests() async throws {
        try await AuthBench.run { bench in
            let guests = GuestTable(bench.pool, strangersBytesMax: 3 * Int(AuthLimits.guestBytes))
            func prove(_ seed: UInt8) async throws -> GuestTable.Proved {
                let keys = TestIdentity(seed)
                return try await guests.prove(
                    keys.guestID, signPublicKey: keys.signPublicKey, encPublicKey: keys.encPublicKey,
                    tokenHash: Bytes32([UInt8](repeating: seed, count: 32))!, at: .now)
            }
            func isDone(_ seed: UInt8) async throws -> Bool {
                if case .done = try await prove(seed) { true } else { false }
            }
            for seed in UInt8(1)...3 { #expect(try await isDone(seed)) }
            #expect(try await self.count(guests) == 3 * AuthLimits.guestBytes)
            #expect(try await prove(4) == .noRoom)
            // A known guest may come, and counts as a returning guest.
            #expect(try await isDone(3))
            #expect(try await self.count(guests) == 3 * AuthLimits.guestBytes)
            // Guests that came once make room when their token has expired.
            try await bench.sql("UPDATE auth.guests SET expires_at = now() - interval '1 second'")
            #expect(try await self.count(guests) == AuthLimits.guestBytes)
            #expect(try await bench.sql("SELECT epoch FROM auth.guests") == "2")
            #expect(try await isDone(4))
        }
    }
}
