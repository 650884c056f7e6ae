import CNghttp2
import NIOCore

/// One connection of a peer: libnghttp2's server session behind TLS.
final class PeerConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let peer: HTTP2Peer
    private let number: Int
    private let streamsMax: UInt32
    private var session: OpaquePointer?
    private var context: ChannelHandlerContext?
    private var requests: [Int32: PeerRequest] = [:]
    private var bodies: [Int32: (bytes: [UInt8], written: Int)] = [:]
    private var lastProcessed: Int32 = 0
    private var open = 0
    private var dropsNow = false

    init(peer: HTTP2Peer, number: Int, streamsMax: UInt32) {
        self.peer = peer
        self.number = number
        self.streamsMax = streamsMax
    }

    deinit { nghttp2_session_del(self.session) }

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, user in
            PeerConnection.of(user).header(
                frame!.pointee.hd.stream_id,
                String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self),
                String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self))
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, data, count, user in
            PeerConnection.of(user).requests[stream]?.body += UnsafeBufferPointer(start: data, count: count)
            return 0
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
            let connection = PeerConnection.of(user)
            connection.requests[frame!.pointee.hd.stream_id] = PeerRequest(connection: connection.number)
            connection.open += 1
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            let header = frame!.pointee.hd
            if header.type == NGHTTP2_PING.rawValue { PeerConnection.of(user).peer.heardPing() }
            guard header.type == NGHTTP2_HEADERS.rawValue || header.type == NGHTTP2_DATA.rawValue,
                UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
            else { return 0 }
            PeerConnection.of(user).complete(header.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, user in
            PeerConnection.of(user).requests[stream] = nil
            PeerConnection.of(user).bodies[stream] = nil
            PeerConnection.of(user).open -= 1
            return 0
        }
        nghttp2_session_server_new(&self.session, callbacks, Unmanaged.passUnretained(self).toOpaque())
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: self.streamsMax)
        ]
        nghttp2_submit_settings(self.session, 0, settings, 1)
        self.write()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.session != nil else { return }
        let taken = self.unwrapInboundIn(data).withUnsafeReadableBytes {
            nghttp2_session_mem_recv(self.session, $0.baseAddress!.assumingMemoryBound(to: UInt8.self), $0.count)
        }
        if taken < 0 || self.dropsNow { return context.close(promise: nil) }
        self.write()
    }

    func channelInactive(context: ChannelHandlerContext) { self.context = nil }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    // MARK: Requests

    private static func of(_ user: UnsafeMutableRawPointer?) -> PeerConnection {
        Unmanaged.fromOpaque(user!).takeUnretainedValue()
    }

    private func header(_ stream: Int32, _ name: String, _ value: String) {
        switch name {
        case ":method": self.requests[stream]?.method = value
        case ":scheme": self.requests[stream]?.scheme = value
        case ":authority": self.requests[stream]?.authority = value
        case ":path": self.requests[stream]?.path = value
        default: self.requests[stream]?.headers[name] = value
        }
    }

    private func complete(_ stream: Int32) {
        guard let request = self.requests[stream] else { return }
        switch self.peer.heard(request, open: self.open) {
        case .answer(let status, let headers, let body):
            self.lastProcessed = max(self.lastProcessed, stream)
            self.respond(stream, status, headers, Array(body.utf8))
        case .answerAndGoAway(let status):
            self.lastProcessed = max(self.lastProcessed, stream)
            nghttp2_submit_goaway(self.session, 0, self.lastProcessed, NGHTTP2_NO_ERROR.rawValue, nil, 0)
            self.respond(stream, status, [], [])
        case .goAway:
            nghttp2_submit_goaway(self.session, 0, self.lastProcessed, NGHTTP2_NO_ERROR.rawValue, nil, 0)
        case .reset(let code): nghttp2_submit_rst_stream(self.session, 0, stream, code)
        case .drop: self.dropsNow = true
        case .stall: break
        case .answerWhen(let moment):
            self.lastProcessed = max(self.lastProcessed, stream)
            guard let loop = self.context?.eventLoop else { return }
            moment.hop(to: loop).assumeIsolated().whenSuccess {
                guard self.session != nil else { return }
                self.respond(stream, 200, [], [])
                self.write()
            }
        }
    }

    private func respond(_ stream: Int32, _ status: Int, _ headers: [(String, String)], _ body: [UInt8]) {
        self.bodies[stream] = (body, 0)
        var strings: [[UInt8]] = [Array(":status".utf8), Array("\(status)".utf8)]
        for (name, value) in headers { strings += [Array(name.utf8), Array(value.utf8)] }
        var storage = strings.flatMap { $0 }
        storage.withUnsafeMutableBufferPointer { storage in
            var start = storage.baseAddress!
            var fields: [nghttp2_nv] = []
            for index in stride(from: 0, to: strings.count, by: 2) {
                let (name, value) = (strings[index].count, strings[index + 1].count)
                fields.append(nghttp2_nv(name: start, value: start + name, namelen: name, valuelen: value, flags: 0))
                start += name + value
            }
            var provider = nghttp2_data_provider(source: nghttp2_data_source(fd: 0)) {
                _, stream, buffer, room, flags, _, user in
                let connection = PeerConnection.of(user)
                guard let (bytes, written) = connection.bodies[stream] else {
                    return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
                }
                let count = min(room, bytes.count - written)
                for index in 0..<count { buffer![index] = bytes[written + index] }
                connection.bodies[stream] = (bytes, written + count)
                if written + count == bytes.count { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
                return count
            }
            nghttp2_submit_response(self.session, stream, fields, fields.count, &provider)
        }
    }

    private func write() {
        guard let context = self.context else { return }
        var output = ByteBuffer()
        while true {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(self.session, &start)
            guard count > 0 else { break }
            output.writeBytes(UnsafeBufferPointer(start: start, count: count))
        }
        if output.readableBytes > 0 { context.writeAndFlush(self.wrapOutboundOut(output), promise: nil) }
        if nghttp2_session_want_read(self.session) == 0, nghttp2_session_want_write(self.session) == 0 {
            context.close(promise: nil)
        }
    }
}
