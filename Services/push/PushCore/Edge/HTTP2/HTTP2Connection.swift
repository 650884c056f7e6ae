import NIOCore
import NIOTLS

/// One TLS connection that speaks HTTP/2, from its first byte to its last. Lives on its event loop.
final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        /// Not connected, or TLS is not agreed yet. Goes to `open` or `closed`.
        case fresh
        case open(ChannelHandlerContext)
        /// Terminal.
        case closed
    }

    enum News {
        case event(HTTP2Session.Event)
        /// Terminal; reported once. Requests under way are lost.
        case closed
    }

    private let session: HTTP2Session
    private var state = State.fresh
    private var context: ChannelHandlerContext?
    private var output = ByteBuffer()
    private var flushIsDue = false
    private var awaitsPong = false
    /// The peer takes no more requests here.
    private(set) var isDraining = false
    /// The peer's SETTINGS have come.
    private(set) var isReady = false
    /// The peer has answered a request.
    private(set) var hasAnswered = false
    /// Its name could not be looked up beside those of others.
    var isCrowdedOut = false

    var onNews: ((News) -> Void)?

    init(authority: String) {
        self.session = HTTP2Session(authority: authority)
    }

    var takesRequests: Bool { self.isReady && !self.isDraining && self.isOpen }

    private var isOpen: Bool {
        if case .open = self.state { true } else { false }
    }

    var streamsOpen: Int { self.session.streamsOpen }

    var hasRoom: Bool { self.takesRequests && self.streamsOpen < min(self.session.streamsMax, HTTP2Limits.streamsMax) }

    /// - Returns: the request's stream; nil if it cannot be sent here.
    func send(_ request: HTTP2Request) -> Int32? {
        guard self.takesRequests else { return nil }
        defer { self.flushSoon() }
        return self.session.submit(request)
    }

    func cancel(_ stream: Int32) {
        self.session.cancel(stream)
        self.flushSoon()
    }

    /// Asks whether the peer is still there.
    /// - Returns: false if it has not answered the last time; the connection is then closed.
    func ping() -> Bool {
        guard !self.awaitsPong else {
            self.close()
            return false
        }
        guard self.isReady else { return true }
        self.awaitsPong = true
        self.session.ping()
        self.flushSoon()
        return true
    }

    func close() {
        if case .open = self.state {
            self.session.end()
            self.flush()
        }
        let context = self.context
        self.end()
        context?.close(promise: nil)
    }

    /// Everything that one turn of the loop has to say leaves in one write, and so in as few TLS records as possible.
    private func flushSoon() {
        guard !self.flushIsDue, case .open(let context) = self.state else { return }
        self.flushIsDue = true
        context.eventLoop.assumeIsolatedUnsafeUnchecked().execute {
            self.flushIsDue = false
            self.flush()
        }
    }

    private func flush() {
        guard case .open(let context) = self.state else { return }
        self.output.clear()
        self.session.takeOutput { self.output.writeBytes($0) }
        if self.output.readableBytes > 0 {
            context.writeAndFlush(self.wrapOutboundOut(self.output), promise: nil)
        }
        self.tellEvents()
    }

    private func tellEvents() {
        for event in self.session.takeEvents() {
            switch event {
            case .ready: self.isReady = true
            case .goingAway: self.isDraining = true
            case .pong: self.awaitsPong = false
            case .answered: self.hasAnswered = true
            case .failed: break
            }
            self.onNews?(.event(event))
        }
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        // Its time may have been over before it was connected.
        if case .closed = self.state { return context.close(promise: nil) }
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let agreed) = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        // A peer that does not agree on h2 would be shown a preface that it takes for a bad request (RFC 9113 §3.2).
        guard agreed == "h2", case .fresh = self.state else { return self.close() }
        self.state = .open(context)
        self.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.isOpen else { return }
        let isProtocol = self.unwrapInboundIn(data).withUnsafeReadableBytes { self.session.received($0) }
        self.tellEvents()
        guard isProtocol else { return self.close() }
        self.flushSoon()
    }

    func channelInactive(context: ChannelHandlerContext) { self.end() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let context = self.context
        self.end()
        context?.close(promise: nil)
    }

    private func end() {
        if case .closed = self.state { return }
        self.state = .closed
        let onNews = self.onNews
        self.onNews = nil
        onNews?(.closed)
    }
}
