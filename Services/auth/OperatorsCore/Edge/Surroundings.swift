package import Contract
package import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
package import Telemetry

/// Facts that this process cannot know by itself, and an operator has named an address for: alerts that fire, as Prometheus says, and
/// the end of the certificate that clients are shown. Both are asked for again and again, so that no page waits for them.
package final class Surroundings: Sendable {
    /// An address as a setting has it.
    package struct Address: Equatable, Sendable {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) { (self.host, self.port) = (host, port) }
    }

    package struct Alert: Hashable, Sendable {
        package var name: String
        package var severity: String
    }

    package enum Finding<Value: Equatable & Sendable>: Equatable, Sendable {
        /// No operator has named an address, or nobody has answered yet.
        case unknown
        /// The last time there was no answer, or none that can be read.
        case unreachable
        case found(Value)
    }

    package struct Findings: Equatable, Sendable {
        package var alerts = Finding<[Alert]>.unknown
        package var certificateEnd = Finding<Timestamp>.unknown

        package init() {}
    }

    private let prometheus: Address?
    private let certificate: Address?
    private let findings = Mutex(Findings())
    private let metrics: OperatorMetrics
    private let logger: Logger

    package init(
        prometheus: Address?, certificate: Address?, metrics: OperatorMetrics = OperatorMetrics(), logger: Logger
    ) {
        (self.prometheus, self.certificate) = (prometheus, certificate)
        self.metrics = metrics
        self.logger = logger
        metrics.certificateEnd.set(0)
    }

    package var found: Findings { self.findings.withLock { $0 } }

    /// Asks until its task is cancelled.
    package func run() async {
        while !Task.isCancelled, self.prometheus != nil || self.certificate != nil {
            await self.look()
            try? await Task.sleep(for: OperatorsLimits.surroundingsLookEvery)
        }
    }

    package func look() async {
        if let prometheus {
            let finding = await self.asked("alerts") { try await Self.alerts(of: prometheus) }
            self.findings.withLock { $0.alerts = finding }
        }
        if let certificate {
            let finding = await self.asked("certificate") { try await Self.certificateEnd(of: certificate) }
            self.findings.withLock { $0.certificateEnd = finding }
            if case .found(let end) = finding { self.metrics.certificateEnd.set(end.milliseconds / 1_000) }
        }
    }

    private func asked<Value>(_ what: String, _ ask: () async throws -> Value) async -> Finding<Value> {
        do {
            return .found(try await ask())
        } catch {
            self.logger.warning("an operator's address does not answer", [.reason: "\(what)", .error: "\(error)"])
            return .unreachable
        }
    }

    // MARK: Asking

    fileprivate struct Unreadable: Error {}

    private static func alerts(of prometheus: Address) async throws -> [Alert] {
        // ALERTS{alertstate="firing"}
        let head =
            "GET /federate?match%5B%5D=ALERTS%7Balertstate%3D%22firing%22%7D HTTP/1.0\r\nHost: \(prometheus.host)\r\n\r\n"
        let answer = String(decoding: try await Conversation.hold(with: prometheus, saying: head), as: UTF8.self)
        guard answer.hasPrefix("HTTP/1.0 200") || answer.hasPrefix("HTTP/1.1 200") else { throw Unreadable() }
        return Self.alerts(in: answer)
    }

    /// - Parameter text: in Prometheus' text format.
    package static func alerts(in text: String) -> [Alert] {
        let alerts = text.split(whereSeparator: \.isNewline).compactMap { line -> Alert? in
            guard line.hasPrefix("ALERTS"), let name = Self.label("alertname", in: line) else { return nil }
            return Alert(name: name, severity: Self.label("severity", in: line) ?? "")
        }
        return Set(alerts).sorted { ($0.severity, $0.name) < ($1.severity, $1.name) }
    }

    private static func label(_ name: String, in line: Substring) -> String? {
        guard let start = line.firstRange(of: "\(name)=\"")?.upperBound else { return nil }
        return String(line[start...].prefix { $0 != "\"" })
    }

    /// The certificate is read and not trusted: that is for clients.
    private static func certificateEnd(of address: Address) async throws -> Timestamp {
        let shown = Mutex<Timestamp?>(nil)
        _ = try? await Conversation.hold(with: address, saying: nil) { certificate in
            shown.withLock { $0 = Timestamp(milliseconds: Int64(certificate.notValidAfter) * 1_000) }
        }
        guard let end = shown.withLock({ $0 }) else { throw Unreadable() }
        return end
    }
}

/// One connection, and all that the peer says until it closes.
private final class Conversation: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let said: EventLoopPromise<[UInt8]>
    private var bytes: [UInt8] = []

    private init(_ said: EventLoopPromise<[UInt8]>) { self.said = said }

    /// - Parameter look: with it the connection is TLS, and ends behind the peer's certificate.
    static func hold(
        with address: Surroundings.Address, saying words: String?, look: (@Sendable (NIOSSLCertificate) -> Void)? = nil
    ) async throws -> [UInt8] {
        let tls = try look.map { _ in try NIOSSLContext(configuration: .makeClientConfiguration()) }
        // A front may choose by the name. An address is none.
        let isAddress = (try? SocketAddress(ipAddress: address.host, port: address.port)) != nil
        let name = isAddress ? nil : address.host
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let said = loop.makePromise(of: [UInt8].self)
        let bootstrap = ClientBootstrap(group: loop).connectTimeout(TimeAmount(OperatorsLimits.surroundingsPatience))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls, let look {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(
                                context: tls, serverHostname: name,
                                customVerificationCallback: { certificates, verdict in
                                    if let first = certificates.first { look(first) }
                                    verdict.succeed(.failed)
                                }))
                    }
                    try channel.pipeline.syncOperations.addHandler(Conversation(said))
                }
            }
        do {
            let channel = try await bootstrap.connect(host: address.host, port: address.port).get()
            let patience = channel.eventLoop.scheduleTask(in: TimeAmount(OperatorsLimits.surroundingsPatience)) {
                said.fail(Surroundings.Unreadable())
                channel.close(promise: nil)
            }
            defer { patience.cancel() }
            if let words { channel.writeAndFlush(ByteBuffer(string: words), promise: nil) }
            return try await said.futureResult.get()
        } catch {
            said.fail(error)
            throw error
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.bytes += self.unwrapInboundIn(data).readableBytesView
        guard self.bytes.count > OperatorsLimits.surroundingsBytesMax else { return }
        self.said.fail(Surroundings.Unreadable())
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { self.said.succeed(self.bytes) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.said.fail(error)
        context.close(promise: nil)
    }
}
