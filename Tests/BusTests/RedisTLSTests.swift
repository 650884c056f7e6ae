import Bus
import ClusterContract
import Contract
import LocalStack
import Logging
import NIOPosix
import RedisBus
import Telemetry
import Testing

/// `RedisBus` over TLS, against a real server that has a certificate.
@Suite(.enabled(if: RedisServer.isExpected)) struct RedisTLSTests {
    /// A server with a certificate for `name` from one authority, and another authority that knows nothing of it.
    private func withServer(
        named name: String, _ body: (_ port: Int, _ authority: String, _ stranger: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder(named: "redis-tls")
        defer { folder.remove() }
        let authority = try await CertificateAuthority(named: "authority", in: folder.path)
        let stranger = try await CertificateAuthority(named: "stranger", in: folder.path)
        let own = try await authority.certificate(for: name)
        let port = LoopbackPort.free()
        let server = try await RedisServer.temporary(arguments: [
            "--tls-port", "\(port)", "--tls-auth-clients", "no", "--tls-cert-file", own.certificate, "--tls-key-file",
            own.key,
            "--tls-ca-cert-file", authority.file,
        ])
        do {
            try await body(port, authority.file, stranger.file)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private func bus(_ port: Int, tls: RedisTLS?) -> RedisBus {
        RedisBus(
            configuration: RedisConfiguration(port: port, tls: tls),
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func everyKindOfConnectionSpeaksTLS() async throws {
        try await self.withServer(named: "IP:127.0.0.1") { port, authority, _ in
            let bus = self.bus(port, tls: try RedisTLS(authorityFile: authority))
            try await bus.waitUntilConnected(for: .seconds(5))
            // Larger than one TLS record (RFC 8446 §5.1: 16 KiB).
            let large = [UInt8](repeating: 7, count: 100_000)
            try await bus.set(KeyName("k"), to: large, for: .seconds(60))
            #expect(try await bus.get(KeyName("k")) == large)
            try await bus.append(bytes("x"), to: "s")
            #expect(try await bus.read([("s", .start)], limit: 1, blockFor: .seconds(5)).count == 1)
            let ear = Ear(on: bus, channels: ["c"])
            #expect(await ear.next() == "subscribed")
            bus.publish(bytes("1"), to: "c", heard: nil)
            #expect(await ear.next() == "c 1")
            await ear.close()
            await bus.close()
        }
    }

    @Test func aServerOfAnotherAuthorityIsNotBelieved() async throws {
        try await self.withServer(named: "IP:127.0.0.1") { port, _, stranger in
            let bus = self.bus(port, tls: try RedisTLS(authorityFile: stranger))
            await #expect(throws: BusError.unavailable) { try await bus.waitUntilConnected(for: .milliseconds(500)) }
            await bus.close()
        }
    }

    @Test func aServerOfAnotherNameIsNotBelieved() async throws {
        try await self.withServer(named: "DNS:elsewhere") { port, authority, _ in
            let bus = self.bus(port, tls: try RedisTLS(authorityFile: authority))
            await #expect(throws: BusError.unavailable) { try await bus.waitUntilConnected(for: .milliseconds(500)) }
            await bus.close()
        }
    }

    @Test func theServerTakesNothingInTheClear() async throws {
        try await self.withServer(named: "IP:127.0.0.1") { port, _, _ in
            let bus = self.bus(port, tls: nil)
            await #expect(throws: BusError.unavailable) { try await bus.waitUntilConnected(for: .milliseconds(500)) }
            await bus.close()
        }
    }

    @Test func anAuthorityThatCannotBeReadIsRefusedAtOnce() throws {
        #expect(throws: RedisTLSError.unreadable(authorityFile: "/nowhere.pem")) {
            try RedisTLS(authorityFile: "/nowhere.pem")
        }
        let folder = try TemporaryFolder(named: "no-authority")
        defer { folder.remove() }
        let empty = folder.path + "/empty.pem"
        try "".write(toFile: empty, atomically: true, encoding: .utf8)
        #expect(throws: RedisTLSError.self) { try RedisTLS(authorityFile: empty) }
    }
}
