import Foundation
import NIOCore
import NIOPosix

/// A client of the protocol that does what a test says, valid or not, and remembers everything that it hears.
///
/// Everything that waits has a deadline; what it waited for stands in the error.
package final class TestClient: Sendable {
    /// How long an answer may take unless a test says otherwise: a busy machine, and no more.
    package static let timeout = Duration.seconds(15)

    private let channel: any Channel
    private let inbox: Inbox

    private init(_ channel: any Channel, _ inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    deinit { self.channel.close(promise: nil) }

    /// The server answered the upgrade with something else.
    package struct Refused: Error, Equatable {
        package var status: Int
        /// Names in lower case.
        package var headers: [String: String]
        package var body: String
    }

    /// An open WebSocket.
    /// - Parameters:
    ///   - url: `ws://host:port/path`.
    ///   - address: the client's own, of 127.0.0.0/8; limits count by it.
    ///   - receiveBuffer: bytes that the kernel takes for a client that does not read.
    ///   - timeout: time for the answer to the upgrade.
    /// - Throws: `Refused`; what the system says when nobody listens; `ChannelError.connectTimeout`.
    package static func connect(
        to url: String, from address: String? = nil, headers: [String: String] = [:], receiveBuffer: Int? = nil,
        timeout: Duration = TestClient.timeout
    ) async throws -> TestClient {
        let parts = URLComponents(string: url)!
        let inbox = Inbox()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let opened = loop.makePromise(of: Void.self)
        let request = UpgradeHead(path: parts.path, host: "\(parts.host!):\(parts.port!)", headers: headers)
        var bootstrap = ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(.seconds(5))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ClientHandler(request: request, inbox: inbox, opened: opened))
                }
            }
        if let receiveBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer))
        }
        do {
            if let address { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: address, port: 0)) }
            let channel = try await bootstrap.connect(host: parts.host!, port: parts.port!).get()
            let client = TestClient(channel, inbox)
            let giveUp = loop.scheduleTask(in: TimeAmount(timeout)) {
                opened.fail(ChannelError.connectTimeout(TimeAmount(timeout)))
            }
            defer { giveUp.cancel() }
            try await opened.futureResult.get()
            return client
        } catch {
            opened.fail(error)
            throw error
        }
    }

    // MARK: Speaking

    package func send(raw bytes: [UInt8]) {
        self.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    package func send(text: String) { self.send(raw: ClientFraming.frame(.text, Array(text.utf8))) }

    package func send(texts: [String]) { self.send(raw: texts.flatMap { ClientFraming.frame(.text, Array($0.utf8)) }) }

    package func send(_ type: String, _ payload: Fields, requestID: String? = nil) {
        self.send(text: Self.text(type, payload, requestID: requestID))
    }

    package static func text(_ type: String, _ payload: Fields, requestID: String? = nil) -> String {
        var envelope: Fields = ["type": type, "payload": payload.json]
        envelope["requestId"] = requestID
        return envelope.json.text
    }

    /// Sends a frame with a request id of its own and takes the answer to it.
    package func ask(
        _ type: String, _ payload: Fields, within timeout: Duration = TestClient.timeout
    ) async throws -> JSONFrame {
        let requestID = UUID().uuidString
        self.send(type, payload, requestID: requestID)
        return try await self.frame("the answer to \(type)", within: timeout) { $0.requestID == requestID }
    }

    /// Everything that the gateway wrote to this connection before it answers this has arrived on return.
    package func settle() async throws {
        _ = try await self.ask("ping", [:])
    }

    // MARK: Listening

    /// Takes the oldest frame of this type that matches.
    /// - Throws: `Missing`.
    package func next(
        _ type: String, within timeout: Duration = TestClient.timeout,
        where matches: @escaping @Sendable (JSONFrame) -> Bool = { _ in true }
    ) async throws -> JSONFrame {
        try await self.frame(type, within: timeout) { $0.type == type && matches($0) }
    }

    /// Takes the oldest frame that matches.
    /// - Throws: `Missing`.
    package func frame(
        _ what: String, within timeout: Duration = TestClient.timeout,
        where matches: @escaping @Sendable (JSONFrame) -> Bool
    ) async throws -> JSONFrame {
        let frame = await self.inbox.take(matches, until: self.after(timeout))
        guard let frame else { throw self.missing(what, timeout) }
        return frame
    }

    /// Takes the oldest frame of any kind; nil when the connection has ended and all has been taken.
    package func next() async -> JSONFrame? {
        await self.inbox.take({ _ in true }, until: { _ in })
    }

    /// How the connection ends.
    /// - Throws: `Missing` if it does not.
    @discardableResult
    package func end(within timeout: Duration = TestClient.timeout) async throws -> Ending {
        await self.inbox.waitForEnding(until: self.after(timeout))
        guard let ending = self.inbox.ending else { throw self.missing("the end of the connection", timeout) }
        return ending
    }

    /// Frames that have arrived and were not taken.
    package var frames: [JSONFrame] { self.inbox.frames }
    package func frames(_ type: String) -> [JSONFrame] { self.inbox.frames.filter { $0.type == type } }
    /// Payloads of the WebSocket pongs that came.
    package var pongs: [[UInt8]] { self.inbox.pongs }
    /// Nil while it is open.
    package var ending: Ending? { self.inbox.ending }
    package var endedAt: ContinuousClock.Instant? { self.inbox.endedAt }

    /// Takes nothing more off the socket: what the server sends stays in the kernels' buffers, then in the server's.
    package func stopReading() async throws { try await self.channel.setOption(.autoRead, value: false).get() }

    package func goOnReading() async throws {
        try await self.channel.setOption(.autoRead, value: true).get()
        self.channel.read()
    }

    /// Whether it answers the server's WebSocket pings. It does until told otherwise.
    package var answersPings: Bool {
        get { self.inbox.answersPings }
        set { self.inbox.answersPings = newValue }
    }

    /// Whether it answers the server's close frame. It does until told otherwise.
    package var answersClose: Bool {
        get { self.inbox.answersClose }
        set { self.inbox.answersClose = newValue }
    }

    /// Whether TCP's connection stands. The server may have said its goodbye long before.
    package var isConnected: Bool { self.channel.isActive }

    /// Cuts the TCP connection without a word.
    package func cut() { self.channel.close(promise: nil) }

    private func after(_ timeout: Duration) -> (@escaping @Sendable () -> Void) -> Void {
        { giveUp in _ = self.channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) { giveUp() } }
    }

    private func missing(_ what: String, _ timeout: Duration) -> Missing {
        Missing(what: what, after: timeout, ending: self.ending, waiting: self.frames.suffix(5).map(\.description))
    }
}
