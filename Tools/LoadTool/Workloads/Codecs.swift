import Contract
import Foundation
import GatewayCore
import Glibc
import NIOCore
import NIOEmbedded
import NIOWebSocket
import TestKit

/// Measures the cost of this project's JSON, WebSocket and HTTP/2 code beside Foundation's and NIO's. JSON and
/// WebSocket have a `send_message` of 1 kB. Both run in one process, in turn; the least of several rounds counts,
/// because the machine may do other things.
func measureCodecs(_ options: LoadOptions) async throws -> Report {
    let count = options.count ?? 20_000
    let message = Array(codecMessage.utf8)
    var (json, foundation) = (Double.infinity, Double.infinity)
    var (ours, nio) = (Double.infinity, Double.infinity)
    var checks = ["not decoded": 0, "decoded otherwise": 0]
    let buffer = maskedFrames(of: message)
    for _ in 0..<rounds {
        json = min(json, try microseconds(count) { if try decoded(message) == nil { checks["not decoded"]! += 1 } })
        let decoder = JSONDecoder()
        let bytes = Data(message)
        foundation = min(
            foundation,
            try microseconds(count) {
                let frame = try decoder.decode(FoundationFrame.self, from: bytes)
                if frame.payload.ciphertext.isEmpty { checks["decoded otherwise"]! += 1 }
            })
        ours = min(
            ours,
            try microseconds(count) {
                var (parser, input) = (WebSocketParser(messageBytesMax: Limits.frameBytesMax), buffer)
                guard case .text(let text) = try parser.next(&input), text.count == message.count else {
                    checks["not decoded"]! += 1
                    return
                }
            })
        let channel = EmbeddedChannel(
            handler: ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: Limits.frameBytesMax)))
        nio = min(
            nio,
            try microseconds(count) {
                try channel.writeInbound(buffer)
                guard var text = try channel.readInbound(as: WebSocketFrame.self)?.unmaskedData,
                    text.readBytes(length: text.readableBytes)?.count == message.count
                else { return checks["decoded otherwise"]! += 1 }
            })
    }
    var requests = try RequestCost()
    for _ in 0..<rounds { try await requests.measure(count) }
    checks["not answered"] = requests.unanswered
    return Report(
        .codecs,
        figures: [
            Figure("JSON frame, ours", json, "µs"), Figure("JSON frame, Foundation's JSONDecoder", foundation, "µs"),
            Figure("WebSocket message, ours", ours, "µs"), Figure("WebSocket message, NIOWebSocket", nio, "µs"),
            Figure("HTTP/2 request, ours over libnghttp2", requests.ours, "µs"),
            Figure("HTTP/2 request, swift-nio-http2", requests.nio, "µs"),
        ], tables: [], checks: checks.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let rounds = 5

/// Processor time of this thread for each of `count` calls.
private func microseconds(_ count: Int, _ body: () throws -> Void) rethrows -> Double {
    for _ in 0..<count / 10 { try body() }
    let start = threadMicroseconds()
    for _ in 0..<count { try body() }
    return (threadMicroseconds() - start) / Double(count)
}

/// Processor time of this thread so far.
func threadMicroseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1_000_000 + Double(time.tv_nsec) / 1_000
}

private func decoded(_ message: [UInt8]) throws -> SignedEnvelope? {
    let envelope = try FrameDecoder.envelope(of: message)
    guard let definition = FrameCatalogue.definition(of: envelope.type) else { return nil }
    return try SendMessage(try FrameDecoder.payload(envelope, of: message, schema: definition.schema)).envelope
}

/// The same fields, typed as far as Foundation types them. It refuses neither unknown nor repeated fields, and checks no bound.
private struct FoundationFrame: Decodable {
    struct Payload: Decodable {
        var protocolVersion: Int
        var cryptoVersion: Int
        var sessionToken: String
        var messageId: UUID
        var from: String
        var to: String
        var msgType: String
        var timestamp: Int64
        var nonce: Data
        var ciphertext: Data
        var sig: Data
    }

    var type: String
    var requestId: String?
    var payload: Payload
}

private let codecMessage: String = {
    let ciphertext = Data((0..<768).map { UInt8(truncatingIfNeeded: $0 &* 37) }).base64EncodedString()
    return #"{"type":"send_message","requestId":"r1","payload":{"protocolVersion":1,"cryptoVersion":1,"#
        + #""sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","#
        + #""messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-JBPU-D452-TLT4","to":"WSP-AAAA-AAAA-AAAA","#
        + #""msgType":"text","timestamp":1730000000000,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","#
        + #""ciphertext":"\#(ciphertext)","sig":"\#(String(repeating: "A", count: 86))=="}}"#
}()

/// The message as a client writes it.
private func maskedFrames(of message: [UInt8]) -> ByteBuffer {
    var buffer = ByteBuffer()
    ClientFraming.write(.text, count: message.count, mask: 0x1234_5678, to: &buffer) {
        $0.copyBytes(from: message)
    }
    return buffer
}
