import Chaos
import Foundation
import LocalStack
import Testing

/// Contract §13a, Transport, with the balancer alone: what it admits of one address, also of connections that never say anything.
/// In the launcher's configuration and in the deployment's.
@Suite(.serialized) struct AddressLimitTests {
    enum Source: CaseIterable {
        case launcher, deployment
    }

    private static let atOnceMax = AddressLimits.standard.connectionsMax
    private static let perMinuteMax = AddressLimits.standard.connectionsPerMinute

    @Test(arguments: Source.allCases) func silentConnectionsOfOneAddressLeaveRoomForOthers(source: Source) async throws
    {
        try await Balancer.run(source) { balancer in
            let refused = 100
            let silent = SilentConnections(Self.atOnceMax + refused, to: balancer.port)
            defer { silent.close() }
            try await waitUntil("the others are refused", within: .seconds(20)) { silent.closed >= refused }
            // Accepted behind all of them, from another address; and at the port of operators, which has places of its own.
            #expect(balancer.answers("/health", from: "127.0.0.2"))
            #expect(await LoopbackRequest.get("/ready", port: balancer.opsPort)?.status == 503)
            #expect(silent.closed == refused)
            #expect(!balancer.answers("/health", from: "127.0.0.1"))
        }
    }

    @Test(arguments: Source.allCases) func newConnectionsOfAMinuteAreCounted(source: Source) async throws {
        try await Balancer.run(source) { balancer in
            for _ in 0..<(Self.perMinuteMax / Self.atOnceMax) {
                let silent = SilentConnections(Self.atOnceMax, to: balancer.port)
                #expect(balancer.answers("/health", from: "127.0.0.2"))
                #expect(silent.closed == 0)
                silent.close()
                try await waitUntil("they are gone", within: .seconds(20)) { await balancer.connections() == 0 }
            }
            #expect(!balancer.answers("/health", from: "127.0.0.1"))
            #expect(balancer.answers("/health", from: "127.0.0.3"))
        }
    }

    /// With places for fewer clients than there are silent ones, of as many addresses as it takes.
    @Test(arguments: Source.allCases) func theOperatorsPortHasPlacesOfItsOwn(source: Source) async throws {
        let few =
            source == .launcher
            ? ["maxconn \(LaunchedLimits.all)": "maxconn 160", "maxconn \(LaunchedLimits.clients)": "maxconn 100"] : [:]
        let environment = ["CONNECTIONS_MAX": "160", "PUBLIC_CONNECTIONS_MAX": "100"]
        try await Balancer.run(source, environment: environment, replacing: few) { balancer in
            let silent = SilentConnections(200, to: balancer.port)
            defer { silent.close() }
            try await waitUntil("the public port is full", within: .seconds(20)) { await balancer.connections() == 100 }
            #expect(await LoopbackRequest.get("/ready", port: balancer.opsPort)?.status == 503)
        }
    }

    @Test func operatorsSetTheLimitsOfADeployment() async throws {
        let environment = ["ADDRESS_CONNECTIONS_MAX": "5", "ADDRESS_CONNECTIONS_PER_MINUTE": "7"]
        try await Balancer.run(.deployment, environment: environment) { balancer in
            let silent = SilentConnections(8, to: balancer.port)
            try await waitUntil("three are refused", within: .seconds(20)) { silent.closed == 3 }
            silent.close()
            try await waitUntil("they are gone", within: .seconds(20)) { await balancer.connections() == 0 }
            let answers = (0..<4).map { _ in balancer.answers("/health", from: "127.0.0.1") }
            #expect(answers == [true, true, false, false])
        }
    }

    /// Two HAProxies before the same gateways: a client cannot make twice as many connections by going to both.
    @Test func severalBalancersCountNewConnectionsTogether() async throws {
        let secrets = try TemporaryFolder(named: "balancers")
        defer { secrets.remove() }
        try Self.makeSecrets(in: secrets.path)
        let listens = [LoopbackPort.free(), LoopbackPort.free()]
        func environment(_ number: Int) -> [String: String] {
            [
                "BALANCER": "\(number)", "BALANCER_LISTEN": "127.0.0.1:\(listens[number - 1])",
                "BALANCER_1": "127.0.0.1:\(listens[0])", "BALANCER_2": "127.0.0.1:\(listens[1])",
                "ADDRESS_CONNECTIONS_PER_MINUTE": "6",
            ]
        }
        try await Balancer.run(.deployment, environment: environment(1), secrets: secrets.path) { first in
            try await Balancer.run(.deployment, environment: environment(2), secrets: secrets.path) { second in
                try await waitUntil("they hear each other", within: .seconds(20)) {
                    let heard = await [first.number(of: Self.peers), second.number(of: Self.peers)]
                    return heard.allSatisfy { ($0 ?? 0) >= 1 }
                }
                // The limit is reached at the first. The second has not admitted as many by itself when it refuses.
                let full = "127.0.1.1"
                #expect(
                    (0..<7).map { _ in first.answers("/health", from: full) } == Array(repeating: true, count: 6) + [
                        false
                    ])
                // Balancers that have just met tell each other nothing for some seconds.
                try await waitUntil("the second has heard of it", within: .seconds(20)) {
                    await second.number(of: Self.heardOfTheFirst) == 1
                }
                var admitted = 0
                try await waitUntil("the second refuses it", within: .seconds(20)) {
                    let answered = second.answers("/health", from: full)
                    admitted += answered ? 1 : 0
                    return !answered
                }
                #expect(admitted < 6)
                // The first is lost. Its clients come back through the second, which still knows what it counted.
                await first.kill()
                #expect(!second.answers("/health", from: full))
                #expect(second.answers("/health", from: "127.0.1.2"))
            }
        }
    }

    /// In Kubernetes each has a Service: an address that is there before its pod, and stays when the pod comes back with another.
    @Test func balancersFindEachOtherBehindAddressesThatStay() async throws {
        let secrets = try TemporaryFolder(named: "balancers")
        defer { secrets.remove() }
        try Self.makeSecrets(in: secrets.path)
        let services = [FaultyProxy(), FaultyProxy()]
        for service in services { try await service.open() }
        func environment(_ number: Int, listens: Int) -> [String: String] {
            [
                "BALANCER": "\(number)", "BALANCER_LISTEN": "127.0.0.1:\(listens)",
                "BALANCER_1": "127.0.0.1:\(services[0].port)", "BALANCER_2": "127.0.0.1:\(services[1].port)",
                "ADDRESS_CONNECTIONS_PER_MINUTE": "6",
            ]
        }
        /// Behind its Service, as soon as it is there. The second does not reach the first, so the first has to reach the second.
        func withBalancer(_ number: Int, _ body: (Balancer) async throws -> Void) async throws {
            let place = LoopbackPort.free()
            if number == 2 { await services[1].leads(to: place) }
            try await Balancer.run(
                .deployment, environment: environment(number, listens: place), secrets: secrets.path, body)
        }
        let full = "127.0.1.1"
        try await withBalancer(1) { first in
            #expect(await first.number(of: Self.peers) == 0)
            for _ in 0..<7 { _ = first.answers("/health", from: full) }
            // The second comes twice, each time at a port of its own.
            for _ in 0..<2 {
                try await withBalancer(2) { second in
                    try await waitUntil("they hear each other", within: .seconds(20)) {
                        let heard = await [first.number(of: Self.peers), second.number(of: Self.peers)]
                        return heard.allSatisfy { ($0 ?? 0) >= 1 }
                    }
                    try await waitUntil("the second refuses whom the first refuses", within: .seconds(20)) {
                        !second.answers("/health", from: full)
                    }
                    await second.kill()
                    try await waitUntil("the first misses it", within: .seconds(20)) {
                        await first.number(of: Self.peers) == 0
                    }
                }
            }
        }
        for service in services { await service.close() }
    }

    /// Metric of a balancer: other balancers that it is connected to.
    private static let peers = "haproxy_process_connected_peers"
    /// Addresses that the first of several balancers counts.
    private static let heardOfTheFirst = #"haproxy_sticktable_used{name="rates_1""#

    private static func makeSecrets(in folder: String) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../deploy/haproxy/make-secrets")
        try #require(try Run("/bin/sh", script.path, folder).status == 0)
    }

    /// This machine has one IPv6 address on loopback. So the same rules are told addresses in PROXY headers, as a balancer in front
    /// would, and run when those have been read.
    @Test(arguments: Source.allCases) func ofIPv6The64BitsOfTheNetworkCount(source: Source) async throws {
        // A deployment is told which balancer it believes.
        let environment = ["ADDRESS_CONNECTIONS_MAX": "3", "TCP_BALANCERS": "127.0.0.8 127.0.0.1"]
        let told =
            source == .launcher
            ? [
                "tcp-request connection": "tcp-request session", " backlog 4096": " backlog 4096 accept-proxy",
                "ge \(Self.atOnceMax) }": "ge 3 }",
            ] : [:]
        try await Balancer.run(source, environment: environment, replacing: told) { balancer in
            let before = try #require(await balancer.sessions())
            let neighbours = (1...3).map { SilentConnections(from: "2001:db8:1:2::\($0)", to: balancer.port) }
            defer { for one in neighbours { one.close() } }
            // A connection is counted as its network's when its header has been read.
            try await waitUntil("their headers have been read", within: .seconds(20)) {
                (await balancer.sessions() ?? 0) >= before + neighbours.count
            }
            #expect(!balancer.answers("/health", claiming: "2001:db8:1:2:ffff:ffff:ffff:ffff"))
            #expect(balancer.answers("/health", claiming: "2001:db8:1:3::1"))
            // An IPv4 address is counted by itself.
            #expect(balancer.answers("/health", claiming: "192.0.2.1"))
            #expect(neighbours.allSatisfy { $0.closed == 0 })
            // From another source, such a header is an unreadable request. It counts for the sender's own address.
            if source == .deployment {
                #expect(balancer.answers("/health", from: "127.0.0.2", claiming: "2001:db8:1:2::1"))
            }
        }
    }

    @Test func theLauncherScalesThemAndNeverBelowTheContracts() {
        #expect(AddressLimits.standard.scaled(by: 0.1) == .standard)
        #expect(
            AddressLimits.standard.scaled(by: 100)
                == AddressLimits(connectionsMax: 60_000, connectionsPerMinute: 120_000))
        #expect(AddressLimits.standard.scaled(by: 1e300).connectionsMax == 1_000_000_000)
    }
}

/// Connection limits in the launcher's configuration on this machine.
private enum LaunchedLimits {
    private static let numbers = HAProxyServer(folder: "", ports: StackPorts(StackConfiguration()), log: "")
        .configuration
        .matches(of: #/maxconn ([0-9]+)/#).compactMap { Int($0.1) }
    static var all: Int { self.numbers.max() ?? 0 }
    static var clients: Int { self.numbers.min() ?? 0 }
}

/// HAProxy with one of the two configurations, in front of nothing.
private struct Balancer {
    let port: Int
    let opsPort: Int
    private let process: ChildProcess

    static func run(
        _ source: AddressLimitTests.Source, environment: [String: String] = [:],
        replacing changes: [String: String] = [:], secrets: String? = nil,
        _ body: (Balancer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder(named: "balancer")
        defer { folder.remove() }
        let ports = StackPorts(StackConfiguration())
        // Also raises this process' limit of open files.
        let launched = HAProxyServer(folder: folder.path, ports: ports, log: "").configuration
        var text = source == .launcher ? launched : try Self.deployed(at: ports)
        for (old, new) in changes {
            try #require(text.contains(old), "\(old)")
            text = text.replacing(old, with: new)
        }
        if let secrets { text = text.replacing("/run/secrets", with: secrets) }
        // A silent connection stays for as long as a slow machine needs to count it.
        let patience = "timeout http-request 10s"
        try #require(text.contains(patience))
        text = text.replacing(patience, with: "timeout http-request 10m")
        let file = folder.path + "/haproxy.cfg"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        var command = Command("/usr/sbin/haproxy", ["-db", "-f", file], folder: folder.path, log: folder.path + "/log")
        // A machine of tests may allow fewer open files than a deployment needs.
        command.environment = ["CONNECTIONS_MAX": "2000", "PUBLIC_CONNECTIONS_MAX": "1500"].merging(environment) { $1 }
        let process = try await ChildProcess.start(command, name: "haproxy")
        do {
            // It answers, and has looked: servers count as up until the first check has failed.
            try await waitUntil("the balancer has looked", within: .seconds(20)) {
                await LoopbackRequest.get("/ready", port: ports.ops)?.status == 503
            }
            try await body(Balancer(port: ports.public, opsPort: ports.ops, process: process))
        } catch {
            await process.kill()
            throw error
        }
        await process.kill()
    }

    /// SIGKILL.
    func kill() async { await self.process.kill() }

    /// deploy/haproxy/haproxy.cfg, listening here and without TLS.
    private static func deployed(at ports: StackPorts) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../deploy/haproxy/haproxy.cfg")
        var text = try String(contentsOf: file, encoding: .utf8)
        for (old, new) in [
            ("bind :8443 ssl crt /run/secrets/public.pem alpn h2,http/1.1", "bind 127.0.0.1:\(ports.public)"),
            ("bind :8081", "bind 127.0.0.1:\(ports.ops)"),
        ] {
            try #require(text.contains(old))
            text = text.replacing(old, with: new)
        }
        return text
    }

    /// Open connections of clients.
    func connections() async -> Int? {
        await self.number(of: #"haproxy_frontend_current_sessions{proxy="public"}"#)
    }

    /// Connections of clients since it was started, whose headers have been read.
    func sessions() async -> Int? { await self.number(of: #"haproxy_frontend_sessions_total{proxy="public"}"#) }

    /// One of its own figures.
    func number(of metric: String) async -> Int? {
        let metrics = await LoopbackRequest.get("/metrics", port: self.opsPort)?.body ?? ""
        let line = metrics.split(separator: "\n").first { $0.hasPrefix(metric) }
        return line?.split(separator: " ").last.flatMap { Int($0) }
    }

    /// Whether a request is answered, with whatever; else its connection is closed without a byte.
    func answers(_ path: String, from address: String = "127.0.0.1", claiming source: String? = nil) -> Bool {
        guard let socket = connectedSocket(from: address, to: self.port) else { return false }
        defer { close(socket) }
        let text = (source.map(proxyHeader) ?? "") + "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        _ = send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, 0) == 1
    }
}

/// Clients that connect and say nothing.
private final class SilentConnections: Sendable {
    private let sockets: [Int32]

    init(_ count: Int, to port: Int) {
        self.sockets = (0..<count).compactMap { _ in connectedSocket(from: "127.0.0.1", to: port) }
    }

    /// One that says only whose it is.
    init(from source: String, to port: Int) {
        self.sockets = [connectedSocket(from: "127.0.0.1", to: port)].compactMap { $0 }
        let header = proxyHeader(source)
        for socket in self.sockets { _ = send(socket, header, header.utf8.count, Int32(MSG_NOSIGNAL)) }
    }

    /// How many the other side has closed.
    var closed: Int {
        self.sockets.count { socket in
            var byte: UInt8 = 0
            return recv(socket, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) >= 0 || errno != EAGAIN
        }
    }

    func close() { for socket in self.sockets { Glibc.close(socket) } }
}

/// HAProxy's PROXY protocol, version 1.
private func proxyHeader(_ source: String) -> String {
    source.contains(":")
        ? "PROXY TCP6 \(source) 2001:db8::1 40000 443\r\n" : "PROXY TCP4 \(source) 192.0.2.200 40000 443\r\n"
}

/// From an address of loopback; nil if it is refused already.
private func connectedSocket(from address: String, to port: Int) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    func place(_ host: String, _ port: Int, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Bool {
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = UInt16(port).bigEndian
        inet_pton(AF_INET, host, &place.sin_addr)
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
    guard place(address, 0, bind), place("127.0.0.1", port, connect) else {
        close(descriptor)
        return nil
    }
    return descriptor
}
