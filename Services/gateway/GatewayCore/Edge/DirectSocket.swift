import Glibc
import NIOCore

/// The socket under a connection's channel, for bytes that need not go through the channel's queue.
///
/// A live packet is one small write to each listener, so the cost of a write counts. While the queue is empty, bytes go
/// to the socket itself. Bytes that the socket does not take go to the queue, which keeps the order.
struct DirectSocket {
    /// `nil` for a channel that has none.
    private let descriptor: NIOBSDSocket.Handle?
    /// Writes in the channel's queue. Nothing may overtake them.
    private var queued: Int32 = 0

    init(of channel: any Channel) {
        self.descriptor = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
    }

    /// - Parameter channel: the one whose socket this is.
    /// - Returns: how many bytes the socket has taken. Faults are the channel's to find.
    func send(_ bytes: ByteBuffer, of channel: any Channel) -> Int {
        // A channel turns inactive in the same step in which it closes its descriptor. After it the number may be another client's.
        guard let descriptor, self.queued == 0, channel.isActive else { return 0 }
        return bytes.withUnsafeReadableBytes {
            max(0, Glibc.send(descriptor, $0.baseAddress, $0.count, Self.flags))
        }
    }

    private static let flags = CInt(MSG_DONTWAIT | MSG_NOSIGNAL)

    /// A write goes into the channel's queue.
    mutating func queue() { self.queued += 1 }

    /// It has left the queue, or has failed.
    mutating func leftQueue() { self.queued -= 1 }
}
