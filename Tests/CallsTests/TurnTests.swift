import CallsCore
import Contract
import Participants
import LocalStack
import Telemetry
import Testing

@Suite struct TurnCredentialTests {
    /// Computed with `printf 1730043200:000102030405060708090a0b | openssl dgst -sha1 -hmac north -binary | base64`.
    @Test func theyAreWhatTurnServersExpect() {
        let credentials = TurnCredentials(
            secret: Secret("north"), pseudonym: Array(0..<12), expiresAt: Timestamp(milliseconds: 1_730_043_200_999))
        #expect(credentials.username == "1730043200:000102030405060708090a0b")
        #expect(credentials.credential == "AR4cFDewzhsjKijLA6MUYFpDsd8=")
    }

    @Test func theFrameIsTheContracts() throws {
        let credentials = TurnCredentials(secret: Secret("north"), pseudonym: [1], expiresAt: .now)
        let frame = credentials.frame(urls: ["turn:a?transport=udp", "turns:b"], ttl: .seconds(43_200))
        _ = try FrameDecoder.payload(bare: frame.json, schema: TurnCredentialsFrame.definition.schema)
    }

    @Test(arguments: [[], ["http://a"], Array(repeating: "turn:a", count: 17)])
    func unusableRelaysAreRefused(urls: [String]) {
        #expect(throws: TurnConfiguration.Unusable.self) { try TurnConfiguration.checked(urls) }
    }
}

@Suite struct RelayPeriodTests {
    private let alice = WhisperID("WSP-JBPU-D452-TLT4")!
    private let bob = WhisperID("WSP-7NUF-DNEU-IGIL")!
    private let noon = Timestamp(milliseconds: 1_730_030_400_000)
    private let life = Duration.seconds(43_200)

    private func username(_ identity: WhisperID, at now: Timestamp, key: UInt8 = 1) -> String {
        let period = RelayPeriod(at: now, life: self.life)
        let pseudonym = period.pseudonym(of: .identity(identity), key: Array(repeating: key, count: 32))
        return TurnCredentials(secret: Secret("north"), pseudonym: pseudonym, expiresAt: period.expiresAt).username
    }

    @Test func anIdentityHasOneUserNameInAnHour() {
        let last = self.noon + .milliseconds(3_599_999)
        #expect(self.username(self.alice, at: self.noon) == self.username(self.alice, at: last))
        #expect(self.username(self.alice, at: self.noon) != self.username(self.bob, at: self.noon))
    }

    /// Neither by the next hour's name, nor by who knows what relays know.
    @Test func userNamesAreNotLinked() throws {
        let names = [
            self.username(self.alice, at: self.noon), self.username(self.alice, at: self.noon + .seconds(3_600)),
            self.username(self.alice, at: self.noon, key: 2),
        ]
        let pseudonyms = Set(names.compactMap { $0.split(separator: ":").last })
        #expect(pseudonyms.count == 3)
        #expect(pseudonyms.allSatisfy { $0.count == 2 * TurnCredentials.pseudonymBytes })
    }

    @Test func credentialsLastForElevenToTwelveHours() {
        for (seconds, left) in [(0, 43_200), (1, 43_199), (3_599, 39_601), (3_600, 43_200)] as [(Int64, Int64)] {
            let now = self.noon + .seconds(seconds)
            #expect(RelayPeriod(at: now, life: self.life).remaining(at: now) == .seconds(left))
        }
    }

    /// A name for each ten minutes would be twelve quotas at a time.
    @Test func aGuestHasOneUserNameInAnHour() {
        let life = RoomLimits.guestTurnTTL
        func starts(_ seconds: Int64) -> Timestamp {
            RelayPeriod(at: self.noon + .seconds(seconds), life: life, parts: RelayPeriod.guestParts).startsAt
        }
        #expect(starts(0) == starts(3_599) && starts(0) != starts(3_600))
    }

    @Test(arguments: [1, 5, 12, 60, 86_400] as [Int64]) func shorterLivesHaveShorterPeriods(seconds: Int64) {
        for offset in [0, 1, 499, 3_599_999] as [Int64] {
            let now = self.noon + .milliseconds(offset)
            let period = RelayPeriod(at: now, life: .seconds(seconds))
            let left = period.remaining(at: now)
            #expect(period.startsAt <= now && now < period.expiresAt)
            #expect(.seconds(max(1, seconds * 11 / 12)) <= left && left <= .seconds(seconds))
        }
    }
}

/// The deployment's configuration on a real coturn. Address, ports and secret differ; and, where a test says so, it may
/// relay to this machine.
@Suite(.serialized) struct CoturnTests {
    private static let secret = "a secret of these tests"

    private func withRelay(
        allowsLoopback: Bool, isForGuests: Bool = false, _ body: (CoturnServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder(named: "coturn")
        defer { folder.remove() }
        let relay = CoturnServer(
            folder: folder.path + "/coturn", port: LoopbackPort.free(), secret: Self.secret,
            isForGuests: isForGuests, allowsLoopback: allowsLoopback, log: folder.path + "/coturn.log")
        try await relay.start()
        do {
            try await body(relay)
        } catch {
            await relay.stop()
            throw error
        }
        await relay.stop()
    }

    /// Coturn's own client: allocates, binds a channel to a peer, and sends five packets through the relay to itself.
    /// - Parameter clients: at once, each with an allocation of its own, and one for its peer.
    /// - Returns: what it says.
    private func use(
        _ relay: CoturnServer, lastingFor life: Duration = .seconds(60), secret: String = Self.secret,
        peer: [String] = ["-y"],
        patience: Int = 20, pseudonym: [UInt8] = [1, 2, 3], clients: Int = 1
    ) async throws -> String {
        let credentials = TurnCredentials(
            secret: Secret(secret), pseudonym: pseudonym, expiresAt: .now + life)
        let arguments = [
            "-u", credentials.username, "-w", credentials.credential, "-p", "\(relay.port)", "-c", "-n", "5", "-m",
            "\(clients)",
        ]
        // When it is refused it tries again for long.
        return try await Command(
            "/bin/sh",
            ["-c", "timeout \(patience) /usr/bin/turnutils_uclient \"$@\" 2>&1; true", "sh"] + arguments + peer + [
                "127.0.0.1"
            ]
        ).output(name: "turnutils_uclient")
    }

    @Test func ourCredentialsAreAcceptedUntilTheyExpire() async throws {
        try await self.withRelay(allowsLoopback: true) { relay in
            let said = try await self.use(relay)
            #expect(said.contains("tot_send_msgs=10, tot_recv_msgs=10"), "\(said)")
            for refused in [
                try await self.use(relay, lastingFor: .seconds(-1), patience: 4),
                try await self.use(relay, secret: "another secret", patience: 4),
            ] {
                #expect(refused.contains("Cannot complete Allocation"), "\(refused)")
                #expect(!refused.contains("tot_recv_msgs"))
            }
        }
    }

    /// By the pseudonym in the user name: so it has to be the same in each answer of an hour.
    @Test func anIdentitysAllocationsAreCounted() async throws {
        try await self.withRelay(allowsLoopback: true) { relay in
            let greedy = try await self.use(relay, patience: 5, pseudonym: [1], clients: 20)
            #expect(greedy.contains("486 (Allocation Quota Reached)"), "\(greedy)")
            let other = try await self.use(relay, pseudonym: [2])
            #expect(other.contains("tot_send_msgs=10, tot_recv_msgs=10"), "\(other)")
        }
    }

    /// More than 100 of many identities: `bps-capacity` divided by `max-bps` was the real total.
    @Test func aHundredAllocationsAreNotAll() async throws {
        try await self.withRelay(allowsLoopback: true) { relay in
            let said = try await withThrowingTaskGroup(of: String.self) { group in
                // Eight clients with two allocations each: 160.
                for identity in UInt8(1)...10 {
                    group.addTask { try await self.use(relay, patience: 60, pseudonym: [identity], clients: 8) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(said.count == 10)
            for one in said {
                #expect(!one.contains("486") && one.contains("tot_send_msgs=40, tot_recv_msgs=40"), "\(one)")
            }
        }
    }

    /// Four, on a relay that identities do not share; and their credentials open no other.
    @Test func guestsHaveFewerAllocations() async throws {
        let turn = TurnConfiguration(
            urls: ["turn:a"], guestURLs: ["turn:b"], secret: Secret(Self.secret), ttl: .seconds(60))
        let guest = PrincipalID.guest(GuestID("gst-000102030405060708090a0b0c0d0e0f")!)
        let secret = turn.relays(for: guest).secret.revealed
        #expect(turn.relays(for: guest).urls == ["turn:b"])
        try await self.withRelay(allowsLoopback: true, isForGuests: true) { relay in
            let said = try await self.use(relay, secret: secret, pseudonym: [1], clients: 2)
            #expect(said.contains("tot_send_msgs=10, tot_recv_msgs=10"), "\(said)")
            let greedy = try await self.use(relay, secret: secret, patience: 5, pseudonym: [2], clients: 4)
            #expect(greedy.contains("486 (Allocation Quota Reached)"), "\(greedy)")
            let foreign = try await self.use(relay, patience: 4)
            #expect(foreign.contains("Cannot complete Allocation"), "\(foreign)")
        }
    }

    /// Nothing behind the relay, beside it or on it.
    @Test(arguments: [
        "127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.5", "0.0.0.0",
    ])
    func aPrivatePeerIsForbidden(peer: String) async throws {
        try await self.withRelay(allowsLoopback: false) { relay in
            let said = try await self.use(relay, peer: ["-e", peer])
            #expect(said.contains("403 (Forbidden IP)"), "\(said)")
            #expect(!said.contains("tot_recv_msgs=10"))
        }
    }
}
