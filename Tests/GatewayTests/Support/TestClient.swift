import Foundation
import NIOCore
import NIOPosix

/// A phone, as far as the socket goes: says what the test wants and waits for what comes back.
/// Everything that waits ends with the test's time limit.
final class TestClient: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private let incoming: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation
    private var channel: (any Channel)?
    private var iterator: AsyncStream<[UInt8]>.Iterator
    private var frames = ServerFrames()
    private var waiting: [(opcode: UInt8, payload: [UInt8])] = []

    private init() {
        (self.incoming, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        self.iterator = self.incoming.makeAsyncIterator()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.continuation.yield(Array(self.unwrapInboundIn(data).readableBytesView))
    }

    /// The server has ended its side, and this client keeps its own.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { self.continuation.finish() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) { self.continuation.finish() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    static func connect(port: Int) async throws -> TestClient {
        let client = TestClient()
        client.channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(client) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return client
    }

    /// Connects and upgrades.
    static func webSocket(port: Int, headers: String = "") async throws -> TestClient {
        let client = try await self.connect(port: port)
        let answer = try await client.request(
            "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(headers)\r\n")
        guard answer.hasPrefix("HTTP/1.1 101 ") else { throw Unexpected.answer(answer) }
        return client
    }

    enum Unexpected: Error { case answer(String), end, frame(UInt8, String) }

    func send(bytes: [UInt8]) async throws {
        try await self.channel?.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    func send(_ frame: ClientFrame) async throws { try await self.send(bytes: frame.bytes) }
    func send(_ text: String) async throws { try await self.send(.text(text)) }

    /// Sends a request head, and reads the head of the answer and, with a `Content-Length`, its body.
    func request(_ text: String) async throws -> String {
        try await self.send(bytes: Array(text.utf8))
        var answer: [UInt8] = []
        while let chunk = await self.iterator.next(isolation: nil) {
            answer += chunk
            guard let end = Self.end(ofHeadIn: answer) else { continue }
            let head = String(decoding: answer[..<end], as: UTF8.self)
            if !head.hasPrefix("HTTP/1.1 101 ") { continue }
            self.waiting += self.frames.add(Array(answer[end...]))
            return head
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private static func end(ofHeadIn bytes: [UInt8]) -> Int? {
        bytes.indices.first { bytes[$0...].starts(with: [13, 10, 13, 10]) }.map { $0 + 4 }
    }

    /// The next frame, the server's own pings left out.
    func frame() async throws -> (opcode: UInt8, payload: [UInt8]) {
        while true {
            let frame = try await self.anyFrame()
            if frame.opcode != 9 { return frame }
        }
    }

    func anyFrame() async throws -> (opcode: UInt8, payload: [UInt8]) {
        while self.waiting.isEmpty {
            guard let chunk = await self.iterator.next(isolation: nil) else { throw Unexpected.end }
            self.waiting += self.frames.add(chunk)
        }
        return self.waiting.removeFirst()
    }

    /// The next text frame, as JSON.
    func json() async throws -> Reply {
        let frame = try await self.frame()
        let text = String(decoding: frame.payload, as: UTF8.self)
        guard frame.opcode == 1 else { throw Unexpected.frame(frame.opcode, text) }
        guard let object = try JSONSerialization.jsonObject(with: Data(frame.payload)) as? [String: Any] else {
            throw Unexpected.answer(text)
        }
        return Reply(
            type: object["type"] as? String, requestID: object["requestId"] as? String,
            payload: object["payload"] as? NSDictionary ?? [:])
    }

    /// The code of the close frame that comes next.
    func closeCode() async throws -> Int {
        let frame = try await self.frame()
        guard frame.opcode == 8, frame.payload.count >= 2 else {
            throw Unexpected.frame(frame.opcode, String(decoding: frame.payload, as: UTF8.self))
        }
        return Int(frame.payload[0]) << 8 | Int(frame.payload[1])
    }

    /// Whether the server ends the connection with nothing more to say.
    func ends() async -> Bool {
        do {
            _ = try await self.frame()
            return false
        } catch {
            return true
        }
    }

    /// Takes nothing more off the socket: what the gateway writes stays in the kernel's buffers, then in its own.
    func stopReading() async throws { try await self.channel?.setOption(.autoRead, value: false).get() }
    func goOnReading() async throws { try await self.channel?.setOption(.autoRead, value: true).get() }

    /// Keeps its side of TCP open when the server ends its own.
    func keepItsSideOpen() async throws {
        try await self.channel?.setOption(.allowRemoteHalfClosure, value: true).get()
    }

    func close() async { try? await self.channel?.close().get() }
}

struct Reply: @unchecked Sendable {
    var type: String?
    var requestID: String?
    var payload: NSDictionary

    var code: String? { self.payload["code"] as? String }
}
