import Contract
import NIOCore

/// One client's socket and what the gateway knows about it. Owned by the `Gateway` actor.
final class Connection {
    let id: ConnectionID
    let channel: any Channel
    private(set) var socket: DirectSocket
    /// The socket's peer; once the request has been read, the client behind trusted proxies.
    var address: ClientAddress
    let openedAt: Int64

    enum Phase {
        /// TCP only; becomes `open` with the upgrade, or `closing`.
        case handshake
        /// A WebSocket. Becomes `closing`.
        case open
        /// A close frame is on its way. Of what the client sends, only its own close frame counts. Terminal.
        case closing(since: Int64)
    }

    var phase = Phase.handshake
    /// Counted among the open connections of its address.
    var isCounted = false
    /// Milliseconds of the gateway's clock at the last sign of life.
    var heardAt: Int64
    var bucket: TokenBucket
    /// Frames answered with INVALID_PAYLOAD since `invalidSince`.
    var invalidFrames: UInt8 = 0
    var invalidSince: Int64 = 0

    /// Whose the connection is, and which of its frames wait.
    var machine = ConnectionSession()
    /// What has been written to the client, and whether the router of the mailbox agrees.
    var deliveryCursor = DeliveryCursor(boundAt: Timestamp(milliseconds: 0))
    /// What its client knows of peers.
    var peersOnline = PeersOnline()

    /// Frames to be written at the end of this turn.
    var outgoing: ByteBuffer?

    init(id: ConnectionID, channel: any Channel, address: ClientAddress, bucket: TokenBucket, at now: Int64) {
        self.id = id
        self.channel = channel
        self.socket = DirectSocket(of: channel)
        self.address = address
        self.openedAt = now
        self.heardAt = now
        self.bucket = bucket
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

    /// Nothing has been said to end it.
    var isPresent: Bool {
        if case .closing = self.phase { false } else { true }
    }

    var isOpen: Bool {
        if case .open = self.phase { true } else { false }
    }

    /// Whether the second is this connection's turn. What concerns every connection is spread over many seconds.
    func isDue(every seconds: Int, at second: Int) -> Bool {
        (Int(truncatingIfNeeded: self.id.value) + second) % seconds == 0
    }

    /// Whose it is, or was when it ended.
    var session: Session? { self.machine.session }
}
