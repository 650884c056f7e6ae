import NIOCore

/// Buffers for what a client sends, each let go of as soon as it has been read.
///
/// NIO keeps a connection's buffer for its next read: 2 KiB for each idle client, a third of all its memory. It keeps only
/// the first one if there may be one (`maxMessagesPerRead` of 1) and the next may be larger. So the first is small.
struct PassingReadBuffers: RecvByteBufferAllocator {
    /// Kept for the connection's life, in bytes. The head of an upgrade request takes a few reads.
    static let firstCapacity = 128
    /// Several frames of text.
    static let capacity = 4 * 1_024
    /// For somebody who sends much.
    static let busyCapacity = 64 * 1_024

    private var nextCapacity = Self.firstCapacity

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: self.nextCapacity) }

    /// - Returns: always that the next buffer may be larger: NIO does not use one again then.
    mutating func record(actualReadBytes: Int) -> Bool {
        self.nextCapacity = actualReadBytes >= Self.capacity ? Self.busyCapacity : Self.capacity
        return true
    }
}
