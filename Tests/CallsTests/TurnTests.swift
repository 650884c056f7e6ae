import CallsCore
import Contract
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
        let payload = credentials.payload(urls: ["turn:a?transport=udp", "turns:b"], ttl: .seconds(43_200))
        let frame = try #require(ServerFrameCatalogue.all.first { $0.type == "turn_credentials" })
        _ = try FrameDecoder.payload(bare: payload, schema: frame.schema)
    }

    @Test(arguments: [[], ["http://a"], Array(repeating: "turn:a", count: 17)])
    func unusableRelaysAreRefused(urls: [String]) {
        #expect(throws: TurnConfiguration.Unusable.self) { try TurnConfiguration.checked(urls) }
    }
}

/// The deployment's configuration on a real coturn. What differs is its address, its ports and its secret; and, where a
/// test says so, that it may relay to this machine.
@Suite(.serialized) struct CoturnTests {
    private static let secret = "a secret of these tests"

    private func withRelay(allowsLoopback: Bool, _ body: (CoturnServer) async throws -> Void) async throws {
        let folder = try TemporaryFolder(named: "coturn")
        defer { folder.remove() }
        let relay = CoturnServer(
            folder: folder.path + "/coturn", port: LoopbackPort.free(), secret: Self.secret,
            allowsLoopback: allowsLoopback, log: folder.path + "/coturn.log")
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
    /// - Returns: what it says.
    private func use(
        _ relay: CoturnServer, lastingFor life: Duration = .seconds(60), secret: String = Self.secret, peer: [String] = ["-y"],
        patience: Int = 20
    ) async throws -> String {
        let credentials = TurnCredentials(
            secret: Secret(secret), pseudonym: [1, 2, 3], expiresAt: .now + life)
        let arguments = ["-u", credentials.username, "-w", credentials.credential, "-p", "\(relay.port)", "-c", "-n", "5", "-m", "1"]
        // When it is refused it tries again for long.
        return try await Command(
            "/bin/sh", ["-c", "timeout \(patience) /usr/bin/turnutils_uclient \"$@\" 2>&1; true", "sh"] + arguments + peer + ["127.0.0.1"]
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

    /// Nothing behind the relay, beside it or on it.
    @Test(arguments: ["127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.5", "0.0.0.0"])
    func aPrivatePeerIsForbidden(peer: String) async throws {
        try await self.withRelay(allowsLoopback: false) { relay in
            let said = try await self.use(relay, peer: ["-e", peer])
            #expect(said.contains("403 (Forbidden IP)"), "\(said)")
            #expect(!said.contains("tot_recv_msgs=10"))
        }
    }
}
