import CNghttp2

/// The client's side of one HTTP/2 connection (RFC 9113), by libnghttp2: eats bytes, yields bytes and events. Holds no
/// socket and no clock. Used by one thread.
final class HTTP2Session {
    enum Event {
        /// The peer's SETTINGS are known: requests may be sent.
        case ready
        case answered(stream: Int32, HTTP2Response)
        /// - Parameter isUntouched: the peer says that it has not looked at the request.
        case failed(stream: Int32, isUntouched: Bool)
        /// The peer takes no more requests on this connection; those it has taken go on.
        case goingAway
        case pong
    }

    private struct Exchange {
        var body: [UInt8]
        var bodyWritten = 0
        var status = 0
        var headers: [(name: String, value: String)] = []
        var headerBytes = 0
        var answer: [UInt8] = []
        var isComplete = false
    }

    private var session: OpaquePointer?
    private var exchanges: [Int32: Exchange] = [:]
    private var events: [Event] = []
    private let authority: String

    /// - Parameter authority: host, and port if it is not 443.
    init(authority: String) {
        self.authority = authority
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, user in
            HTTP2Session.of(user).header(
                frame!.pointee.hd.stream_id, UnsafeBufferPointer(start: name, count: nameCount),
                UnsafeBufferPointer(start: value, count: valueCount))
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, data, count, user in
            HTTP2Session.of(user).data(stream, UnsafeBufferPointer(start: data, count: count))
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            HTTP2Session.of(user).frame(frame!)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, user in
            HTTP2Session.of(user).closed(stream, code)
            return 0
        }
        nghttp2_session_client_new(&self.session, callbacks, Unmanaged.passUnretained(self).toOpaque())
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(HTTP2Limits.answerHeaderBytesMax)),
        ]
        nghttp2_submit_settings(self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    }

    deinit { nghttp2_session_del(self.session) }

    /// Requests that the peer lets us have under way at a time.
    var streamsMax: Int {
        Int(nghttp2_session_get_remote_settings(self.session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    var streamsOpen: Int { self.exchanges.count }

    /// - Returns: the stream; nil if this connection takes no more.
    func submit(_ request: HTTP2Request) -> Int32? {
        var strings: [[UInt8]] = [
            Array(":method".utf8), Array("POST".utf8), Array(":scheme".utf8), Array("https".utf8),
            Array(":authority".utf8), Array(self.authority.utf8), Array(":path".utf8), Array(request.path.utf8),
        ]
        for (name, value) in request.headers { strings += [Array(name.utf8), Array(value.utf8)] }
        strings += [Array("content-length".utf8), Array("\(request.body.count)".utf8)]
        // One piece of memory for all of them: libnghttp2 copies names and values before it returns.
        var storage = strings.flatMap { $0 }
        let stream = storage.withUnsafeMutableBufferPointer { storage in
            var fields: [nghttp2_nv] = []
            var start = storage.baseAddress!
            for index in stride(from: 0, to: strings.count, by: 2) {
                let (name, value) = (strings[index].count, strings[index + 1].count)
                // Tokens change with every request or are secret: they stay out of the compression's memory.
                let isPlain = !["authorization", ":path"].contains { $0.utf8.elementsEqual(strings[index]) }
                fields.append(
                    nghttp2_nv(
                        name: start, value: start + name, namelen: name, valuelen: value,
                        flags: UInt8(isPlain ? NGHTTP2_NV_FLAG_NONE.rawValue : NGHTTP2_NV_FLAG_NO_INDEX.rawValue)))
                start += name + value
            }
            var provider = nghttp2_data_provider(source: nghttp2_data_source(fd: 0)) {
                _, stream, buffer, room, flags, _, user in
                HTTP2Session.of(user).read(stream, into: UnsafeMutableBufferPointer(start: buffer, count: room), flags!)
            }
            return nghttp2_submit_request(self.session, nil, fields, fields.count, &provider, nil)
        }
        guard stream > 0 else { return nil }
        self.exchanges[stream] = Exchange(body: request.body)
        return stream
    }

    /// Forgets a request; the peer is told that nobody waits for its answer.
    func cancel(_ stream: Int32) {
        guard self.exchanges.removeValue(forKey: stream) != nil else { return }
        nghttp2_submit_rst_stream(self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_CANCEL.rawValue)
    }

    func ping() {
        nghttp2_submit_ping(self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Says goodbye: no request is under way.
    func end() {
        nghttp2_session_terminate_session(self.session, NGHTTP2_NO_ERROR.rawValue)
    }

    /// Events since the last call. Received bytes cause some, and written bytes may, too: a reset stream closes when
    /// its reset leaves.
    func takeEvents() -> [Event] {
        defer { self.events = [] }
        return self.events
    }

    /// - Returns: whether the peer speaks HTTP/2.
    func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let taken = nghttp2_session_mem_recv(
            self.session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        return taken == bytes.count
    }

    /// Everything that is to be written now, piece by piece. Memory of libnghttp2, valid until the next call.
    func takeOutput(_ write: (UnsafeRawBufferPointer) -> Void) {
        while true {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(self.session, &start)
            guard count > 0, let start else { return }
            write(UnsafeRawBufferPointer(start: start, count: count))
        }
    }

    // MARK: What libnghttp2 calls

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2Session {
        Unmanaged.fromOpaque(user!).takeUnretainedValue()
    }

    private func read(
        _ stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>, _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard var exchange = self.exchanges[stream] else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
        let count = min(buffer.count, exchange.body.count - exchange.bodyWritten)
        _ = buffer.update(fromContentsOf: exchange.body[exchange.bodyWritten..<exchange.bodyWritten + count])
        exchange.bodyWritten += count
        if exchange.bodyWritten == exchange.body.count { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        self.exchanges[stream] = exchange
        return count
    }

    private func header(
        _ stream: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        guard self.exchanges[stream] != nil else { return 0 }
        let text = String(decoding: value, as: UTF8.self)
        if name.elementsEqual(":status".utf8) {
            // 1xx come before the answer itself (RFC 9110 §15.2).
            self.exchanges[stream]?.status = Int(text) ?? 0
            self.exchanges[stream]?.headers = []
            return 0
        }
        let bytes = (self.exchanges[stream]?.headerBytes ?? 0) + name.count + value.count
        guard bytes <= HTTP2Limits.answerHeaderBytesMax else { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue }
        self.exchanges[stream]?.headerBytes = bytes
        self.exchanges[stream]?.headers.append((String(decoding: name, as: UTF8.self), text))
        return 0
    }

    private func data(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard let exchange = self.exchanges[stream] else { return 0 }
        guard exchange.answer.count + bytes.count <= HTTP2Limits.answerBytesMax else {
            nghttp2_submit_rst_stream(
                self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
            return 0
        }
        self.exchanges[stream]?.answer.append(contentsOf: bytes)
        return 0
    }

    private func frame(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = frame.pointee.hd
        let type = UInt32(header.type)
        if type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue {
            if UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                self.exchanges[header.stream_id]?.isComplete = true
            }
        } else if type == NGHTTP2_SETTINGS.rawValue {
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { self.events.append(.ready) }
        } else if type == NGHTTP2_PING.rawValue {
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 { self.events.append(.pong) }
        } else if type == NGHTTP2_GOAWAY.rawValue {
            self.events.append(.goingAway)
        }
    }

    private func closed(_ stream: Int32, _ code: UInt32) {
        guard let exchange = self.exchanges.removeValue(forKey: stream) else { return }
        // An answer may end before the request does; the peer then resets the stream without an error (RFC 9113 §8.1).
        if exchange.isComplete, exchange.status >= 200, code == NGHTTP2_NO_ERROR.rawValue {
            self.events.append(
                .answered(
                    stream: stream,
                    HTTP2Response(status: exchange.status, headers: exchange.headers, body: exchange.answer)))
        } else {
            // Streams above a GOAWAY's last one are closed with this code by libnghttp2 itself.
            self.events.append(.failed(stream: stream, isUntouched: code == NGHTTP2_REFUSED_STREAM.rawValue))
        }
    }
}
