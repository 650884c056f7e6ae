import Contract
import Dispatch
import NIOCore
import NIOHTTP1
import WhisperCore

/// One request of a program: read to its end, answered, and the connection is gone. A stream of events lasts.
final class DaemonRequest: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: DaemonHTTP
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isAnswered = false
    private var overdue: Scheduled<Void>?
    private var stream: CoreSeat?

    init(_ server: DaemonHTTP) { self.server = server }

    func channelActive(context: ChannelHandlerContext) {
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
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isAnswered else { return }
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            self.close(context, in: DaemonHTTP.requestTimeout)
            if let refusal = self.refusal(of: head) { self.answer(refusal, context) }
        case .body(let part):
            guard self.body.count + part.readableBytes <= JSONRPC.lineBytesMax else {
                return self.answer(.init(.payloadTooLarge), context)
            }
            self.body += part.readableBytesView
        case .end:
            self.overdue?.cancel()
            self.isAnswered = true
            self.serve(context)
        }
    }

    // MARK: Requests

    private struct Answer: Sendable {
        var status: HTTPResponseStatus
        var body: [UInt8] = []

        init(_ status: HTTPResponseStatus, _ body: [UInt8] = []) {
            (self.status, self.body) = (status, body)
        }
    }

    private static let methods: [String: HTTPMethod] = ["/rpc": .POST, "/events": .GET, "/check": .GET]

    private static func path(of head: HTTPRequestHead) -> String { String(head.uri.prefix { $0 != "?" }) }

    private func refusal(of head: HTTPRequestHead) -> Answer? {
        let tokens = head.headers["authorization"]
        guard tokens.count == 1, self.server.token.isShown(in: tokens[0]) else { return Answer(.unauthorized) }
        guard let method = Self.methods[Self.path(of: head)] else { return Answer(.notFound) }
        return head.method == method ? nil : Answer(.methodNotAllowed)
    }

    private func serve(_ context: ChannelHandlerContext) {
        guard let head = self.head else { return context.close(promise: nil) }
        let (core, channel) = (self.server.core, context.channel)
        let query = Query(head.uri)
        guard let query else { return self.answer(.init(.badRequest), context) }
        switch Self.path(of: head) {
        case "/rpc":
            var seat: CoreSeat?
            if let consumer = query.consumer {
                seat = core.seat(of: consumer)
                // Otherwise nobody would get the server's answers.
                guard seat != nil else { return self.answer(.init(.conflict), context) }
            }
            Self.perform(self.body, core, seat, channel)
        case "/check": Self.check(core, channel)
        default: self.stream(head, query, context)
        }
    }

    private static func perform(_ body: [UInt8], _ core: Core, _ seat: CoreSeat?, _ channel: any Channel) {
        Task {
            let answer = await JSONRPC.answer(body, from: core, at: seat)
            Self.write(answer.map { Answer(.ok, $0) } ?? Answer(.noContent), to: channel)
        }
    }

    private static func check(_ core: Core, _ channel: any Channel) {
        Task {
            let check = await core.check()
            Self.write(Answer(check.isOnline ? .ok : .serviceUnavailable, check.status), to: channel)
        }
    }

    /// The part of the URI after the question mark.
    private struct Query {
        var consumer: String?

        /// - Returns: `nil` if something else stands there.
        init?(_ uri: String) {
            guard let mark = uri.firstIndex(of: "?") else { return }
            let text = uri[uri.index(after: mark)...]
            guard text.hasPrefix("consumer="), !text.contains("&"),
                let consumer = PercentCoding.decode(text.dropFirst("consumer=".count).utf8), !consumer.isEmpty
            else { return nil }
            self.consumer = consumer
        }
    }

    // MARK: Events

    private func stream(_ head: HTTPRequestHead, _ query: Query, _ context: ChannelHandlerContext) {
        guard let consumer = query.consumer else { return self.answer(.init(.badRequest), context) }
        var position: Int64?
        if let text = head.headers.first(name: "last-event-id"), !text.isEmpty {
            guard let number = Int64(text), number >= 0 else { return self.answer(.init(.badRequest), context) }
            position = number
        }
        guard let seat = self.server.seat() else { return self.answer(.init(.serviceUnavailable), context) }
        self.stream = seat
        Self.stream(consumer, after: position, seat, self.server, context.channel)
    }

    private static func stream(
        _ consumer: String, after position: Int64?, _ seat: CoreSeat, _ server: DaemonHTTP, _ channel: any Channel
    ) {
        Task {
            if let error = await seat.refusalToRead(for: consumer, after: position) {
                server.leave(seat)
                return Self.write(Answer(.conflict, error.answer), to: channel)
            }
            // It waits for events, and for whoever reads slowly.
            DispatchQueue(label: "whisper-daemon-stream").async {
                Self.passEventsOn(seat, to: channel)
                server.leave(seat)
                channel.close(promise: nil)
            }
        }
    }

    /// Returns when nobody reads any more, or the core is closed. It blocks its thread.
    private static func passEventsOn(_ seat: CoreSeat, to channel: any Channel) {
        var head = HTTPResponseHead(version: .http1_1, status: .ok)
        head.headers = ["content-type": "text/event-stream", "cache-control": "no-store", "connection": "close"]
        guard (try? channel.writeAndFlush(HTTPServerResponsePart.head(head)).wait()) != nil else { return }
        while channel.isActive, let event = seat.nextEvent(until: .now() + DaemonHTTP.streamPause) {
            let text = Self.text(of: event)
            let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: text)))
            guard (try? channel.writeAndFlush(part).wait()) != nil else { return }
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

    private func answer(_ answer: Answer, _ context: ChannelHandlerContext) {
        self.isAnswered = true
        self.overdue?.cancel()
        Self.write(answer, to: context.channel)
    }

    private static func write(_ answer: Answer, to channel: any Channel) {
        var head = HTTPResponseHead(version: .http1_1, status: answer.status)
        head.headers = ["connection": "close", "cache-control": "no-store"]
        if answer.status != .noContent { head.headers.add(name: "content-length", value: "\(answer.body.count)") }
        if !answer.body.isEmpty { head.headers.add(name: "content-type", value: "application/json") }
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        if !answer.body.isEmpty {
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: answer.body))), promise: nil)
        }
        channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in channel.close(promise: nil) }
    }
}
