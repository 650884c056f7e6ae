import Contract
import Dispatch
import NIOCore
import NIOHTTP1
import WhisperCore

/// Requests of one connection, one after the other: each is read to its end and answered. A stream of events lasts.
final class DaemonRequest: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// An answer was written whose connection stays.
    private struct IsAnswered: Sendable {}
    /// A piece of a file was sealed, or written to the other end.
    struct HasMoved: Sendable {}

    private let server: DaemonHTTP
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// No further request is read.
    private var isOver = false
    private var overdue: Scheduled<Void>?
    private var stream: CoreSeat?
    /// The file that comes in the body.
    private var upload: DaemonFiles.Upload?
    private var isReadHeld = false

    init(_ server: DaemonHTTP) { self.server = server }

    func channelActive(context: ChannelHandlerContext) {
        // Nothing was read yet.
        guard self.server.door.admits(context.channel) else { return context.close(promise: nil) }
        self.close(context, in: DaemonHTTP.headTimeout)
        context.fireChannelActive()
    }

    private func close(_ context: ChannelHandlerContext, in time: TimeAmount) {
        self.overdue?.cancel()
        self.overdue = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.overdue?.cancel()
        self.stream?.interrupt()
        self.upload?.end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is IsAnswered: if let idle = self.server.door.idle { self.close(context, in: idle) }
        case is HasMoved:
            self.close(context, in: DaemonHTTP.requestTimeout)
            guard self.isReadHeld else { return }
            self.isReadHeld = false
            context.read()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// Nothing more is read while a piece of a file is sealed.
    func read(context: ChannelHandlerContext) {
        if self.upload?.isFull == true { self.isReadHeld = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isOver else { return }
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            (self.head, self.body) = (head, [])
            self.close(context, in: DaemonHTTP.requestTimeout)
            if let status = self.server.door.refusal(of: head) { return self.refuse(status, context) }
            guard head.path == DaemonFiles.path, head.method == .POST else { return }
            guard let bytes = DaemonFiles.length(of: head) else { return self.refuse(.lengthRequired, context) }
            let asker = Asker(channel: context.channel, door: self.server.door, stays: head.isKeepAlive)
            self.upload = DaemonFiles.Upload(bytes: bytes, to: self.server.core, context.channel) { answer, isWhole in
                Self.write(answer, to: asker.staying(isWhole))
            }
        case .body(let part):
            if let upload = self.upload { return upload.add(part.readableBytesView) }
            guard self.body.count + part.readableBytes <= JSONRPC.lineBytesMax else {
                return self.refuse(.payloadTooLarge, context)
            }
            self.body += part.readableBytesView
        case .end:
            self.overdue?.cancel()
            guard let upload = self.upload else { return self.serve(context) }
            self.upload = nil
            self.isOver = self.head?.isKeepAlive != true
            upload.end()
        }
    }

    // MARK: Requests

    /// Where an answer goes.
    private struct Asker: Sendable {
        var channel: any Channel
        var door: any HTTPDoor
        /// Whether the connection stays.
        var stays: Bool

        func staying(_ may: Bool) -> Asker { Asker(channel: self.channel, door: self.door, stays: self.stays && may) }
    }

    private func refuse(_ status: HTTPResponseStatus, _ context: ChannelHandlerContext) {
        self.isOver = true
        self.overdue?.cancel()
        Self.write(DoorAnswer(status), to: Asker(channel: context.channel, door: self.server.door, stays: false))
    }

    private func serve(_ context: ChannelHandlerContext) {
        guard let head = self.head else { return context.close(promise: nil) }
        let (core, door) = (self.server.core, self.server.door)
        // The door may have been locked since the header came.
        if let status = door.refusal(of: head) { return self.refuse(status, context) }
        let stays = door.idle != nil && head.isKeepAlive
        self.isOver = !stays
        let asker = Asker(channel: context.channel, door: door, stays: stays)
        if head.path == DaemonFiles.path { return Self.give(head, core, asker) }
        guard let query = Query(head.uri) else { return self.refuse(.badRequest, context) }
        if let consumer = query.consumer, !door.allows(consumer: consumer) { return self.refuse(.notFound, context) }
        switch head.path {
        case "/rpc":
            var seat: CoreSeat?
            if let consumer = query.consumer {
                seat = core.seat(of: consumer)
                // Otherwise nobody would get the server's answers.
                guard seat != nil else { return self.refuse(.conflict, context) }
            }
            Self.perform(self.body, core, seat, asker)
        case "/events": self.stream(head, query, context)
        default: Self.answer(head, self.body, core, asker)
        }
    }

    private static func give(_ head: HTTPRequestHead, _ core: Core, _ asker: Asker) {
        Task {
            do {
                try await DaemonFiles.give(head, from: core, asker.door.headers, stays: asker.stays, to: asker.channel)
                guard asker.stays else { return asker.channel.close(promise: nil) }
                asker.channel.pipeline.fireUserInboundEventTriggered(IsAnswered())
            } catch let refusal as DaemonFiles.Refusal {
                Self.write(refusal.answer, to: asker)
            } catch {
                // The other end must not take what it has for the whole.
                asker.channel.close(promise: nil)
            }
        }
    }

    private static func perform(_ body: [UInt8], _ core: Core, _ seat: CoreSeat?, _ asker: Asker) {
        Task {
            let answer = await JSONRPC.answer(body, from: core, at: seat)
            Self.write(answer.map { DoorAnswer(.ok, $0) } ?? DoorAnswer(.noContent), to: asker)
        }
    }

    private static func answer(_ head: HTTPRequestHead, _ body: [UInt8], _ core: Core, _ asker: Asker) {
        Task { Self.write(await asker.door.answer(head, body, from: core), to: asker) }
    }

    /// The part of the URI after the question mark: `consumer=NAME`, and of a stream `&take=1`.
    private struct Query {
        var consumer: String?
        var takes = false

        /// - Returns: `nil` if something else stands there.
        init?(_ uri: String) {
            guard let mark = uri.firstIndex(of: "?") else { return }
            var text = uri[uri.index(after: mark)...]
            if text.hasSuffix("&take=1") {
                self.takes = true
                text = text.dropLast("&take=1".count)
            }
            guard text.hasPrefix("consumer="), !text.contains("&"),
                let consumer = PercentCoding.decode(text.dropFirst("consumer=".count).utf8), !consumer.isEmpty
            else { return nil }
            self.consumer = consumer
        }
    }

    // MARK: Events

    private func stream(_ head: HTTPRequestHead, _ query: Query, _ context: ChannelHandlerContext) {
        self.isOver = true
        guard query.consumer != nil else { return self.refuse(.badRequest, context) }
        var position: Int64?
        if let text = head.headers.first(name: "last-event-id"), !text.isEmpty {
            guard let number = Int64(text), number >= 0 else { return self.refuse(.badRequest, context) }
            position = number
        }
        guard let seat = self.server.seat() else { return self.refuse(.serviceUnavailable, context) }
        self.stream = seat
        Self.stream(head, query, after: position, seat, self.server, context.channel)
    }

    private static func stream(
        _ head: HTTPRequestHead, _ query: Query, after position: Int64?, _ seat: CoreSeat, _ server: DaemonHTTP,
        _ channel: any Channel
    ) {
        let consumer = query.consumer ?? ""
        server.door.streamBegan()
        Task {
            let first: [UInt8]
            do throws(CoreError) {
                first = try await seat.subscribe(to: consumer, after: position, takes: query.takes)
            } catch {
                server.leave(seat)
                let asker = Asker(channel: channel, door: server.door, stays: false)
                return Self.write(DoorAnswer(.conflict, error.answer), to: asker)
            }
            // It waits for events, and for whoever reads slowly.
            DispatchQueue(label: "whisper-daemon-stream").async {
                Self.passEventsOn(seat, beginning: first, head, server.door, to: channel)
                server.leave(seat)
                server.door.streamEnded(for: consumer, of: server.core)
                channel.close(promise: nil)
            }
        }
    }

    /// Returns when nobody reads any more, the reader may not any more, or the core is closed. It blocks its thread.
    private static func passEventsOn(
        _ seat: CoreSeat, beginning first: [UInt8], _ request: HTTPRequestHead, _ door: any HTTPDoor,
        to channel: any Channel
    ) {
        var head = HTTPResponseHead(version: .http1_1, status: .ok, headers: door.headers)
        head.headers.add(contentsOf: ["content-type": "text/event-stream", "connection": "close"])
        head.headers.add(contentsOf: door.streamHeaders(of: request))
        guard (try? Self.begin(head, on: channel).wait()) != nil else { return }
        var event = first
        while true {
            let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: Self.text(of: event))))
            guard (try? channel.writeAndFlush(part).wait()) != nil else { return }
            guard let next = seat.nextEvent(until: .now() + DaemonHTTP.streamPause), channel.isActive,
                door.refusal(of: request) == nil
            else { return }
            event = next
        }
    }

    /// An event without a number leaves the reader's place where it is.
    private static func text(of event: [UInt8]) -> [UInt8] {
        guard !event.isEmpty else { return Array(":\n\n".utf8) }
        var text: [UInt8] = []
        if case .object(let members) = JSONText(event), let number = members["seq"] {
            text += Array("id: ".utf8) + number + [0x0A]
        }
        return text + Array("data: ".utf8) + event + Array("\n\n".utf8)
    }

    // MARK: Answers

    private static func write(_ answer: DoorAnswer, to asker: Asker) {
        let channel = asker.channel
        var head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: asker.door.headers)
        head.headers.add(contentsOf: answer.headers)
        if !asker.stays { head.headers.add(name: "connection", value: "close") }
        if answer.status != .noContent { head.headers.add(name: "content-length", value: "\(answer.body.count)") }
        if !answer.body.isEmpty { head.headers.add(name: "content-type", value: answer.type) }
        self.begin(head, on: channel).whenSuccess {
            if !answer.body.isEmpty {
                channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: answer.body))), promise: nil)
            }
            channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
                guard asker.stays else { return channel.close(promise: nil) }
                channel.pipeline.fireUserInboundEventTriggered(IsAnswered())
            }
        }
    }

    /// Begins an answer, unless the connection has ended. SwiftNIO answers a request that breaks off by itself, and closes: an
    /// answer of ours would be a second one.
    static func begin(_ head: HTTPResponseHead, on channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
        }
    }
}
