import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// The real link: WebSocket and HTTP over TCP, with TLS for `wss`, and for files at servers of `https`.
package struct NetworkLink: ServerLink {
    private let address: ServerAddress
    /// `nil` if the server is asked without TLS, and nothing was said of trust: then the system's holds.
    private let tls: NIOSSLContext?
    private let group: any EventLoopGroup

    /// - Parameter authorityFile: PEM certificates trusted beside those of the system: for the server, and for those that keep files.
    /// - Throws: `.unreachable` if that file cannot be read.
    package init(_ address: ServerAddress, authorityFile: String? = nil) throws(LinkError) {
        self.address = address
        self.group = MultiThreadedEventLoopGroup.singleton
        guard address.isSecure || authorityFile != nil else {
            self.tls = nil
            return
        }
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let authorityFile { configuration.additionalTrustRoots = [.file(authorityFile)] }
        do {
            self.tls = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unreachable("cannot read the certificates in \(authorityFile ?? "the system's store")")
        }
    }

    package func open() async throws(LinkError) -> any OpenLink {
        let address = self.address
        let upgrade: EventLoopFuture<WebSocketLink?>
        do {
            upgrade = try await self.bootstrap().connect(host: address.host, port: address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try self.addTLS(to: channel)
                    return try Self.upgrade(channel, address: address)
                }
            }
        } catch {
            throw Self.unreachable(error, address)
        }
        do {
            guard let link = try await upgrade.get() else { throw LinkError.noUpgrade }
            return link
        } catch let error as LinkError {
            throw error
        } catch {
            throw Self.unreachable(error, address)
        }
    }

    package func get(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer {
        try await self.exchange(self.head(.GET, path, bearer), [])
    }

    package func put(
        _ path: String, _ body: [UInt8], if condition: WriteCondition?, bearer: String
    ) async throws(LinkError) -> HTTPAnswer {
        var head = self.head(.PUT, path, bearer, body)
        switch condition {
        case .matches(let tag): head.headers.add(name: "if-match", value: tag)
        case .isNew: head.headers.add(name: "if-none-match", value: "*")
        case nil: break
        }
        return try await self.exchange(head, body)
    }

    package func post(
        _ path: String, _ body: [UInt8], bearer: String?
    ) async throws(LinkError) -> HTTPAnswer {
        try await self.exchange(self.head(.POST, path, bearer, body), body)
    }

    package func delete(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer {
        try await self.exchange(self.head(.DELETE, path, bearer), [])
    }

    private func head(
        _ method: HTTPMethod, _ path: String, _ bearer: String?, _ body: [UInt8]? = nil
    ) -> HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: path)
        head.headers = ["host": self.address.authority, "connection": "close"]
        if let bearer { head.headers.add(name: "authorization", value: "Bearer \(bearer)") }
        if let body {
            head.headers.add(name: "content-type", value: "application/json")
            head.headers.add(name: "content-length", value: "\(body.count)")
        }
        return head
    }

    private func exchange(_ request: HTTPRequestHead, _ content: [UInt8]) async throws(LinkError) -> HTTPAnswer {
        do {
            let answer = try await self.bootstrap().connect(host: self.address.host, port: self.address.port) {
                channel in
                channel.eventLoop.makeCompletedFuture {
                    try self.addTLS(to: channel)
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    let answer = channel.eventLoop.makePromise(of: HTTPAnswer.self)
                    try channel.pipeline.syncOperations.addHandler(
                        HTTPExchange(request: request, content: content, answer: answer))
                    return answer.futureResult
                }
            }
            return try await answer.get()
        } catch let error as LinkError {
            throw error
        } catch {
            throw Self.unreachable(error, self.address)
        }
    }

    var isSecure: Bool { self.address.isSecure }

    /// Connects to another server than the one of the address, with the same trust.
    func connect<Value: Sendable>(
        to server: ServerAddress, _ configure: @escaping @Sendable (any Channel) throws -> Value
    ) async throws(LinkError) -> Value {
        do {
            let tls = try server.isSecure ? self.tls ?? NIOSSLContext(configuration: .makeClientConfiguration()) : nil
            return try await self.bootstrap().connect(host: server.host, port: server.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try Self.add(tls, host: server.host, to: channel) }
                    return try configure(channel)
                }
            }
        } catch {
            throw Self.unreachable(error, server)
        }
    }

    private func bootstrap() -> ClientBootstrap {
        ClientBootstrap(group: self.group)
            .connectTimeout(LinkLimits.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
    }

    private func addTLS(to channel: any Channel) throws {
        if self.address.isSecure, let tls = self.tls { try Self.add(tls, host: self.address.host, to: channel) }
    }

    private static func add(_ tls: NIOSSLContext, host: String, to channel: any Channel) throws {
        // Certificates name hosts; for a bare address there is no name to send, and the address itself is checked.
        let isName = (try? SocketAddress(ipAddress: host, port: 0)) == nil
        try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: tls, serverHostname: isName ? host : nil))
    }

    /// Asks for the upgrade; the future gives `nil` if the server answers with something else.
    private static func upgrade(
        _ channel: any Channel, address: ServerAddress
    ) throws -> EventLoopFuture<WebSocketLink?> {
        let upgrader = NIOTypedWebSocketClientUpgrader<WebSocketLink?>(
            maxFrameSize: LinkLimits.messageBytesMax,
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    let (link, handler) = WebSocketLink.make(on: channel)
                    try channel.pipeline.syncOperations.addHandler(
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: LinkLimits.fragmentsMax,
                            maxAccumulatedFrameSize: LinkLimits.messageBytesMax))
                    try channel.pipeline.syncOperations.addHandler(handler)
                    return link
                }
            })
        var request = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/ws")
        request.headers = ["host": address.authority, "content-length": "0"]
        let configuration = NIOTypedHTTPClientUpgradeConfiguration<WebSocketLink?>(
            upgradeRequestHead: request, upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in channel.close().map { nil } })
        let upgraded = try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: .init(upgradeConfiguration: configuration))
        let overdue = channel.eventLoop.scheduleTask(in: LinkLimits.answerTimeout) { channel.close(promise: nil) }
        upgraded.whenComplete { _ in overdue.cancel() }
        return upgraded
    }

    private static func unreachable(_ error: any Error, _ address: ServerAddress) -> LinkError {
        switch error {
        case let error as NIOConnectionError:
            let cause = error.connectionErrors.first.map { "\($0.error)" } ?? "the name has no address"
            return .unreachable(cause.contains("refused") ? "nobody listens at \(address)" : cause)
        case is ChannelError: return .timeout
        case is NIOSSLError where "\(error)".contains("CERTIFICATE_VERIFY_FAILED"):
            return .unreachable("the certificate of \(address) is not trusted")
        case is NIOSSLExtraError: return .unreachable("the certificate of \(address) is for another name")
        case is NIOSSLError: return .unreachable("no TLS with \(address)")
        default: return .unreachable("\(error)")
        }
    }
}
