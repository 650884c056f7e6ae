import Foundation
import NIOCore

/// The request that asks for a WebSocket.
struct UpgradeHead: Sendable {
    var path: String
    var host: String
    var headers: [String: String]

    var text: String {
        let key = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        let lines = [
            "GET \(self.path) HTTP/1.1", "Host: \(self.host)", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13",
        ]
        return (lines + self.headers.map { "\($0): \($1)" }).joined(separator: "\r\n") + "\r\n\r\n"
    }
}

/// Upgrades one connection, then puts what the server says into the inbox and does what a WebSocket client must:
/// answers pings, and the server's goodbye. On the channel's event loop alone.
final class ClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: UpgradeHead
    private let inbox: Inbox
    private let opened: EventLoopPromise<Void>
    private var received = ByteBuffer()
    private var isOpen = false
    private var hasSaidGoodbye = false

    init(request: UpgradeHead, inbox: Inbox, opened: EventLoopPromise<Void>) {
        self.request = request
        self.inbox = inbox
        self.opened = opened
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: self.request.text)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.received.writeBuffer(&bytes)
        if !self.isOpen { self.readHead(context) }
        if self.isOpen { self.readFrames(context) }
        self.received.discardReadBytes()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.opened.fail(ChannelError.eof)
        self.inbox.end(.dropped)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.opened.fail(error)
        context.close(promise: nil)
    }

    private func readHead(_ context: ChannelHandlerContext) {
        let text = String(buffer: self.received)
        guard let end = text.range(of: "\r\n\r\n") else { return }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let status = Int(lines[0].split(separator: " ")[1]) ?? 0
        if status == 101 {
            self.received.moveReaderIndex(forwardBy: text[..<end.upperBound].utf8.count)
            self.isOpen = true
            return self.opened.succeed()
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let body = text[end.upperBound...]
        guard body.utf8.count >= Int(headers["content-length"] ?? "0") ?? 0 else { return }
        self.opened.fail(TestClient.Refused(status: status, headers: headers, body: String(body)))
        context.close(promise: nil)
    }

    private func readFrames(_ context: ChannelHandlerContext) {
        do {
            while let (opcode, payload) = try IncomingFrame.next(&self.received) {
                try self.handle(opcode, payload, context)
            }
        } catch {
            // Not the protocol that the contract knows: the test sees it as a connection that broke.
            context.close(promise: nil)
        }
    }

    private func handle(_ opcode: ClientFraming.Opcode, _ payload: [UInt8], _ context: ChannelHandlerContext) throws {
        switch opcode {
        case .text:
            let envelope = try JSON(parsing: payload)
            guard let type = envelope["type"]?.string, let body = envelope["payload"] else {
                throw IncomingFrame.Malformed.unknown
            }
            let frame = JSONFrame(
                type: type, requestID: envelope["requestId"]?.string, payload: body,
                text: String(decoding: payload, as: UTF8.self), arrivedAt: .now)
            guard self.inbox.add(frame) else {
                self.inbox.end(.flooded)
                return context.close(promise: nil)
            }
        case .ping:
            guard self.inbox.answersPings else { return }
            self.write(.pong, payload, context)
        case .pong: self.inbox.add(pong: payload)
        case .close:
            let code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005
            self.inbox.end(.closed(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self)))
            guard !self.hasSaidGoodbye, self.inbox.answersClose else { return }
            self.hasSaidGoodbye = true
            self.write(.close, Array(payload.prefix(2)), context)
        default: throw IncomingFrame.Malformed.unknown
        }
    }

    private func write(_ opcode: ClientFraming.Opcode, _ payload: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(
            self.wrapOutboundOut(ByteBuffer(bytes: ClientFraming.frame(opcode, payload))), promise: nil)
    }
}
