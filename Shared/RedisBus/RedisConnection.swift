import Bus
import DequeModule
import NIOCore

/// One TCP connection to the server, from its first byte to its last; `RedisDial` makes them.
///
/// Commands are written into one buffer that leaves at the end of the event loop's turn, and answers are matched to
/// them in order. When the connection ends, every command without an answer fails, once. Lives on its event loop.
final class RedisConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        /// In a pipeline that is not connected yet.
        case fresh
        case open(ChannelHandlerContext)
        /// Terminal. Nothing is written, nothing is waiting.
        case closed
    }

    let eventLoop: any EventLoop
    private let reader = ReplyReader()
    private var state = State.fresh

    /// Written this turn, or since the socket stopped taking bytes.
    private var writeBuffer: ByteBuffer
    private var flushIsDue = false
    private var isFlushing = false
    /// Commands without an answer, oldest first.
    private var waiting: Deque<(handler: ReplyHandler, textMax: Int)> = []

    /// Answers for which nobody waits stay in the socket until something else is to be done, or for `RedisLimits.unreadMax`: most
    /// commands have such answers, and each would wake the thread once more.
    private var isLazy = false
    /// The number of commands in `waiting` whose answers a caller awaits.
    private var awaited = 0
    /// The number of commands in `waiting` that were written in this turn.
    private var writtenNow = 0
    private var nextRead: Scheduled<Void>?
    /// When the socket was last looked at for answers.
    private var lookedAt = NIODeadline.uptimeNanoseconds(0)

    private var replyMonitor = ReplyTimeoutMonitor()
    private var nextLook: Scheduled<Void>?
    private var isPingDue = false

    /// Told once, when commands can be written.
    var onOpen: (() -> Void)?
    /// For a connection that subscribes: sees each answer first and says whether it was news, not an answer.
    var onNews: ((borrowing Reply) -> Bool)?
    /// Told of each answer by which a node of a cluster refuses a command that belongs to another.
    var onMisrouted: (() -> Void)?
    /// Told once, after the commands without an answer were failed.
    var onClose: (() -> Void)?

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.writeBuffer = ByteBufferAllocator().buffer(capacity: 4_096)
    }

    var isOpen: Bool {
        if case .open = self.state { true } else { false }
    }

    /// Commands written in all, and how many of them have no answer.
    var commands: (issued: UInt64, inFlight: Int) { (self.replyMonitor.issued, self.waiting.count) }

    // MARK: Commands

    /// Writes `command` into this turn's buffer. `handler` is told at once if that cannot be.
    func send(_ command: RedisCommand, _ handler: ReplyHandler) {
        guard case .open = self.state else { return handler.fail(.unavailable) }
        guard self.waiting.count < BusLimits.commandsInFlightMax,
            self.writeBuffer.readableBytes < BusLimits.bytesWaitingMax
        else { return handler.fail(.full) }
        command.write(into: &self.writeBuffer)
        self.expect(handler, textMax: command.textMax)
        self.flushSoon()
    }

    /// Says that one more answer will come for the command just sent.
    func expect(_ handler: ReplyHandler, textMax: Int = .max) {
        self.waiting.append((handler, textMax))
        self.replyMonitor.issued &+= 1
        self.writtenNow += 1
        guard self.isLazy else { return }
        if handler.isAwaited {
            self.awaited += 1
            self.readNow()
        } else {
            self.readSoon()
        }
    }

    // MARK: Reading

    /// From here on only awaited answers are read as soon as they come. Not for a connection that hears news.
    func readLazily() {
        guard case .open(let context) = self.state else { return }
        self.isLazy = true
        self.awaited = self.waiting.count { $0.handler.isAwaited }
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        if self.awaited > 0 { self.readNow() } else if !self.waiting.isEmpty { self.readSoon() }
    }

    private func readNow() {
        guard case .open(let context) = self.state else { return }
        self.lookedAt = .now()
        context.read()
    }

    private func readSoon() {
        guard self.nextRead == nil else { return }
        self.nextRead = self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(RedisLimits.unreadMax)) {
            self.nextRead = nil
            if !self.waiting.isEmpty { self.readNow() }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard self.isLazy else { return }
        if self.awaited > 0 { context.read() } else if !self.waiting.isEmpty { self.readSoon() }
    }

    func close() {
        let old = self.state
        // The channel tells us later that it is inactive; what waits must not wait for that.
        self.end()
        if case .open(let context) = old { context.close(promise: nil) }
    }

    private func flushSoon() {
        guard !self.flushIsDue else { return }
        self.flushIsDue = true
        self.eventLoop.assumeIsolatedUnsafeUnchecked().execute { self.flush() }
    }

    private func flush() {
        self.flushIsDue = false
        // The thread is awake anyway: what has been answered since the last look is read.
        if self.isLazy, self.waiting.count > self.writtenNow,
            .now() - self.lookedAt >= TimeAmount(RedisLimits.unreadMin)
        {
            self.readNow()
        }
        self.writtenNow = 0
        // While the socket takes no bytes the write buffer grows (`channelWritabilityChanged`).
        // Writing may call back here.
        guard case .open(let context) = self.state, self.writeBuffer.readableBytes > 0,
            context.channel.isWritable, !self.isFlushing
        else { return }
        self.isFlushing = true
        context.writeAndFlush(self.wrapOutboundOut(self.writeBuffer), promise: nil)
        self.isFlushing = false
        self.emptyWriteBuffer()
    }

    /// Keeps the memory of the write buffer if the socket took all of it and the buffer is small.
    private func emptyWriteBuffer() {
        if self.writeBuffer.capacity > RedisLimits.memoryKeptMax {
            self.writeBuffer = ByteBufferAllocator().buffer(capacity: 4_096)
        } else {
            self.writeBuffer.clear()
        }
    }

    // MARK: Watch

    /// From here on an old unanswered command ends the connection, and a quiet connection is pinged.
    func watchForReplies() {
        let every = TimeAmount(RedisLimits.watchEvery)
        self.nextLook = self.eventLoop.assumeIsolated().scheduleTask(in: every) {
            guard self.isOpen else { return }
            guard self.replyMonitor.check(unanswered: self.waiting.count) else { return self.close() }
            // Every other time, since an answer wakes two processes. But whoever subscribes asks nothing else: without a ping
            // nobody notices that news stay away.
            self.isPingDue = !self.isPingDue || self.onNews != nil
            if self.waiting.isEmpty, self.isPingDue { self.send(.ping, .nobody) }
            self.watchForReplies()
        }
    }

    // MARK: Channel

    func channelActive(context: ChannelHandlerContext) {
        // Closed while it was connecting.
        guard case .fresh = self.state else { return context.close(promise: nil) }
        self.state = .open(context)
        self.onOpen?()
        self.onOpen = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.isOpen else { return }
        let isProtocol = self.unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            self.limitText()
            return self.reader.feed(bytes) { reply in
                if let onNews = self.onNews, onNews(reply) { return self.isOpen }
                guard let waiting = self.waiting.popFirst() else { return false }
                if self.isLazy, waiting.handler.isAwaited { self.awaited -= 1 }
                self.limitText()
                if let onMisrouted = self.onMisrouted, reply.isMisrouted { onMisrouted() }
                waiting.handler.hear(reply)
                return self.isOpen
            }
        }
        if !isProtocol { self.close() }
    }

    private func limitText() { self.reader.limitText(to: self.waiting.first?.textMax ?? .max) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.flush() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.close()
    }

    private func end() {
        if case .closed = self.state { return }
        self.state = .closed
        self.onOpen = nil
        self.nextLook?.cancel()
        self.nextRead?.cancel()
        let unanswered = self.waiting
        self.waiting = []
        self.writeBuffer.clear()
        for waiting in unanswered { waiting.handler.fail(.unavailable) }
        self.onClose?()
        self.onClose = nil
        self.onNews = nil
        self.onMisrouted = nil
    }
}
