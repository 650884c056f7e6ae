import NIOCore
import Testing

@testable import GatewayCore

@Suite struct ReadBufferTests {
    /// NIO keeps the first buffer of a connection for its life.
    @Test func onlyTheFirstBufferOfAConnectionIsKeptAndItIsSmall() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: PassingReadBuffers())
        #expect(self.read(100, from: &pool) == PassingReadBuffers.firstCapacity)
        for _ in 0..<3 {
            #expect(self.read(100, from: &pool) == PassingReadBuffers.capacity)
            #expect(pool.count == 1)
        }
    }

    @Test func whoeverSendsMuchGetsLargeBuffersForAsLong() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: PassingReadBuffers())
        _ = self.read(PassingReadBuffers.firstCapacity, from: &pool)
        _ = self.read(PassingReadBuffers.capacity, from: &pool)
        #expect(self.read(10_000, from: &pool) == PassingReadBuffers.busyCapacity)
        #expect(self.read(100, from: &pool) == PassingReadBuffers.busyCapacity)
        #expect(self.read(100, from: &pool) == PassingReadBuffers.capacity)
    }

    /// - Returns: the capacity of the buffer that was read into.
    private func read(_ count: Int, from pool: inout NIOPooledRecvBufferAllocator) -> Int {
        let (buffer, _) = pool.buffer(allocator: ByteBufferAllocator()) { $0.writeRepeatingByte(0, count: count) }
        pool.record(actualReadBytes: count)
        return buffer.capacity
    }
}
