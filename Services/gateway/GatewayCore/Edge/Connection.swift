import ClusterContract
import Contract
import NIOCore

/// One client's socket and what the gateway knows about it. Owned by the `Gateway` actor.
final class Connection {
    let id: ConnectionID
    let channel: any Channel
    private var socket: DirectSocket
    /// The socket's peer; once the request has been read, the client behind trusted proxies.
    private(set) var address: ClientAddress
    var openedAt: Int64

    enum Phase {
        /// TCP only; becomes `open` with the upgrade, or `closing`.
        case handshake
        /// A WebSocket. Becomes `closing`.
        case open
        /// A close frame is on its way. Only the client's own close frame still counts. Terminal.
        /// - until: when the socket goes at the latest.
        case closing(until: Int64)
    }

    private(set) var phase = Phase.handshake
    /// Counted among the open connections of its address.
    private(set) var isCounted = false
    /// Milliseconds of the gateway's clock at the last sign of life.
    private(set) var heardAt: Int64
    private var bucket: TokenBucket
    /// Frames answered with INVALID_PAYLOAD since `invalidSince`.
    private var invalidFrames: UInt8 = 0
    private var invalidSince: Int64 = 0

    /// The connection's session or guest, and its waiting frames.
    var machine = ConnectionSession()
    /// How far mail has been written to the client, and whether the mailbox's router agrees.
    var deliveryCursor = DeliveryCursor(boundAt: Timestamp(milliseconds: 0))
    /// Peers that the client was told are online.
    private var peersOnline = PeersOnline()

    /// Frames to be written at the end of this turn.
    private var outgoing: ByteBuffer?

    init(id: ConnectionID, channel: any Channel, address: ClientAddress, bucket: TokenBucket, at now: Int64) {
        self.id = id
        self.channel = channel
        self.socket = DirectSocket(of: channel)
        self.address = address
        self.openedAt = now
        self.heardAt = now
        self.bucket = bucket
    }

    /// The proxies in front have named the client.
    func comes(from client: ClientAddress) { self.address = client }

    /// The request was answered: from here on it is a WebSocket.
    func becomesWebSocket(at now: Int64) {
        self.phase = .open
        self.isCounted = true
        self.heardAt = now
    }

    func heard(at now: Int64) { self.heardAt = now }

    func beginsClosing(at now: Int64, lingering linger: Duration = GatewayLimits.closeLinger) {
        self.phase = .closing(until: now + linger.milliseconds)
    }

    /// Counts a frame against the connection's own rate.
    /// - Returns: the milliseconds to wait; `nil` if the frame is admitted.
    func takeFrame(_ limit: TokenBucket.Rule, at now: Int64) -> Int64? { self.bucket.take(limit, at: now) }

    /// - Returns: whether the client has sent more invalid frames within a minute than it may.
    func countInvalidFrame(at now: Int64) -> Bool {
        if now - self.invalidSince > 60_000 {
            self.invalidSince = now
            self.invalidFrames = 0
        }
        self.invalidFrames += 1
        return Int(self.invalidFrames) > Limits.invalidFramesPerMinuteMax
    }

    /// - Returns: whether the peer's state is news to the client.
    func hears(_ state: PresenceState, of peer: WhisperID) -> Bool { self.peersOnline.hears(state, of: peer) }

    /// Has `body` put frames at the end of what is written at the end of this turn.
    /// - Returns: whether these are the first.
    func append(_ body: (inout ByteBuffer) -> Void) -> Bool {
        let isFirst = self.outgoing == nil
        if isFirst { self.outgoing = self.channel.allocator.buffer(capacity: 512) }
        body(&self.outgoing!)
        return isFirst
    }

    /// The same with bytes that several clients get. They are copied only where something else is written in this turn.
    func append(_ shared: ByteBuffer) -> Bool {
        guard self.outgoing == nil else {
            self.outgoing!.writeImmutableBuffer(shared)
            return false
        }
        self.outgoing = shared
        return true
    }

    func takeOutgoing() -> ByteBuffer? {
        defer { self.outgoing = nil }
        return self.outgoing
    }

    /// Writes to the client.
    /// - Returns: whether the socket has taken everything.
    func send(_ bytes: ByteBuffer) -> Bool {
        let taken = self.socket.send(bytes, of: self.channel)
        guard taken < bytes.readableBytes else { return true }
        var rest = bytes
        rest.moveReaderIndex(forwardBy: taken)
        self.socket.queue()
        self.channel.writeAndFlush(rest).assumeIsolated().whenComplete { _ in self.socket.leftQueue() }
        return false
    }

    /// Bytes that the socket has not taken yet.
    var unsentBytes: Int { (try? self.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// Nothing has been said to end it.
    var isPresent: Bool {
        if case .closing = self.phase { false } else { true }
    }

    var isOpen: Bool {
        if case .open = self.phase { true } else { false }
    }

    /// Whether the second is this connection's turn. Work for every connection is spread over many seconds.
    func isDue(every seconds: Int, at second: Int) -> Bool {
        (Int(truncatingIfNeeded: self.id.value) + second) % seconds == 0
    }

    /// The connection's session; after the connection has ended, its last one.
    var session: Session? { self.machine.session }
}
