import Contract
import DequeModule

/// Content that one connection has not read yet (contract §14.10).
///
/// A ping follows each part of it. Content that no pong has covered counts as unread, so that buffers of kernels and
/// balancers count too. A listener with too much unread content has no queue: it is a position in the memory of its
/// streams.
struct UnreadContent {
    private struct Ping {
        var number: UInt64
        /// Content before it, behind the ping before.
        var bytes: Int
        var at: Int64
    }

    /// Bytes.
    private(set) var bytes = 0
    /// Nothing more is written until enough is read.
    private(set) var isBehind = false
    private var behindLastPing = 0
    private var lastNumber: UInt64 = 0
    private var pings: Deque<Ping> = []

    /// Whether a packet may be written. If not, the listener falls behind.
    mutating func takes(_ bytes: Int) -> Bool {
        if !self.isBehind, self.bytes + bytes > LiveFeedLimits.unreadBytesMax { self.isBehind = true }
        return !self.isBehind
    }

    /// A packet was written.
    /// - Returns: the number of a ping to send behind it, if one is due.
    mutating func wrote(_ bytes: Int, at now: Int64) -> UInt64? {
        self.bytes += bytes
        self.behindLastPing += bytes
        guard self.behindLastPing >= LiveFeedLimits.pingEveryBytes else { return nil }
        self.lastNumber += 1
        self.pings.append(Ping(number: self.lastNumber, bytes: self.behindLastPing, at: now))
        self.behindLastPing = 0
        return self.lastNumber
    }

    /// The client has answered a ping, and so has read all before it.
    /// - Returns: whether the listener was behind and may go on.
    mutating func pong(_ number: UInt64) -> Bool {
        // A client may answer the newest of several pings alone (RFC 6455 §5.5.3). Another number is none of ours.
        guard self.pings.contains(where: { $0.number == number }) else { return false }
        while let ping = self.pings.first, ping.number <= number {
            self.pings.removeFirst()
            self.bytes -= ping.bytes
        }
        guard self.isBehind, self.bytes < LiveFeedLimits.unreadBytesLow else { return false }
        self.isBehind = false
        return true
    }

    private static let pingMark = UInt8(ascii: "L")

    /// The payload of a ping behind content. Other pings of the gateway have no mark.
    static func pingPayload(_ number: UInt64) -> [UInt8] { [self.pingMark] + WebSocketWriter.payload(number) }

    /// - Returns: the number of the ping that this pong answers; `nil` if it answers no ping behind content.
    static func pingNumber(in pong: [UInt8]) -> UInt64? {
        guard pong.count == 9, pong[0] == self.pingMark else { return nil }
        return pong.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    /// No pong has come for too long.
    func isLost(at now: Int64) -> Bool {
        self.pings.first.map { now - $0.at > LiveFeedLimits.pongMax.milliseconds } ?? false
    }
}
