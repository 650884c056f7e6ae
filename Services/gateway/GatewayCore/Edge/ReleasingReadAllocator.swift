import NIOCore

/// Allocates read buffers that are released as soon as they have been read.
///
/// By default NIO keeps a connection's buffer for its next read: 2 KiB for each idle client, a third of its memory.
/// With `maxMessagesPerRead` of 1, NIO releases a buffer if the next one may be larger. Only the first is kept, so it
/// is small.
struct ReleasingReadAllocator: RecvByteBufferAllocator {
    /// Kept for the connection's life, in bytes. The head of an upgrade request takes a few reads.
    static let firstCapacity = 128
    /// Several frames of text.
    static let capacity = 4 * 1_024
    /// For a client that filled its last buffer.
    static let busyCapacity = 64 * 1_024

    private var nextCapacity = Self.firstCapacity

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: self.nextCapacity) }

    /// - Returns: always that the next buffer may be larger, so that NIO does not use one again.
    mutating func record(actualReadBytes: Int) -> Bool {
        self.nextCapacity = actualReadBytes >= Self.capacity ? Self.busyCapacity : Self.capacity
        return true
    }
}
